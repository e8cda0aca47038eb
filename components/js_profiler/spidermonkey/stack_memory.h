/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Reading the stacks of a stopped thread: its own, and those of WebAssembly's continuations.

#ifndef strobe_js_profiler_stack_memory_h
#define strobe_js_profiler_stack_memory_h

#include <stddef.h>
#include <stdint.h>

#include "vm/JSContext.h"
#include "wasm/WasmStacks.h"

#include "glue.h"
#include "work.h"

namespace strobe {

// Where the words of a JIT frame are, relative to its frame pointer: see jit_frames.cpp.
constexpr uintptr_t ReturnAddressOffset = 8;
constexpr uintptr_t DescriptorOffset = 16;
constexpr uintptr_t CalleeOffset = 24;

// Whether a thread runs on its own stack. It may also run on that of a continuation, or handle another signal. The stack
// pointer may have any alignment.
inline bool IsOnOwnStack(const StrobeStopped& stopped) {
  return stopped.sp >= stopped.stack_low && stopped.sp < stopped.stack_high;
}

// The stack of a continuation that contains an address; null if there is none, or if the engine is changing its list. It
// is mapped, whether it is in use or not.
//
// The list is whole at this instant, because only the context's own thread changes it, between the two stores of its mark
// (ContStackAllocator::isChanging), and that thread stands still. A stack that is taken or given back changes one bit of
// one word.
inline js::wasm::ContStack* ContinuationAt(JSContext* cx, uintptr_t address) {
  const js::wasm::ContStackAllocator& all = cx->wasm().contStacks();
  if (all.isChanging()) {
    return nullptr;
  }
  js::wasm::ContStack* found = all.findForAddress(address);
  return found && found->hasStackAddress(address) ? found : nullptr;
}

// The part of the thread's own stack that is in use, up to an activation, and at most one continuation's stack.
class StackMemory {
  uintptr_t low_;
  uintptr_t high_;
  const js::wasm::ContStack* continuation_ = nullptr;

 public:
  StackMemory(uintptr_t low, uintptr_t high) : low_(low), high_(high) {}

  uintptr_t high() const { return high_; }
  const js::wasm::ContStack* continuation() const { return continuation_; }

  // The frames that come next are on this stack, or on the thread's own for null.
  void enter(const js::wasm::ContStack* continuation) { continuation_ = continuation; }

  bool isOwn(uintptr_t address, size_t length = sizeof(uintptr_t)) const {
    return isIn(low_, high_, address, length);
  }
  bool contains(uintptr_t address, size_t length = sizeof(uintptr_t)) const {
    return isOwn(address, length) ||
           (continuation_ &&
            isIn(continuation_->stackLimitForSystem(), continuation_->stackBase(), address, length));
  }

  // Any word of the stack, whatever it is. With AddressSanitizer the stack also has memory that no code may use,
  // beside the variables of instrumented code. Only this function may read that.
  [[clang::no_sanitize("address")]] uintptr_t word(uintptr_t address) const {
    return *reinterpret_cast<const uintptr_t*>(address);
  }

  // Whether a JIT frame with this frame pointer fits on the thread's own stack, up to the word with its callee. Frames of
  // JavaScript are never on a continuation's stack: GenerateJitExitPrologue leaves through C++ from there.
  bool holdsFrame(uintptr_t fp) const { return isOwn(fp, CalleeOffset + sizeof(uintptr_t)); }

 private:
  static bool isIn(uintptr_t low, uintptr_t high, uintptr_t address, size_t length) {
    return address >= low && address < high && high - address >= length && address % sizeof(uintptr_t) == 0;
  }
};

// The handlers on the thread's own stack with which the first of its continuations was resumed, that is, the one to which
// `continuation` leads. While a continuation runs, nothing is pushed there. 0 if the continuations do not lead to the own
// stack: the last one is being suspended, or another one has been and is being resumed; or if too little work is left.
inline uintptr_t HandlersOnOwnStack(JSContext* cx, const js::wasm::ContStack* continuation, const StackMemory& own,
                                    Work& work) {
  while (continuation && work.take(Cost::Look)) {
    auto handlers = reinterpret_cast<uintptr_t>(continuation->handlers());
    if (own.isOwn(handlers)) {
      return handlers;
    }
    continuation = handlers ? ContinuationAt(cx, handlers) : nullptr;
  }
  return 0;
}

}  // namespace strobe

#endif  // strobe_js_profiler_stack_memory_h
