/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The walk in the stock mode, by the engine's own iterator. It is the oracle for the walk in table_walk.cpp.

#include <stdint.h>
#include <time.h>

#include "jit/JitFrames.h"
#include "jit/JitRuntime.h"
#include "js/ProfilingFrameIterator.h"
#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "cells.h"
#include "native_frames.h"
#include "stack_writer.h"

using namespace js;
using jit::JitcodeGlobalEntry;
using jit::JitFrameLayout;
using strobe::ScriptOfCalleeToken;
using strobe::StackWriter;

namespace {

// In nanoseconds. In a deep recursion of WebAssembly the iterator searches the whole stack at each frame.
constexpr int64_t LongestWalk = 2'000'000;

int64_t Nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// Appends one frame of the stock iterator: a Baseline or Ion frame, with the functions that are inlined into
// it. False if the frame has no script.
bool AppendJitFrame(JSContext* cx, const JS::ProfilingFrameIterator& frames, StackWriter& writer) {
  auto* layout = static_cast<JitFrameLayout*>(frames.stackAddress());
  JSScript* script = ScriptOfCalleeToken(layout->calleeToken());
  if (!script) {
    return false;
  }
  StrobeFramePlace place = {reinterpret_cast<uintptr_t>(layout), reinterpret_cast<uintptr_t>(layout->returnAddress()),
                            uintptr_t(layout->calleeToken())};
  // Code that was compiled before the mode was switched on has no physical frame here. Its function is known,
  // but the functions that are inlined into it are not.
  if (auto physical = frames.getPhysicalFrameWithoutLabel();
      physical && physical->kind == JS::ProfilingFrameIterator::Frame_Ion) {
    void* address = physical->returnAddress();
    jit::JitcodeGlobalTable* table = cx->runtime()->jitRuntime()->getJitcodeGlobalTable();
    JitcodeGlobalEntry* entry = table->lookup(address);
    if (entry && entry->isIonIC()) {
      address = entry->asIonIC().rejoinAddr();
      entry = table->lookup(address);
    }
    // Entries may outlive their code.
    if (entry && entry->isIon() && entry->hasJitcode()) {
      writer.appendInlinedFunctions(entry->asIon(), address, script->realm(), place);
    }
  }
  if (!writer.full()) {
    writer.appendScript(script, place);
  }
  return true;
}

}  // namespace

StrobeWalk strobe_walk_stock(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack) {
  StackWriter writer(stack, cx->realm());
  if (!cx->activation()) {
    return STROBE_WALK_IDLE;
  }
  JSRuntime* runtime = cx->runtime();
  // A cell that has moved must not be followed. The tables change while sampling is suppressed.
  if (runtime->heapState() != JS::HeapState::Idle) {
    return STROBE_WALK_COLLECTING;
  }
  if (!runtime->geckoProfiler().enabled() || !cx->isProfilerSamplingEnabled()) {
    stack->contradiction = "the engine is changing its tables";
    return STROBE_WALK_INCONSISTENT;
  }
  auto onStack = [&](const void* address) {
    auto position = reinterpret_cast<uintptr_t>(address);
    return position >= stopped->stack_low && position < stopped->stack_high;
  };
  if (!onStack(reinterpret_cast<void*>(stopped->sp))) {
    stack->contradiction = "the thread is on another stack";
    return STROBE_WALK_INCONSISTENT;
  }

  // While an exception leaves frames, the engine says that the youngest frame is one of them, until it has left
  // all of them. Code that the engine runs meanwhile may collect what these frames refer to.
  const Activation* oldest = cx->activation();
  while (oldest->prev()) {
    oldest = oldest->prev();
  }
  if (strobe::NativeFrames(stack->native_code, *stopped)
          .mayPass(stack->native_code.exception_handler, reinterpret_cast<uintptr_t>(oldest))) {
    stack->contradiction = "frames are being left";
    return STROBE_WALK_INCONSISTENT;
  }

  JS::ProfilingFrameIterator::RegisterState state;
  state.pc = reinterpret_cast<void*>(stopped->pc);
  state.sp = reinterpret_cast<void*>(stopped->sp);
  state.fp = reinterpret_cast<void*>(stopped->fp);
  int64_t end = Nanoseconds() + LongestWalk;
  JS::ProfilingFrameIterator jitFrames(cx, state);

  for (Activation* activation = cx->activation(); activation && !writer.full(); activation = activation->prev()) {
    if (activation->isInterpreter()) {
      writer.appendInterpreterFrames(cx, activation->asInterpreter());
      continue;
    }
    // The iterator goes through the frames of all JIT activations. A frame is younger than its activation,
    // which is an object in the C++ frame that entered JIT code.
    while (!jitFrames.done() && jitFrames.stackAddress() < static_cast<void*>(activation) && !writer.full()) {
      if (Nanoseconds() > end) {
        stack->contradiction = "the walk takes too long";
        return STROBE_WALK_INCONSISTENT;
      }
      if (!onStack(jitFrames.stackAddress())) {
        stack->contradiction = "a frame is not on the stack";
        return STROBE_WALK_INCONSISTENT;
      }
      if (jitFrames.isJSJit() && !AppendJitFrame(cx, jitFrames, writer)) {
        stack->contradiction = "a function's frame has no script";
        return STROBE_WALK_INCONSISTENT;
      }
      ++jitFrames;
    }
  }
  return STROBE_WALK_STACK;
}
