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

// The native whose code contains an address; null if there is none.
const StrobeNative* NativeAt(const StrobeNativeCode& code, uintptr_t address);

// Goes up the frames of native code, from the registers of a stopped thread.
class NativeFrames {
  const StrobeNativeCode& code_;
  StackMemory stack_;
  StrobeRegisters registers_;
  // Whether the program counter is that of the stopped thread, and not a return address.
  bool leaf_ = true;
  // The last native that was found although it is not in the table.
  StrobeNative newNative_ = {};

 public:
  NativeFrames(const StrobeNativeCode& code, const StrobeStopped& stopped);

  enum class At {
    // At JIT code that may run JavaScript.
    Jit,
    // Beyond the end.
    End,
    // The caller of a frame cannot be determined. Nothing older is known then.
    Lost,
  };

  // A native that was found, or null.
  struct Found {
    const StrobeNative* native = nullptr;
    StrobeFramePlace place = {};
  };

  // Goes up to JIT code, or until the stack pointer is beyond `end`. `oldest` becomes the oldest native of these
  // frames. If the result is Lost it is null, because older frames are not known.
  At goUp(uintptr_t end, Found* oldest);

  // The registers of the frame that was reached.
  const StrobeRegisters& registers() const { return registers_; }
  bool isLeaf() const { return leaf_; }

  // Goes from JIT code that is not JavaScript's, such as that of a regular expression, to its caller. Such code links
  // its frames as C++ does. False if the frame is not linked.
  bool leaveLinkedCode();

  // Goes up to a place. Returns whether a frame of the place's native is there.
  bool has(const StrobeFramePlace& place);

  // Goes up until the stack pointer is beyond `last`. Returns whether a frame of code in [begin, end) is there.
  bool mayPass(uintptr_t begin, uintptr_t end, uintptr_t last);

  // Goes on from a frame that is known from elsewhere.
  void goOnFrom(const StrobeRegisters& registers);

 private:
  bool toCaller();
  // The native whose code contains an address, if the native was defined after the table of natives was read.
  const StrobeNative* newNativeAt(uintptr_t address);
  // The same from any frame: JIT code links each of its frames, too.
  bool toAnyCaller();
};

}  // namespace strobe

#endif  // strobe_js_profiler_native_frames_h
