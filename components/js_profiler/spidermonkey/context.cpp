/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Questions about a context that other files ask.

#include "glue.h"

#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/Realm.h"

using namespace js;

bool strobe_is_idle(JSContext* cx) {
  // The context's thread may be writing the field.
  auto* field = reinterpret_cast<const char*>(cx) + JSContext::offsetOfActivation();
  return !__atomic_load_n(reinterpret_cast<Activation* const*>(field), __ATOMIC_RELAXED);
}

uint64_t strobe_current_realm(JSContext* cx) { return reinterpret_cast<uintptr_t>(cx->realm()); }
