/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "jit_frames.h"

#include <bit>

#include "jit/Registers.h"
#include "vm/JSContext.h"
#include "vm/Realm.h"
#include "wasm/WasmCode.h"
#include "wasm/WasmFrame.h"
#include "wasm/WasmFrameIter.h"
#include "wasm/WasmInstance.h"
#include "wasm/WasmProcess.h"
#include "wasm/WasmStacks.h"

using namespace js;

namespace strobe {

const WasmCall& JitFrames::wasmCallAt(uintptr_t returnAddress) {
  WasmCall& call = wasmCalls_[(returnAddress >> 2) % KeptWasmCalls];
  if (call.returnAddress != returnAddress) {
    call = {returnAddress, nullptr, nullptr, false, false, false, 0};
    call.block = wasm::LookupCodeBlock(reinterpret_cast<void*>(returnAddress), &call.range);
    wasm::CallSite site;
    if (call.block && call.block->code->lookupCallSite(reinterpret_cast<void*>(returnAddress), &site)) {
      call.isCall = true;
      call.isCrossInstance = site.mightBeCrossInstance();
      call.isReturnStub = site.isReturnStub();
      call.bytecode = site.lineOrBytecode();
    }
  }
  return call;
}

Walked JitFrames::fromWasm(uintptr_t pc, uintptr_t fp, uintptr_t callee) {
  switch (emitWasm(pc, &fp, callee)) {
    case WasmEnd::Done:
      return Walked::Done;
    case WasmEnd::CalledByJit:
      return emitFrom(fp);
    case WasmEnd::Inconsistent:
      return Walked::Inconsistent;
  }
  MOZ_CRASH("unknown WasmEnd");
}

bool JitFrames::holdsWasmFrame(uintptr_t fp) const { return stack_.contains(fp, sizeof(wasm::FrameWithInstances)); }

// The stub through which C++ has entered saves registers and aligns the stack. Then it pushes the return address a second
// time, the register that is the frame pointer here, which in C++ may have any value, and what the stack pointer was
// after the registers: GenerateInterpEntry.
bool JitFrames::noteWasmEntry(uintptr_t fp) {
  static_assert(jit::FloatRegisters::NonVolatileMask == 0);
  constexpr size_t SavedRegisters = std::popcount(jit::Registers::NonVolatileMask) * sizeof(uintptr_t);
  uintptr_t saved = fp - sizeof(uintptr_t);
  uintptr_t end = stack_.contains(saved) ? stack_.word(saved) + SavedRegisters : 0;
  if (!stack_.contains(end) || stack_.word(end) != stack_.word(fp + ReturnAddressOffset)) {
    return false;
  }
  hasEntry_ = true;
  entry_ = {stack_.word(end), end + sizeof(uintptr_t), stack_.word(fp)};
  return true;
}

// The instance of the WebAssembly function whose frame is at `fp`, which is complete. A call that may reach another
// instance, and a stub that enters, store both instances in the callee's frame before the call, and a function has the
// instance of its caller otherwise: GetNearestEffectiveInstance, with which the engine finds the instance for exceptions
// and collections. No register says it: optimised code uses the instance's register for anything. A function that leaves
// its frame for a tail call has no frame of its own any more where it changes these words: StartUnwinding gives the
// caller's then.
//
// Null if such a frame is too far away, or if there is no frame.
const wasm::Instance* JitFrames::instanceOf(uintptr_t fp) {
  while (holdsWasmFrame(fp) && work_.take(Cost::Look, 4)) {
    const WasmCall& caller = wasmCallAt(stack_.word(fp + ReturnAddressOffset));
    auto* frame = reinterpret_cast<wasm::FrameWithInstances*>(fp);
    if (!caller.block || !caller.range || caller.range->isEntry() || caller.isCrossInstance) {
      return frame->calleeInstance();
    }
    uintptr_t callerFrame = stack_.word(fp);
    if (callerFrame <= fp) {
      return nullptr;
    }
    if (caller.range->isContBaseFrame()) {
      // The stub at the base of a continuation's stack has called the function of its own instance.
      return holdsWasmFrame(callerFrame)
                 ? reinterpret_cast<wasm::FrameWithInstances*>(callerFrame)->calleeInstance()
                 : nullptr;
    }
    fp = callerFrame;
  }
  return nullptr;
}

// Goes from the base frame of a continuation's stack, at `*fp`, to the function that has resumed the continuation. The
// words of the base frame do not say it: they are unlinked one after the other when the continuation is suspended, and the
// list of handlers with one store, at the end.
bool JitFrames::leaveContinuation(uintptr_t* pc, uintptr_t* fp, const wasm::Instance** instance) {
  const wasm::ContStack* stack = stack_.continuation();
  if (!stack || wasm::ContStack::fromBaseFrameFP(reinterpret_cast<void*>(*fp)) != stack) {
    contradict("a continuation has no base");
    return false;
  }
  const wasm::Handlers* handlers = stack->handlers();
  if (!handlers) {
    elsewhere("a continuation is being suspended");
    return false;
  }
  // The handlers are on the stack of the function that has resumed it.
  auto address = reinterpret_cast<uintptr_t>(handlers);
  const wasm::ContStack* parent = stack_.isOwn(address, sizeof(*handlers)) ? nullptr : ContinuationAt(cx_, address);
  if (!parent && !stack_.isOwn(address, sizeof(*handlers))) {
    elsewhere("what has resumed a continuation is not on a known stack");
    return false;
  }
  const wasm::SwitchTarget& target = handlers->returnTarget;
  stack_.enter(parent);
  *fp = reinterpret_cast<uintptr_t>(target.framePointer);
  *pc = reinterpret_cast<uintptr_t>(target.resumePC);
  *instance = target.instance;
  return true;
}

// Writes the frames from a position in WebAssembly code, whose frame is at `*fp`, up to what called it. `callee` is the
// frame of what was called from there, or 0.
JitFrames::WasmEnd JitFrames::emitWasm(uintptr_t pc, uintptr_t* fp, uintptr_t callee) {
  auto isNotOnStack = [&] {
    contradict("a frame of WebAssembly is not on the stack");
    return WasmEnd::Inconsistent;
  };
  // Null if it is not known. Functions call functions of the same instance without telling it.
  const wasm::Instance* instance = nullptr;
  while (!writer_.full()) {
    if (!work_.take(Cost::Wasm)) {
      return tooMuch(), WasmEnd::Inconsistent;
    }
    const WasmCall call = wasmCallAt(pc);
    if (call.block && !call.range) {
      contradict("a return address is between two functions of WebAssembly");
      return WasmEnd::Inconsistent;
    }
    if (!call.block || call.range->isJitEntry()) {
      // JIT code has called it: directly, through an exit frame made for that, or through an entry stub.
      return WasmEnd::CalledByJit;
    }
    if (!stack_.contains(*fp, 2 * sizeof(uintptr_t))) {
      return isNotOnStack();
    }
    if (call.range->isInterpEntry()) {
      return noteWasmEntry(*fp) ? WasmEnd::Done : isNotOnStack();
    }
    if (call.range->isContBaseFrame()) {
      if (!leaveContinuation(&pc, fp, &instance)) {
        return WasmEnd::Inconsistent;
      }
      callee = 0;
      continue;
    }
    if (stack_.word(*fp) <= *fp) {
      return isNotOnStack();
    }
    if (callee && call.isCrossInstance) {
      instance = holdsWasmFrame(callee) ? reinterpret_cast<wasm::FrameWithInstances*>(callee)->callerInstance() : nullptr;
    }
    uintptr_t returnAddress = stack_.word(*fp + ReturnAddressOffset);
    // A function that has left its frame for a tail call is on the stack no more, although a stub in its code is.
    if (call.range->isFunction() && !call.isReturnStub) {
      if (!instance) {
        instance = instanceOf(*fp);
      }
      if (!instance || &instance->code() != call.block->code) {
        // Where the search has come to its end it is not a contradiction.
        return work_.isDone() ? (tooMuch(), WasmEnd::Inconsistent) : isNotOnStack();
      }
      // The leaf's `callee` is 0 and it makes no call.
      writer_.appendWasm(*call.block->code, call.range->funcIndex(), instance->realm(),
                         call.isCall ? call.bytecode : 0);
    }
    // What has called this one has the same instance unless the call may be to another one.
    callee = *fp;
    pc = returnAddress;
    *fp = stack_.word(*fp);
  }
  return WasmEnd::Done;
}

Walked JitFrames::fromWasmRegisters(const StrobeRegisters& registers, const StrobeStopped& stopped) {
  // While stacks are switched, the stack pointer and the frame pointer are the other stack's already.
  if (mayHaveContinuations() && IsSwitchOfStacks(reinterpret_cast<const uint8_t*>(registers.pc))) {
    return elsewhere("stacks are being switched");
  }
  wasm::RegisterState state;
  state.pc = reinterpret_cast<void*>(registers.pc);
  state.sp = reinterpret_cast<void*>(registers.sp);
  state.fp = reinterpret_cast<void*>(registers.fp);
  // Of a tail call that is moving its arguments.
  state.tempRA = reinterpret_cast<void*>(stopped.tail_return);
  state.tempFP = reinterpret_cast<void*>(stopped.tail_frame);
  wasm::UnwindState unwound;
  bool unwoundCaller;
  // In a prologue or an epilogue the caller's frame is given. The callee has no frame then, and is left out.
  if (!stack_.contains(registers.sp, 2 * sizeof(uintptr_t)) || !stack_.contains(registers.fp, 2 * sizeof(uintptr_t)) ||
      !wasm::StartUnwinding(state, &unwound, &unwoundCaller)) {
    return contradict("WebAssembly is between two frames");
  }
  return fromWasm(reinterpret_cast<uintptr_t>(unwound.pc), reinterpret_cast<uintptr_t>(unwound.fp), 0);
}

}  // namespace strobe
