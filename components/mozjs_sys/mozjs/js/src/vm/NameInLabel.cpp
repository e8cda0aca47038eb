/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "vm/NameInLabel.h"

#include <string.h>

#include "js/CharacterEncoding.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"
#include "vm/StringType.h"

using namespace js;

JS::UniqueChars NameInLabel::textOf(BaseScript* script, NameInLabel* name) {
  *name = {};
  JSFunction* function = script->function();
  JSAtom* atom = function ? function->fullDisplayAtom() : nullptr;
  char text[MaxLength];
  if (atom) {
    name->isGuessed = function->hasGuessedAtom();
    // Whole characters only.
    name->length = uint32_t(JS::DeflateStringToUTF8Buffer(atom, mozilla::Span(text, MaxLength)));
    // A character takes one byte at least, so a longer text is cut without counting its bytes.
    name->isCut = atom->length() > MaxLength || JS::GetDeflatedUTF8StringLength(atom) > name->length;
  }
  // One byte at least, so that null is no memory.
  JS::UniqueChars copy(js_pod_malloc<char>(name->length + 1));
  if (copy) {
    memcpy(copy.get(), text, name->length);
    copy[name->length] = 0;
  }
  return copy;
}
