/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The engine's own profiling mode, for stock_walk.cpp. In this mode, code keeps a list of its frames as it
// runs.

#include "glue.h"

#include "js/ProfilingStack.h"
#include "vm/Activation.h"
#include "vm/GeckoProfiler.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "vm/GeckoProfiler-inl.h"

using namespace js;

// This discards all JIT code.
static void SetEnabled(JSContext* cx, bool enabled) {
  // The code that the walk would read is being discarded.
  AutoSuppressProfilerSampling suppressSampling(cx);
  EnableContextProfilingStack(cx, enabled);
}

ProfilingStack* strobe_install_stock(JSContext* cx) {
  auto* stack = js_new<ProfilingStack>();
  if (stack) {
    SetContextProfilingStack(cx, stack);
    SetEnabled(cx, true);
  }
  return stack;
}

void strobe_uninstall_stock(JSContext* cx, ProfilingStack* stack) {
  SetEnabled(cx, false);
  SetContextProfilingStack(cx, nullptr);
  js_delete(stack);
}
