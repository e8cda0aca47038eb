/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The engine's table of natives. It is read while no thread is stopped. The walk uses a copy, and of the table only what
// was added since.

#include "glue.h"

#include "vm/NativeNames.h"

#include "builtin/Eval.h"
#include "vm/Interpreter.h"

void strobe_each_native(bool (*take)(void* taker, const StrobeNative* native), void* taker) {
  // A direct eval does not call this function, but in some tiers looks as if it did.
  auto* eval = reinterpret_cast<const void*>(&js::IndirectEval);
  for (const StrobeNativeName* entry = strobe_last_native_name(); entry; entry = entry->previous) {
    bool hasName = entry->code != eval && !strobe_native_is_shared(entry);
    auto code = reinterpret_cast<uintptr_t>(entry->code);
    StrobeNative native = {code, code, reinterpret_cast<const uint8_t*>(entry->name),
                           hasName ? uint32_t(entry->length) : 0, strobe_hash_name(entry->name, entry->length)};
    if (!take(taker, &native)) {
      return;
    }
  }
}

uintptr_t strobe_call() { return reinterpret_cast<uintptr_t>(&js::InternalCallOrConstruct); }

uintptr_t strobe_construct() {
  bool (*construct)(JSContext*, JS::HandleValue, const js::AnyConstructArgs&, JS::HandleValue, JS::MutableHandleObject) =
      &js::Construct;
  return reinterpret_cast<uintptr_t>(construct);
}

uint64_t strobe_natives_version() { return strobe_native_names_version(); }
