/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The name of a function that is inlined into Ion code, as the table of code keeps it.
//
// GeckoProfilerRuntime::allocProfileString would make a text of any length, for each function that is inlined anywhere.

#ifndef vm_NameInLabel_h
#define vm_NameInLabel_h

#include <stddef.h>
#include <stdint.h>

#include "js/Utility.h"

namespace js {

class BaseScript;

struct NameInLabel {
  // The most bytes of a name that are kept.
  static constexpr size_t MaxLength = 1024;

  // Bytes of UTF-8; 0 for a function without a name and for top-level script.
  uint32_t length = 0;
  // Whether the parser made the name up from where the function stands, such as `object.method`.
  bool isGuessed = false;
  // Whether the name is longer.
  bool isCut = false;

  // The name alone, without a zero at its end. Null if there is no memory. For a label that is made while the script's
  // function does not change.
  static JS::UniqueChars textOf(BaseScript* script, NameInLabel* name);
};

}  // namespace js

#endif  // vm_NameInLabel_h
