/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the walk knows of the processor: how x86-64 encodes the instructions that enter, leave and call code with
// frames, and what the System V ABI lets a function do with its stack. ../arch_x86_64.rs is what the Rust code knows.

#ifndef strobe_js_profiler_arch_x86_64_h
#define strobe_js_profiler_arch_x86_64_h

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace strobe {

// The length of a line of the processor's cache.
constexpr uintptr_t CacheLine = 64;

// How many bytes below the stack pointer a function may use.
constexpr uintptr_t RedZone = 128;

// The length of a function's prologue, `push fp` and `mov fp, sp`, with which its code begins.
constexpr uintptr_t PrologueLength = 4;

// The size of the registers that a function may change. A stub saves them before it calls C++.
constexpr uintptr_t SavedForCall = 9 * sizeof(uintptr_t);

// Which part of a function that links its frame the next instruction is in.
enum class FrameEnd {
  // Before `push fp`, or at `ret`: the return address is at the stack pointer, and the frame pointer is still or
  // again the caller's.
  NoFrame,
  // Before `mov fp, sp`: the caller's frame pointer is at the stack pointer.
  Pushed,
  // Between prologue and epilogue: the frame pointer is the function's own.
  InBody,
};

// Whether an instruction is `push fp`.
inline bool IsPush(const uint8_t* instruction) { return *instruction == 0x55; }

// The instruction must be the one that a thread was stopped at.
inline FrameEnd FrameEndAt(const uint8_t* instruction) {
  constexpr uint8_t Return = 0xC3, ReturnAndPop = 0xC2;
  if (IsPush(instruction) || *instruction == Return || *instruction == ReturnAndPop) {
    return FrameEnd::NoFrame;
  }
  // mov rbp, rsp, in either encoding.
  bool isMove = instruction[0] == 0x48 && ((instruction[1] == 0x8B && instruction[2] == 0xEC) ||
                                           (instruction[1] == 0x89 && instruction[2] == 0xE5));
  return isMove ? FrameEnd::Pushed : FrameEnd::InBody;
}

// Whether the instruction before this one is `pop fp`. At least two bytes of code must precede it.
inline bool FollowsPop(const uint8_t* instruction) {
  constexpr uint8_t Pop = 0x5D;
  // A prefix selects the upper half of the registers: `pop r13`.
  constexpr uint8_t Prefix = 0x41;
  return instruction[-1] == Pop && instruction[-2] != Prefix;
}

// Whether an instruction is a jump to an address in a register.
inline bool IsJumpToRegister(const uint8_t* instruction) {
  // A prefix selects the upper half of the registers.
  bool hasPrefix = *instruction == 0x41;
  const uint8_t* jump = instruction + (hasPrefix ? 1 : 0);
  return jump[0] == 0xFF && (jump[1] & 0xF8) == 0xE0;
}

// Whether an instruction is a jump to an address that is stored near the code.
inline bool IsJumpThroughTable(const uint8_t* instruction) {
  return instruction[0] == 0xFF && instruction[1] == 0x25;
}

// The end of EmitSwitchStack: all registers are cleared (ClobberWasmRegsForLongJmp), then a jump to an
// address in a register. A jump of a br_table has other instructions before it.

// The length of `movapd xmm, xmm` between registers, in either encoding; 0 for another instruction.
inline size_t MoveOfVectorLength(const uint8_t* code) {
  // C5 vex 28 modrm; 66 [REX] 0F 28 modrm; [REX] 0F 28 modrm.
  if (code[0] == 0xC5 && code[2] == 0x28 && code[3] >= 0xC0) { return 4; }
  size_t at = code[0] == 0x66 ? 1 : 0;
  at += (code[at] & 0xF0) == 0x40 ? 1 : 0;
  return code[at] == 0x0F && code[at + 1] == 0x28 && code[at + 2] >= 0xC0 ? at + 3 : 0;
}
// The length of `xor r, r` of one register; 0 for another instruction.
inline size_t ClearOfRegisterLength(const uint8_t* code) {
  size_t at = (code[0] & 0xF0) == 0x40 ? 1 : 0;
  bool isXor = (code[at] == 0x31 || code[at] == 0x33) && code[at + 1] >= 0xC0;
  bool isSame = ((code[at + 1] >> 3) & 7) == (code[at + 1] & 7) &&
                (!at || ((code[0] >> 2) & 1) == (code[0] & 1));
  return isXor && isSame ? at + 2 : 0;
}
// The length of `movsd xmm, [rip + n]`; 0 for another instruction.
inline size_t LoadOfVectorLength(const uint8_t* code) {
  if (code[0] == 0xC5 && code[2] == 0x10 && (code[3] & 0xC7) == 0x05) { return 8; }
  size_t at = code[0] == 0xF2 ? 1 : 0;
  at += at && (code[at] & 0xF0) == 0x40 ? 1 : 0;
  return at && code[at] == 0x0F && code[at + 1] == 0x10 && (code[at + 2] & 0xC7) == 0x05 ? at + 7 : 0;
}
// Whether an instruction is among those between the load of the frame pointer and the jump. The first one, a load of the
// jump's target from a register, is decided by what follows it.
inline bool IsSwitchOfStacks(const uint8_t* code) {
  // mov r, [r + n8]
  if ((code[0] & 0xF8) == 0x48 && code[1] == 0x8B && (code[2] & 0xC0) == 0x40 && (code[2] & 7) != 4 &&
      ClearOfRegisterLength(code + 4)) {
    code += 4;
  }
  size_t moves = 0;
  constexpr size_t MostInstructions = 64;
  for (size_t i = 0; i < MostInstructions && !IsJumpToRegister(code); i++) {
    size_t move = MoveOfVectorLength(code);
    size_t length = move ? move : ClearOfRegisterLength(code) ? ClearOfRegisterLength(code) : LoadOfVectorLength(code);
    if (!length) { return false; }
    moves += move ? 1 : 0;
    code += length;
  }
  // Near the end, what comes before counts as well.
  return IsJumpToRegister(code) && (moves >= 4 || MoveOfVectorLength(code - 4) == 4 || MoveOfVectorLength(code - 5) == 5);
}

// The length of a call with a relative address.
constexpr size_t CallLength = 5;

// The target of the call with a relative address that returns to `returnAddress`; 0 if no such call does. At least
// CallLength bytes of code must precede the address.
inline uintptr_t CalleeOfCall(uintptr_t returnAddress) {
  constexpr uint8_t CallOpcode = 0xE8;
  const auto* call = reinterpret_cast<const uint8_t*>(returnAddress) - CallLength;
  int32_t distance;
  memcpy(&distance, call + 1, sizeof(distance));
  return *call == CallOpcode ? returnAddress + distance : 0;
}

// Whether the call that returns to this address is how Baseline code calls an inline cache.
inline bool IsBaselineCacheCall(uintptr_t returnAddress) {
  // call [rdi]: rdi holds a stub, whose first word is the address of its code.
  constexpr uint8_t CacheCall[] = {0xFF, 0x17};
  return memcmp(reinterpret_cast<const uint8_t*>(returnAddress) - sizeof(CacheCall), CacheCall, sizeof(CacheCall)) == 0;
}

// The length of `movabs address, register` and `push register`, or more.
constexpr size_t LongestPushOfAddress = sizeof(uintptr_t) + 2;

// Whether the code that ends at an address has pushed that address. At least LongestPushOfAddress bytes of code must
// precede it.
inline bool PushesOwnEnd(uintptr_t address) {
  const auto* end = reinterpret_cast<const uint8_t*>(address);
  bool isPush = (end[-1] & 0xF8) == 0x50;
  // A prefix selects the upper half of the registers.
  size_t pushLength = isPush && end[-2] == 0x41 ? 2 : 1;
  uintptr_t loaded;
  memcpy(&loaded, end - pushLength - sizeof(loaded), sizeof(loaded));
  return isPush && loaded == address;
}

}  // namespace strobe

#endif  // strobe_js_profiler_arch_x86_64_h
