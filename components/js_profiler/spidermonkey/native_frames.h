/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The frames of C++ and Rust code, and the built-ins among them.

#ifndef strobe_js_profiler_native_frames_h
#define strobe_js_profiler_native_frames_h

#include "arch_x86_64.h"
#include "glue.h"
#include "stack_memory.h"
#include "work.h"

namespace strobe {

// The native whose code contains an address; null if there is none.
const StrobeNative* NativeAt(const StrobeNativeCode& code, uintptr_t address);

// Goes up the frames of native code, from the registers of a stopped thread.
class NativeFrames {
  // A script's call of a native takes only a few of the engine's frames, so older frames need not be remembered.
  static constexpr size_t KeptSteps = 32;

  const StrobeNativeCode& code_;
  StackMemory stack_;
  Work& work_;
  StrobeRegisters registers_;
  // Whether the program counter is that of the stopped thread, and not a return address.
  bool leaf_ = true;
  // What goUp() has passed: step number i is at i % KeptSteps.
  uintptr_t steps_[KeptSteps];
  size_t stepCount_ = 0;
  // The last native that was found although it is not in the table.
  StrobeNative newNative_ = {};

 public:
  // `stack` is where the thread's stack pointer is.
  NativeFrames(const StrobeNativeCode& code, const StrobeStopped& stopped, const StackMemory& stack, Work& work);

  enum class At {
    // At JIT code that may run JavaScript.
    Jit,
    // Beyond the end.
    End,
    // The caller of a frame cannot be determined. Nothing older is known then.
    Lost,
  };

  // Forgets what goUp() has passed.
  void forgetSteps() { stepCount_ = 0; }

  // Goes up to JIT code, or until the stack pointer is beyond `end`.
  At goUp(uintptr_t end);

  // The natives that scripts, or other natives, have called among what goUp() has passed, from the root to the leaf.
  // Returns how many there are, at most `most`. The oldest native was called by a script. A younger one is counted only
  // if the engine has called it as it calls any function: the engine also uses the code of natives for other things.
  size_t findNatives(StrobeNative* found, size_t most);

  // The registers of the frame that was reached.
  const StrobeRegisters& registers() const { return registers_; }
  bool isLeaf() const { return leaf_; }

  // Goes from JIT code that is not JavaScript's, such as that of a regular expression, to its caller. Such code links
  // its frames as C++ does. False if the frame is not linked.
  bool leaveLinkedCode();

  // Goes on from a frame that is known from elsewhere.
  void goOnFrom(const StrobeRegisters& registers);
  // The same, from a frame on another stack.
  void goOnFrom(const StrobeRegisters& registers, const StackMemory& stack) {
    stack_ = stack;
    goOnFrom(registers);
  }

 private:
  bool toCaller();
  // Whether an address is in the code with which the engine calls functions.
  bool isInCall(uintptr_t address) const;
  // The native whose code contains an address, if the native was defined after the table of natives was read.
  const StrobeNative* newNativeAt(uintptr_t address);
};

}  // namespace strobe

#endif  // strobe_js_profiler_native_frames_h
