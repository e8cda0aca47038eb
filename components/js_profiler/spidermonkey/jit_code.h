/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What JIT code an address is in, and what follows for the frame pointer there.

#ifndef strobe_js_profiler_jit_code_h
#define strobe_js_profiler_jit_code_h

#include <stddef.h>
#include <stdint.h>

#include "arch_x86_64.h"

struct JSContext;

namespace js::jit {
class IonEntry;
class JitcodeGlobalEntry;
class JitRuntime;
}  // namespace js::jit

namespace strobe {

enum class JitCodeKind {
  // A function or a script, compiled or in the Baseline interpreter. Between prologue and epilogue the frame at the
  // frame pointer is its own.
  Function,
  // An inline cache of Ion code. The frame pointer is the function's, or that of a stub's frame.
  IonCache,
  // The same of Baseline code or of the Baseline interpreter.
  BaselineCache,
  // What calls a function of the engine. Its frame is an exit frame.
  VMWrapper,
  // What C++ enters JIT code by.
  Enter,
  // What compiles or interprets a function when that is called: the frame is the called function's.
  FunctionEntry,
  // What Ion code calls functions by that it does not know. It runs on the Ion frame.
  GenericCall,
  // What replaces an Ion frame by those of Baseline code. Where it calls C++, the frame at the frame pointer is the Ion
  // frame or the youngest of the others.
  Bailout,
  // What is jumped to when something throws. Whose frame the frame pointer has depends on who has jumped.
  Exception,
  // A built-in that is JIT code.
  TrampolineNative,
  // What is called by several kinds of code and has no frame, or is between two frames.
  NoFrame,
  // Regular expressions and what calls them, concatenation of strings: such code links its frames as C++ does, and
  // is called by functions or by C++.
  Linked,
};

// The tables of JIT code of one runtime.
//
// The table of functions and caches is only changed by the runtime's own thread, and while it is, sampling is
// suppressed: JitcodeGlobalTable::addEntry, traceWeak. The code of trampolines never changes after the runtime
// has been made.
//
// HandleException suppresses sampling, too, for as long as it makes a frame of Baseline code one of the interpreter. This
// walk reads nothing of what is changed there. Code is added to the table when it has been compiled, which is never
// done while an exception is pending.
class JitCode {
  js::jit::JitRuntime* runtime_;
  bool usable_;
  // Whether they are whole if HandleException has suppressed sampling.
  bool usableInHandler_;

 public:
  explicit JitCode(JSContext* cx);

  // Whether the tables are whole at this instant. If not, nothing else may be asked.
  bool usable() const { return usable_; }
  // The youngest JIT code has called C++ here.
  void noteYoungestCaller(uintptr_t pc);

  // What is known of the code at an address, if it is a function's or a cache's; null otherwise.
  const js::jit::JitcodeGlobalEntry* entry(uintptr_t pc) const;

  // `entry` is the address's.
  JitCodeKind kind(uintptr_t pc, const js::jit::JitcodeGlobalEntry* entry) const;

  // Whether a word is a return address into a piece of code, behind a call of `callee` in the same piece.
  bool isCallWithin(uintptr_t returnAddress, uintptr_t callee) const;
  // Where the stub begins that an address of kind NoFrame is in, if it is one that is called; 0 otherwise.
  uintptr_t sharedStub(uintptr_t pc) const;
  // Whether a word is a return address into a function or a cache, behind a call of `callee`.
  bool isCallOf(uintptr_t returnAddress, uintptr_t callee) const;
  // Whether code has pushed a return address of its own, to make an exit frame.
  bool isFakeReturnAddress(uintptr_t returnAddress, const js::jit::JitcodeGlobalEntry* caller) const;
  // Whether a return address is where code of Baseline calls an inline cache.
  bool isBaselineCacheCall(uintptr_t returnAddress) const;
  // Whether a return address is where this Ion code calls the engine to attach to an inline cache. It is also what
  // the frames of the cache's stubs return to.
  bool isIonCacheCall(uintptr_t returnAddress, const js::jit::IonEntry& ion) const;

 private:
  bool isVMWrapper(uintptr_t pc) const;
};

}  // namespace strobe

#endif  // strobe_js_profiler_jit_code_h
