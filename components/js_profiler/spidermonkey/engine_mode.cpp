/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the engine does for a walk.
//
// All code is compiled with tables of what is inlined where, and without anything that runs: the walk of
// table_walk.cpp needs no more. In the *stock mode*, the engine's own, code keeps a list of its frames as it runs
// (stock_walk.cpp).

#include "glue.h"

#include "js/ProfilingStack.h"
#include "vm/Activation.h"
#include "vm/GeckoProfiler.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "vm/GeckoProfiler-inl.h"

using namespace js;

bool strobe_is_idle(JSContext* cx) {
  // The context's thread writes it meanwhile.
  auto* field = reinterpret_cast<const char*>(cx) + JSContext::offsetOfActivation();
  return !__atomic_load_n(reinterpret_cast<Activation* const*>(field), __ATOMIC_RELAXED);
}

uint64_t strobe_current_realm(JSContext* cx) { return reinterpret_cast<uintptr_t>(cx->realm()); }

ProfilingStack* strobe_install_stock(JSContext* cx) {
  auto* stack = js_new<ProfilingStack>();
  if (stack) {
    SetContextProfilingStack(cx, stack);
  }
  return stack;
}

void strobe_set_stock_enabled(JSContext* cx, bool enabled) {
  // The code that the walk would look at is being discarded.
  AutoSuppressProfilerSampling suppressSampling(cx);
  EnableContextProfilingStack(cx, enabled);
}

void strobe_uninstall_stock(JSContext* cx, ProfilingStack* stack) {
  strobe_set_stock_enabled(cx, false);
  SetContextProfilingStack(cx, nullptr);
  js_delete(stack);
}
