/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "jit_frames.h"

#include <algorithm>
#include <bit>

#include "jit/Registers.h"
#include "vm/JSContext.h"
#include "vm/Realm.h"
#include "wasm/WasmCode.h"
#include "wasm/WasmFrame.h"
#include "wasm/WasmFrameIter.h"
#include "wasm/WasmInstance.h"
#include "wasm/WasmProcess.h"

using namespace js;

namespace strobe {

Walked JitFrames::fromWasm(uintptr_t pc, uintptr_t fp, const wasm::Instance* instance, uintptr_t callee) {
  switch (emitWasm(pc, &fp, instance, callee)) {
    case WasmEnd::Done:
      return Walked::Done;
    case WasmEnd::CalledByJit:
      return emitFrom(fp);
    case WasmEnd::Inconsistent:
      return Walked::Inconsistent;
  }
  MOZ_CRASH("unknown WasmEnd");
}

bool JitFrames::holdsWasmFrame(uintptr_t fp) const {
  return stack_.contains(fp, sizeof(wasm::FrameWithInstances));
}

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

// The instance of the WebAssembly function whose frame is at `fp`. A call that may reach another instance stores both
// instances in the callee's frame. Null if such a frame is too far away, or if there is no frame.
const wasm::Instance* JitFrames::nearestInstance(uintptr_t fp) const {
  // In a recursion only the first call may reach another instance. A frame takes some 0.1 µs.
  constexpr int MaxFrames = 512;
  for (int frame = 0; frame < MaxFrames && holdsWasmFrame(fp); frame++) {
    auto* returnAddress = reinterpret_cast<void*>(stack_.word(fp + ReturnAddressOffset));
    const wasm::CodeRange* range = nullptr;
    const wasm::Code* caller = wasm::LookupCode(returnAddress, &range);
    wasm::CallSite site;
    if (!caller || !range || range->isEntry() ||
        (caller->lookupCallSite(returnAddress, &site) && site.mightBeCrossInstance())) {
      return reinterpret_cast<wasm::FrameWithInstances*>(fp)->calleeInstance();
    }
    if (stack_.word(fp) <= fp) {
      return nullptr;
    }
    fp = stack_.word(fp);
  }
  return nullptr;
}

// Writes the frames from a position in WebAssembly code, whose frame is at `*fp`, up to what called it. `instance` is
// the first frame's, if it belongs to that code. `callee` is the frame of what was called from there, or 0.
JitFrames::WasmEnd JitFrames::emitWasm(uintptr_t pc, uintptr_t* fp, const wasm::Instance* instance, uintptr_t callee) {
  auto isNotOnStack = [&] {
    contradict("a frame of WebAssembly is not on the stack");
    return WasmEnd::Inconsistent;
  };
  while (!writer_.full()) {
    const wasm::CodeRange* range = nullptr;
    const wasm::CodeBlock* block = wasm::LookupCodeBlock(reinterpret_cast<void*>(pc), &range);
    if (block && !range) {
      contradict("a return address is between two functions of WebAssembly");
      return WasmEnd::Inconsistent;
    }
    if (!block || range->isJitEntry()) {
      // JIT code has called it: directly, through an exit frame made for that, or through an entry stub.
      return WasmEnd::CalledByJit;
    }
    if (!stack_.contains(*fp, 2 * sizeof(uintptr_t))) {
      return isNotOnStack();
    }
    if (range->isInterpEntry()) {
      if (!noteWasmEntry(*fp)) {
        return isNotOnStack();
      }
      return WasmEnd::Done;
    }
    if (stack_.word(*fp) <= *fp) {
      return isNotOnStack();
    }
    // Code that calls a function which may belong to another instance continues with the instance that it has stored
    // in the callee's frame.
    wasm::CallSite site;
    bool isCall = (callee || writer_.wantsPosition()) && block->code->lookupCallSite(reinterpret_cast<void*>(pc), &site);
    if (callee && holdsWasmFrame(callee) && isCall && site.mightBeCrossInstance()) {
      instance = reinterpret_cast<wasm::FrameWithInstances*>(callee)->callerInstance();
    }
    uintptr_t returnAddress = stack_.word(*fp + ReturnAddressOffset);
    if (range->isFunction()) {
      if (!instance || &instance->code() != block->code) {
        instance = nearestInstance(*fp);
      }
      if (!instance) {
        return isNotOnStack();
      }
      writer_.appendWasm(*block->code, range->funcIndex(), instance->realm(), {*fp, returnAddress, 0},
                         isCall ? site.lineOrBytecode() : 0);
    }
    callee = *fp;
    pc = returnAddress;
    *fp = stack_.word(*fp);
  }
  return WasmEnd::Done;
}

// Whether a value is the address of an instance in the current realm. Optimised code keeps any value in the register of
// the instance, so it is not read before that is known. The list changes only in functions of the engine, on this thread,
// which is in WebAssembly code.
bool JitFrames::isInstance(uintptr_t value) const {
  // In a realm with more of them, the frames say which one it is.
  constexpr size_t MaxInstances = 256;
  const JS::Realm* realm = cx_->realm();
  if (!realm) {
    return false;
  }
  const wasm::InstanceVector& instances = realm->wasm.instances();
  size_t length = std::min(instances.length(), MaxInstances);
  return std::any_of(instances.begin(), instances.begin() + length,
                     [&](const wasm::Instance* instance) { return reinterpret_cast<uintptr_t>(instance) == value; });
}

Walked JitFrames::fromWasmRegisters(const StrobeRegisters& registers, uintptr_t wasmInstance) {
  wasm::RegisterState state;
  state.pc = reinterpret_cast<void*>(registers.pc);
  state.sp = reinterpret_cast<void*>(registers.sp);
  state.fp = reinterpret_cast<void*>(registers.fp);
  wasm::UnwindState unwound;
  bool unwoundCaller;
  // In a prologue or an epilogue the caller's frame is given. The callee has no frame then, and is left out.
  if (!stack_.contains(registers.sp, 2 * sizeof(uintptr_t)) || !stack_.contains(registers.fp, 2 * sizeof(uintptr_t)) ||
      !wasm::StartUnwinding(state, &unwound, &unwoundCaller)) {
    return contradict("WebAssembly is between two frames");
  }
  // The register may be valid in functions, but not in the code between functions. A function that has no frame yet may
  // belong to another instance than its caller.
  const wasm::Instance* instance = nullptr;
  if (!unwoundCaller && unwound.codeRange && unwound.codeRange->isFunction() && isInstance(wasmInstance)) {
    instance = reinterpret_cast<const wasm::Instance*>(wasmInstance);
  }
  return fromWasm(reinterpret_cast<uintptr_t>(unwound.pc), reinterpret_cast<uintptr_t>(unwound.fp), instance, 0);
}

}  // namespace strobe
