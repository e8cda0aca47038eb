/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Native code is compiled without frame pointers. The tables for unwinding, which compilers write for every function,
// say where the caller's frame is.

#include "native_frames.h"

#include "jit/ProcessExecutableMemory.h"
#include "vm/NativeNames.h"

using js::jit::AddressIsInExecutableMemory;

namespace strobe {

const StrobeNative* NativeAt(const StrobeNativeCode& code, uintptr_t address) {
  uintptr_t block = (address - code.program_begin) / STROBE_NATIVE_BLOCK;
  if (block >= code.blocks_length) {
    return nullptr;
  }
  for (size_t i = code.blocks[block]; i < code.natives_length && code.natives[i].begin <= address; i++) {
    if (address < code.natives[i].end) {
      return &code.natives[i];
    }
  }
  return nullptr;
}

static bool IsIn(const StrobeCodeRange& code, uintptr_t address) { return address >= code.begin && address < code.end; }

NativeFrames::NativeFrames(const StrobeNativeCode& code, const StrobeStopped& stopped, const StackMemory& stack,
                           Work& work)
    : code_(code), stack_(stack), work_(work), registers_{stopped.pc, stopped.sp, stopped.fp} {}

void NativeFrames::goOnFrom(const StrobeRegisters& registers) {
  registers_ = registers;
  leaf_ = false;
}

bool NativeFrames::toCaller() {
  // At `ret` a table may say that the caller's frame pointer is where it has just been popped from. Handlers do not
  // write there.
  if (!work_.take(Cost::Native)) {
    return false;
  }
  uintptr_t low = leaf_ ? registers_.sp - RedZone : registers_.sp;
  if (!strobe_unwind(code_.unwinder, &registers_, leaf_, low, stack_.high())) {
    return false;
  }
  leaf_ = false;
  return true;
}

bool NativeFrames::leaveLinkedCode() {
  uintptr_t pc = registers_.pc;
  FrameEnd end = leaf_ ? FrameEndAt(reinterpret_cast<const uint8_t*>(pc)) : FrameEnd::InBody;
  StrobeRegisters caller = {0, 0, registers_.fp};
  switch (end) {
    case FrameEnd::NoFrame:
      if (!stack_.contains(registers_.sp)) {
        return false;
      }
      caller.sp = registers_.sp + sizeof(uintptr_t);
      break;
    case FrameEnd::Pushed:
      if (!stack_.contains(registers_.sp, 2 * sizeof(uintptr_t))) {
        return false;
      }
      caller.sp = registers_.sp + 2 * sizeof(uintptr_t);
      break;
    case FrameEnd::InBody:
      // What is stored there is a frame pointer if JIT code has called this code, and any value if C++ has.
      if (registers_.fp < registers_.sp || !stack_.contains(registers_.fp, 2 * sizeof(uintptr_t))) {
        return false;
      }
      caller.sp = registers_.fp + 2 * sizeof(uintptr_t);
      caller.fp = stack_.word(registers_.fp);
      break;
  }
  caller.pc = stack_.word(caller.sp - sizeof(uintptr_t));
  goOnFrom(caller);
  return true;
}

NativeFrames::At NativeFrames::goUp(uintptr_t end) {
  while (!work_.isDone()) {
    if (registers_.sp > end) {
      return At::End;
    }
    if (AddressIsInExecutableMemory(reinterpret_cast<void*>(registers_.pc))) {
      return At::Jit;
    }
    uintptr_t address = leaf_ ? registers_.pc : registers_.pc - 1;
    if (!toCaller()) {
      return At::Lost;
    }
    steps_[stepCount_++ % KeptSteps] = address;
  }
  return At::Lost;
}

size_t NativeFrames::findNatives(StrobeNative* found, size_t most) {
  bool knowsAll = !stepCount_ || strobe_natives_version() == code_.natives_version;
  size_t first = stepCount_ > KeptSteps ? stepCount_ - KeptSteps : 0;
  size_t length = 0;
  bool isCalled = true;
  for (size_t i = stepCount_; i-- > first && length < most;) {
    uintptr_t step = steps_[i % KeptSteps];
    if (!isCalled) {
      isCalled = isInCall(step);
      continue;
    }
    const StrobeNative* native = NativeAt(code_, step);
    if (!native && !knowsAll) {
      native = newNativeAt(step);
    }
    if (native) {
      found[length++] = *native;
      isCalled = false;
    }
  }
  return length;
}

bool NativeFrames::isInCall(uintptr_t address) const {
  return IsIn(code_.calls[0], address) || IsIn(code_.calls[1], address);
}

// A page defines natives when it first uses a part of the engine or of the DOM, also between the moment at which a walk
// is asked for and the walk. The engine's table has a native before any script can call it, and only grows.
const StrobeNative* NativeFrames::newNativeAt(uintptr_t address) {
  uintptr_t begin = strobe_function_begin(code_.unwinder, address);
  if (!begin) {
    return nullptr;
  }
  const StrobeNativeName* entry = strobe_last_native_name();
  for (; entry && reinterpret_cast<uintptr_t>(entry->code) != code_.newest_native; entry = entry->previous) {
    if (reinterpret_cast<uintptr_t>(entry->code) == begin) {
      // `eval`, which natives.cpp leaves out, is never new: each global has it.
      if (strobe_native_is_shared(entry)) {
        return nullptr;
      }
      newNative_ = {begin, begin, reinterpret_cast<const uint8_t*>(entry->name), uint32_t(entry->length),
                    strobe_hash_name(entry->name, entry->length)};
      return &newNative_;
    }
  }
  return nullptr;
}

}  // namespace strobe
