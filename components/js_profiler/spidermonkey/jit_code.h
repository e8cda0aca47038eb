/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which JIT code an address is in, and what that says about the frame pointer there.

#ifndef strobe_js_profiler_jit_code_h
#define strobe_js_profiler_jit_code_h

#include <stddef.h>
#include <stdint.h>

#include "arch_x86_64.h"
#include "glue.h"

struct JSContext;

namespace js::jit {
class IonEntry;
class JitcodeGlobalEntry;
class JitRuntime;
}  // namespace js::jit

namespace strobe {

enum class JitCodeKind {
  // A function or a script, compiled or in the Baseline interpreter. Between prologue and epilogue the frame pointer
  // points at its own frame.
  Function,
  // An inline cache of Ion code. The frame pointer is that of the function, or of the stub's own frame.
  IonCache,
  // An inline cache of Baseline code or of the Baseline interpreter. The frame pointer is as for IonCache.
  BaselineCache,
  // Code that calls a function of the engine. Its frame is an exit frame.
  VMWrapper,
  // Code through which C++ enters JIT code.
  Enter,
  // Code that compiles or interprets a function when that is called. The frame is the called function's.
  FunctionEntry,
  // Code through which Ion code calls functions that it does not know. It runs on the Ion frame.
  GenericCall,
  // Code that replaces an Ion frame with frames of Baseline code. While it calls C++, the frame pointer points at the
  // Ion frame or at the youngest of the new frames.
  Bailout,
  // Code that the engine jumps to when something throws. Whose frame the frame pointer points at depends on
  // where the jump came from.
  Exception,
  // A built-in that is JIT code.
  TrampolineNative,
  // Code without a frame that several kinds of code call, or code between two frames.
  NoFrame,
  // Regular expressions and the code that calls them, concatenation of strings. Such code links its frames as C++
  // does; functions and C++ call it.
  Linked,
};

// The tables of JIT code of one runtime.
//
// Only the runtime's own thread changes the table of functions and caches. Sampling is suppressed meanwhile:
// JitcodeGlobalTable::addEntry, traceWeak. None of this is a part of a minor collection. The code of trampolines never changes after the runtime was made.
//
// HandleException suppresses sampling, too, while it turns a frame of Baseline code into one of the interpreter. This
// walk reads nothing that changes then. Code is added to the table when it has been compiled, which never happens
// while an exception is pending.
//
// The engine's table is a tree. When the processor's caches have nothing of it, a search takes microseconds. So an index
// by address is searched first (jit/CodeIndex.h), and what is found is kept for all addresses of the code, for the next
// walks of the thread. It is valid as long as the code is there: entries of living code do not overlap.
class JitCode {
  // How many slots a block has.
  static constexpr size_t CodeBlockWays = 2;

  js::jit::JitRuntime* runtime_;
  StrobeCodeBlock* blocks_;
  size_t blocksLength_;
  uint64_t removals_ = 0;
  uint32_t sweeps_ = 0;
  bool usable_;
  // Whether the tables are whole at a moment when HandleException has suppressed sampling.
  bool usableInHandler_;

 public:
  JitCode(JSContext* cx, const StrobeKnownFunctions& known);

  // Whether the tables are whole at this instant. If not, no other function may be called.
  bool usable() const { return usable_; }
  // Notes where the youngest JIT code has called C++.
  void noteYoungestCaller(uintptr_t pc);

  // The table's entry for the code at an address; null unless the code is a function or a cache.
  const js::jit::JitcodeGlobalEntry* entry(uintptr_t pc) const;

  // Makes the processor load what is kept of an address.
  void prefetch(uintptr_t pc) const {
    if (blocksLength_) {
      __builtin_prefetch(slotsOf(pc / STROBE_CODE_BLOCK));
    }
  }

  // JitcodeGlobalTable::removals().
  uint64_t removals() const { return removals_; }
  // Whether no code in [begin, end) was removed since removals() was `since`. False if that is no longer known.
  bool isThereSince(uint64_t since, uintptr_t begin, uintptr_t end) const {
    return since == removals_ || wasNotRemoved(since, begin, end);
  }
  // JitcodeGlobalTable::sweeps().
  uint32_t sweeps() const { return sweeps_; }

  // Whether an address is in the Baseline interpreter.
  bool isInInterpreter(uintptr_t pc) const;

  // The kind of the code at `pc`. `entry` must be the entry of that address.
  JitCodeKind kind(uintptr_t pc, const js::jit::JitcodeGlobalEntry* entry) const;

  // Whether `returnAddress` follows a call of `callee` that is in the same piece of code as `callee`.
  bool isCallWithin(uintptr_t returnAddress, uintptr_t callee) const;
  // The beginning of the stub that contains `pc`, whose kind must be NoFrame; 0 if the code is not a stub that
  // is called.
  uintptr_t sharedStub(uintptr_t pc) const;
  // The beginning of the stub that contains `pc`, whose kind must be GenericCall.
  uintptr_t genericCallStub(uintptr_t pc) const;
  // Whether `returnAddress` follows a call of `callee` in a function or a cache.
  bool isCallOf(uintptr_t returnAddress, uintptr_t callee) const;
  // Whether code of `caller` has pushed this address as if it were a return address, to make an exit frame.
  bool isFakeReturnAddress(uintptr_t returnAddress, const js::jit::JitcodeGlobalEntry* caller) const;
  // Whether code of Baseline calls an inline cache right before this return address.
  bool isBaselineCacheCall(uintptr_t returnAddress) const;
  // Whether this Ion code calls the engine right before this return address, to attach a stub to an inline cache. The
  // frames of the cache's stubs return to the same address.
  bool isIonCacheCall(uintptr_t returnAddress, const js::jit::IonEntry& ion) const;

 private:
  bool wasNotRemoved(uint64_t since, uintptr_t begin, uintptr_t end) const;
  // Searches the index and the engine's table.
  const js::jit::JitcodeGlobalEntry* find(uintptr_t pc) const;
  StrobeCodeBlock* slotsOf(uintptr_t number) const {
    return &blocks_[(number * CodeBlockWays) & (blocksLength_ - 1)];
  }
  // Whether an entry that was found for a block is still in the table.
  bool isValid(const StrobeCodeBlock& block) const {
    uintptr_t begin = block.number * STROBE_CODE_BLOCK;
    return isThereSince(block.removals, begin, begin + STROBE_CODE_BLOCK);
  }
  // Keeps an entry for the blocks of its code, of which `number` is one; of very long code, for those near it.
  void keep(const js::jit::JitcodeGlobalEntry* entry, uintptr_t number) const;
  bool isVMWrapper(uintptr_t pc) const;
};

}  // namespace strobe

#endif  // strobe_js_profiler_jit_code_h
