/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames of an earlier walk are still on the stack. Reads no cell, because it is also called while the garbage
// collector may be moving them.

#include "glue.h"

#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/Stack.h"

#include "interpreter_frames.h"
#include "native_frames.h"
#include "stack_memory.h"

using namespace js;
using strobe::CalleeOffset;
using strobe::NativeFrames;
using strobe::ReturnAddressOffset;
using strobe::StackMemory;
using strobe::YoungestFrame;

// Whether a frame of the C++ interpreter is at this place.
static bool IsInterpreterFrame(JSContext* cx, const StrobeFramePlace& place) {
  for (Activation* activation = cx->activation(); activation; activation = activation->prev()) {
    if (!activation->isInterpreter()) {
      continue;
    }
    InterpreterActivation* interpreter = activation->asInterpreter();
    for (InterpreterFrame* frame = YoungestFrame(cx, interpreter); frame; frame = frame->prev()) {
      if (reinterpret_cast<uintptr_t>(frame) == place.address) {
        return true;
      }
      if (frame == interpreter->entryFrame()) {
        break;
      }
    }
  }
  return false;
}

// Whether the caller's code, the place and the function are all the same as before. A function that was moved
// meanwhile counts as a different one.
static bool IsStackFrame(const StackMemory& stack, const StrobeFramePlace& place) {
  return stack.holdsFrame(place.address) && stack.word(place.address + ReturnAddressOffset) == place.return_address &&
         (!place.callee || stack.word(place.address + CalleeOffset) == place.callee);
}

size_t strobe_count_kept(JSContext* cx, const StrobeStopped* stopped, const StrobeNativeCode* code,
                         const StrobeFramePlace* places, size_t length) {
  // The engine's handler of WebAssembly's traps runs on a stack of its own.
  bool onOwnStack = stopped->sp >= stopped->stack_low && stopped->sp < stopped->stack_high;
  StackMemory stack(onOwnStack ? stopped->sp : stopped->stack_low, stopped->stack_high);
  for (size_t i = 0; i < length; i++) {
    const StrobeFramePlace& place = places[i];
    bool kept = place.return_address ? IsStackFrame(stack, place)
                : place.callee       ? onOwnStack && NativeFrames(*code, *stopped).has(place)
                                     : IsInterpreterFrame(cx, place);
    if (!kept) {
      return i;
    }
  }
  return length;
}
