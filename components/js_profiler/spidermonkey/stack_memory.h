/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Reading the stack of a stopped thread.

#ifndef strobe_js_profiler_stack_memory_h
#define strobe_js_profiler_stack_memory_h

#include <stddef.h>
#include <stdint.h>

namespace strobe {

// Where the words of a JIT frame are, relative to its frame pointer: see jit_frames.cpp.
constexpr uintptr_t ReturnAddressOffset = 8;
constexpr uintptr_t DescriptorOffset = 16;
constexpr uintptr_t CalleeOffset = 24;

// The part of the thread's stack that is in use, up to an activation.
class StackMemory {
  uintptr_t low_;
  uintptr_t high_;

 public:
  StackMemory(uintptr_t low, uintptr_t high) : low_(low), high_(high) {}

  uintptr_t high() const { return high_; }

  bool contains(uintptr_t address, size_t length = sizeof(uintptr_t)) const {
    return address >= low_ && address < high_ && high_ - address >= length && address % sizeof(uintptr_t) == 0;
  }

  // Any word of the stack, whatever it is. With AddressSanitizer the stack also has memory that no code may use,
  // beside the variables of instrumented code. Only this function may read that.
  [[clang::no_sanitize("address")]] uintptr_t word(uintptr_t address) const {
    return *reinterpret_cast<const uintptr_t*>(address);
  }

  // Whether a JIT frame with this frame pointer fits on the stack, up to the word with its callee.
  bool holdsFrame(uintptr_t fp) const { return contains(fp, CalleeOffset + sizeof(uintptr_t)); }
};

}  // namespace strobe

#endif  // strobe_js_profiler_stack_memory_h
