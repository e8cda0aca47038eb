/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The frames of C++ and Rust code, and the built-ins among them.

#ifndef strobe_js_profiler_native_frames_h
#define strobe_js_profiler_native_frames_h

#include "arch_x86_64.h"
#include "glue.h"
#include "stack_memory.h"

namespace strobe {

// The native whose code holds an address; null if that is no native's.
const StrobeNative* NativeAt(const StrobeNativeCode& code, uintptr_t address);

// Goes up the frames of native code, from the registers of a stopped thread.
class NativeFrames {
  const StrobeNativeCode& code_;
  StackMemory stack_;
  StrobeRegisters registers_;
  // The program counter is the stopped thread's, and no return address.
  bool leaf_ = true;
  bool lost_ = false;

 public:
  NativeFrames(const StrobeNativeCode& code, const StrobeStopped& stopped);

  enum class At {
    // At JIT code that may run JavaScript.
    Jit,
    // Beyond the end.
    End,
    // The caller of a frame cannot be told.
    Lost,
  };

  // A native that was come upon. It is null if there is none.
  struct Found {
    const StrobeNative* native = nullptr;
    StrobeFramePlace place = {};
  };

  // Goes up to JIT code, or until the stack pointer is beyond `end`. The result has the oldest native of those frames.
  // If the frames are lost it has none, for what is older is not known.
  At goUp(uintptr_t end, Found* oldest);

  // The registers of the frame that was come to.
  const StrobeRegisters& registers() const { return registers_; }
  bool isLeaf() const { return leaf_; }

  // Goes from JIT code that is not JavaScript's, such as a regular expression's, to its caller. Such code links its
  // frames as C++ does. False if the frame is not linked.
  bool leaveLinkedCode();

  // Goes up to a place, and says whether a frame of that native is there.
  bool has(const StrobeFramePlace& place);

  // Goes up until the stack pointer is beyond `last`, and says whether a frame of code in [begin, end) is there, or
  // may be.
  bool mayPass(uintptr_t begin, uintptr_t end, uintptr_t last);

  // Goes on from a frame that is known from elsewhere.
  void goOnFrom(const StrobeRegisters& registers);
  // What is older cannot be told from here.
  void lose() { lost_ = true; }

 private:
  bool isInProgram(uintptr_t address) const {
    return address >= code_.program_begin && address < code_.program_end;
  }
  bool toCaller();
  // The same from any frame: each one of JIT code is linked, too.
  bool toAnyCaller();
};

}  // namespace strobe

#endif  // strobe_js_profiler_native_frames_h
