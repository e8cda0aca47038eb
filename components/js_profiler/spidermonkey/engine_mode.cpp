/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the engine does for a walk while there are sessions or a recording.
//
// In the *table mode* code is compiled with tables of what is inlined where, and without anything
// that runs; the walk goes by the registers (table_walk.cpp). In the *stock mode*, the engine's own,
// code keeps a list of its frames as it runs (stock_walk.cpp).

#include "glue.h"

#include "js/ProfilingStack.h"
#include "vm/Activation.h"
#include "vm/GeckoProfiler.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "vm/GeckoProfiler-inl.h"

using namespace js;

bool strobe_is_idle(JSContext* cx) { return !cx->activation(); }

uint64_t strobe_current_realm(JSContext* cx) { return reinterpret_cast<uintptr_t>(cx->realm()); }

void strobe_prepare_table(JSContext* cx) {
  // Read once for each compilation: either value is right for one that begins at this moment.
  cx->runtime()->geckoProfiler().jitcodeTables = true;
}

void strobe_set_table_enabled(JSContext* cx, bool enabled) {
  // The context's thread reads it where it compiles a call, and may do so at this moment: either value
  // is right, for a call that is compiled a moment earlier or later.
  __atomic_store_n(&cx->runtime()->geckoProfiler().domCallsNameCallee, enabled, __ATOMIC_RELAXED);
  // Tables stay: code that is compiled between two sessions would have none for the second.
  if (enabled) {
    strobe_prepare_table(cx);
  }
}

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
