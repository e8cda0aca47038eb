/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which part of a script's label is its function's name.
//
// GeckoProfilerRuntime::allocProfileString makes one text of a function's name and its place. A sampler needs the name
// alone, and a name may hold anything, so the text cannot be taken apart again.

#ifndef vm_NameInLabel_h
#define vm_NameInLabel_h

#include <stdint.h>

namespace js {

class BaseScript;

struct NameInLabel {
  // Bytes of UTF-8 at the beginning of the label; 0 for a function without a name and for top-level script.
  uint32_t length = 0;
  // Whether the parser made the name up from where the function stands, such as `object.method`.
  bool isGuessed = false;

  // For a label that is made while the script's function does not change.
  static NameInLabel of(BaseScript* script);
};

}  // namespace js

#endif  // vm_NameInLabel_h
