/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames of an earlier walk are still on the stack. Reads no cell, because it is also called while the garbage
// collector may be moving them.

#include "glue.h"

#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/JitActivation.h"
#include "vm/Stack.h"
#include "wasm/WasmStacks.h"

#include "interpreter_frames.h"
#include "native_frames.h"
#include "stack_memory.h"
#include "work.h"

using namespace js;
using strobe::CalleeOffset;
using strobe::ContinuationAt;
using strobe::Cost;
using strobe::EndOfKeptInterpreterFrames;
using strobe::HandlersOnOwnStack;
using strobe::IsOnOwnStack;
using strobe::NativeFrames;
using strobe::ReturnAddressOffset;
using strobe::StackMemory;
using strobe::Work;

// Whether the caller's code, the place and the function are all the same as before. A function that was moved
// meanwhile counts as a different one.
static bool IsStackFrame(const StackMemory& stack, const StrobeFramePlace& place) {
  return stack.holdsFrame(place.address) && stack.word(place.address + ReturnAddressOffset) == place.return_address &&
         (!place.callee || stack.word(place.address + CalleeOffset) == place.callee);
}

namespace {

// The continuations that are running while the thread is on its own stack: code of theirs has called what runs now.
//
// A stack keeps its words when its continuation is suspended and when it is given back, so the words of a frame do not say
// that the frame is there. It is there if its stack leads to the thread's own, by the handlers, and if it is not above what
// the stack has on top: the handlers of the continuation that it has resumed, or the exit frame of what it has called.
class RunningContinuations {
  JSContext* cx_;
  const StackMemory& stack_;
  Work& work_;

 public:
  RunningContinuations(JSContext* cx, const StackMemory& stack, Work& work) : cx_(cx), stack_(stack), work_(work) {}

  bool hasFrame(const StrobeFramePlace& place) const {
    const wasm::ContStack* stack = ContinuationAt(cx_, place.address);
    uintptr_t top = stack ? topOf(stack) : 0;
    StackMemory memory(0, 0);
    memory.enter(stack);
    return top && place.address >= top && memory.contains(place.address, 2 * sizeof(uintptr_t)) &&
           memory.word(place.address + ReturnAddressOffset) == place.return_address;
  }

 private:
  // 0 if the stack is not that of a running continuation.
  uintptr_t topOf(const wasm::ContStack* wanted) const {
    for (Activation* activation = cx_->activation(); activation && work_.take(Cost::Look); activation = activation->prev()) {
      if (!activation->isJit() || !activation->asJit()->hasWasmExitFP()) {
        continue;
      }
      auto top = reinterpret_cast<uintptr_t>(activation->asJit()->wasmExitFP());
      // From the innermost continuation outwards.
      while (const wasm::ContStack* stack = stack_.isOwn(top) ? nullptr : ContinuationAt(cx_, top)) {
        if (!work_.take(Cost::Look)) {
          return 0;
        }
        if (stack == wanted) {
          return HandlersOnOwnStack(cx_, stack, stack_, work_) ? top : 0;
        }
        if (!stack->handlers()) {
          break;
        }
        top = reinterpret_cast<uintptr_t>(stack->handlers());
      }
    }
    return 0;
  }
};

}  // namespace

StrobeKept strobe_count_kept(JSContext* cx, const StrobeStopped* stopped, const StrobeNativeCode* code,
                             const StrobeFramePlace* places, size_t length, uint32_t* work_left) {
  Work work(work_left);
  // The engine's handler of WebAssembly's traps runs on a stack of its own, too.
  bool onOwnStack = IsOnOwnStack(*stopped);
  StackMemory stack(onOwnStack ? stopped->sp : stopped->stack_low, stopped->stack_high);
  RunningContinuations continuations(cx, stack, work);
  size_t endOfInterpreter = EndOfKeptInterpreterFrames(cx, places, length, work);
  auto isKept = [&](size_t index) {
    const StrobeFramePlace& place = places[index];
    switch (place.kind) {
      case STROBE_PLACE_JIT:
        return IsStackFrame(stack, place);
      case STROBE_PLACE_WASM:
        return stack.isOwn(place.address) ? IsStackFrame(stack, place) : onOwnStack && continuations.hasFrame(place);
      case STROBE_PLACE_INTERPRETER:
        return index < endOfInterpreter;
      case STROBE_PLACE_NATIVE:
        return onOwnStack &&
               NativeFrames(*code, *stopped, StackMemory(stopped->sp, stopped->stack_high), work).has(place);
    }
    return false;
  };
  for (size_t i = 0; i < length; i++) {
    bool kept = work.take(Cost::Look) && isKept(i);
    if (work.isDone()) {
      return {i, STROBE_WALK_TOO_LONG};
    }
    if (!kept) {
      // What was on another stack may go on there.
      bool isElsewhere = places[i].kind == STROBE_PLACE_WASM && !stack.isOwn(places[i].address);
      return {i, isElsewhere ? STROBE_WALK_ELSEWHERE : STROBE_WALK_STACK};
    }
  }
  return {length, STROBE_WALK_STACK};
}
