/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "cells.h"

#include "vm/JSFunction.h"
#include "vm/JSScript.h"

#include "vm/JSScript-inl.h"

using namespace js;
using jit::CalleeToken;
using jit::CalleeTokenMask;
using jit::CalleeTokenTag;

namespace strobe {

// User programs have 47 bits of addresses.
constexpr uintptr_t EndOfAddresses = uintptr_t(1) << 47;

bool IsCell(uintptr_t token) {
  uintptr_t address = token & CalleeTokenMask;
  return address >= gc::ChunkSize && address < EndOfAddresses && address % gc::CellAlignBytes == 0;
}

bool IsInNursery(CalleeToken token) {
  return gc::IsInsideNursery(reinterpret_cast<const gc::Cell*>(uintptr_t(token) & CalleeTokenMask));
}

BaseScript* ScriptCellOf(CalleeToken token) {
  if (!IsCell(uintptr_t(token))) {
    return nullptr;
  }
  switch (CalleeTokenTag(uintptr_t(token) & ~CalleeTokenMask)) {
    case jit::CalleeToken_Function:
    case jit::CalleeToken_FunctionConstructing: {
      auto* function = reinterpret_cast<JSFunction*>(uintptr_t(token) & CalleeTokenMask);
      return function->hasBaseScript() ? function->baseScript() : nullptr;
    }
    case jit::CalleeToken_Script:
      return reinterpret_cast<JSScript*>(uintptr_t(token) & CalleeTokenMask);
  }
  return nullptr;
}

JSScript* ScriptOfCalleeToken(CalleeToken token) {
  BaseScript* script = ScriptCellOf(token);
  // The function of a JIT frame has bytecode. Anything else is not a callee token.
  return script && script->hasBytecode() ? script->asJSScript() : nullptr;
}

}  // namespace strobe
