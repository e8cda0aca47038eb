/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "vm/NameInLabel.h"

#include "js/CharacterEncoding.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"
#include "vm/StringType.h"

using namespace js;

NameInLabel NameInLabel::of(BaseScript* script) {
  NameInLabel name;
  JSFunction* function = script->function();
  if (JSAtom* atom = function ? function->fullDisplayAtom() : nullptr) {
    name.length = uint32_t(JS::GetDeflatedUTF8StringLength(atom));
    name.isGuessed = function->hasGuessedAtom();
  }
  return name;
}
