/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The frames of JIT code and of WebAssembly.

#ifndef strobe_js_profiler_jit_frames_h
#define strobe_js_profiler_jit_frames_h

#include "call_sites.h"
#include "glue.h"
#include "jit_code.h"
#include "last_walk.h"
#include "native_frames.h"
#include "stack_memory.h"
#include "stack_writer.h"

#include "jit/JitFrames.h"
#include "vm/JSContext.h"
#include "vm/JitActivation.h"

namespace js::wasm {
class CodeBlock;
class CodeRange;
class Instance;
}  // namespace js::wasm

namespace strobe {

enum class Walked { Done, Inconsistent };

// What a frame knows of its caller.
struct Link {
  uintptr_t callerFrame;
  uintptr_t returnAddress;
  js::jit::FrameType callerType;
};

// What is known of a return address into WebAssembly. Recursion repeats a few of them.
struct WasmCall {
  uintptr_t returnAddress;
  const js::wasm::CodeBlock* block;
  const js::wasm::CodeRange* range;
  // Whether there is a call site, and whether it may call another instance: then both instances are in the callee's frame.
  bool isCall;
  bool isCrossInstance;
  // Whether it is where a function has left its frame for one of another instance: only registers are restored there.
  bool isReturnStub;
  uint32_t bytecode;
};

// Walks the frames of one JIT activation. Each object is used for one walk, by one of the functions `from…`.
class JitFrames {
  JSContext* cx_;
  StackWriter& writer_;
  js::jit::JitActivation* activation_;
  // The part of the stack that belongs to the activation.
  StackMemory stack_;
  const JitCode& code_;
  CallSites callSites_;
  LastWalk& last_;
  const StrobeNativeCode& nativeCode_;
  Work& work_;
  const char* contradiction_ = nullptr;
  StrobeWalk failure_ = STROBE_WALK_INCONSISTENT;
  static constexpr size_t KeptWasmCalls = 16;
  WasmCall wasmCalls_[KeptWasmCalls] = {};
  // Return addresses of frames that were found for the first time.
  static constexpr size_t KeptNewReturns = 16;
  uintptr_t newReturns_[KeptNewReturns] = {};
  bool hasEntry_ = false;
  StrobeRegisters entry_ = {};
  // The register in which the Baseline interpreter has what it executes, of a thread that was stopped there.
  uintptr_t interpreterPc_ = 0;
  // StrobeStopped::generic_return of a thread that was stopped in JIT code.
  uintptr_t genericReturn_ = 0;

 public:
  JitFrames(JSContext* cx, StackWriter& writer, js::jit::JitActivation* activation, const StackMemory& stack,
            const JitCode& code, LastWalk& last, const StrobeNativeCode& nativeCode)
      : cx_(cx), writer_(writer), activation_(activation), stack_(stack), code_(code),
        callSites_(writer.known(), code), last_(last), nativeCode_(nativeCode), work_(writer.work()) {}

  // Walks from the place where native frames have reached JIT code, or where the thread was stopped in it (`leaf`).
  Walked fromRegisters(const StrobeRegisters& registers, bool leaf, const StrobeStopped& stopped);

  // Walks from what the activation has called. Only for an activation from which another one was entered, or while
  // the engine itself relies on the exit frame.
  Walked fromExit();

  // Whether WebAssembly has called something. The engine lists an activation some instructions before its fields are
  // filled in; what was left on the stack in their place does not lead into the activation.
  bool hasWasmExit() const {
    return activation_->hasWasmExitFP() && isOnSomeStack(reinterpret_cast<uintptr_t>(activation_->wasmExitFP()));
  }

  // The thread runs on the stack of a continuation.
  void enter(const js::wasm::ContStack* continuation) { stack_.enter(continuation); }

  // What is wrong, if the result was Inconsistent.
  const char* contradiction() const { return contradiction_; }
  // How the walk went then.
  StrobeWalk failure() const { return work_.isDone() ? STROBE_WALK_TOO_LONG : failure_; }

  // Whether the walk has reached the place where C++ entered the activation.
  bool hasEntry() const { return hasEntry_; }
  const StrobeRegisters& entry() const { return entry_; }

 private:
  Walked contradict(const char* what) {
    contradiction_ = what;
    return Walked::Inconsistent;
  }
  // The thread is on a stack that cannot be walked now.
  Walked elsewhere(const char* what) {
    failure_ = STROBE_WALK_ELSEWHERE;
    return contradict(what);
  }
  Walked tooMuch() { return contradict("the stack is too deep"); }

  bool isOnSomeStack(uintptr_t frame) const {
    constexpr size_t FrameSize = 2 * sizeof(uintptr_t);
    return stack_.contains(frame, FrameSize) || (frame % sizeof(uintptr_t) == 0 && ContinuationAt(cx_, frame));
  }
  // The frame pointer is `frame`, which may be on the stack of a continuation. False if the engine is changing its list of
  // these stacks.
  bool enterStackOf(uintptr_t frame) {
    if (stack_.contains(frame)) {
      return true;
    }
    stack_.enter(ContinuationAt(cx_, frame));
    return !cx_->wasm().contStacks().isChanging();
  }
  // Whether the context has had a continuation.
  bool mayHaveContinuations() const { return cx_->wasm().contStacks().arenaCapacity() != 0; }

  bool linkOf(uintptr_t fp, Link* link) const;
  // The link of a frame whose frame pointer has not been pushed yet, or has been popped already. `frame` is where the
  // frame pointer will be or was.
  bool linkWithoutFrame(uintptr_t frame, uintptr_t callerFrame, Link* link) const;
  // Finds the frame of the code that is about to run, and its link. False if it is not on the stack.
  bool linkAt(const StrobeRegisters& registers, FrameEnd end, uintptr_t* frame, Link* link) const;
  bool isPrologue(uintptr_t pc, const js::jit::JitcodeGlobalEntry* entry, JitCodeKind kind) const;

  // Notes the frame of the stub through which C++ has entered the activation.
  void noteEntry(uintptr_t fp);
  // The same for WebAssembly. False if the frame is not that of such a stub.
  bool noteWasmEntry(uintptr_t fp);

  Walked inCode(StrobeRegisters registers, bool leaf);

  // Walks the caller of a frame and all older frames.
  Walked emitFrom(Link link);
  Walked emitFrom(uintptr_t fp) {
    Link link;
    return linkOf(fp, &link) ? emitFrom(link) : contradict("a frame is not linked to its caller");
  }
  // Writes the function's frame at `fp`, and the functions that are inlined into it at `pc`. `entry` is that of the
  // code at `pc`, or of a cache that is used there.
  Walked emitFunction(uintptr_t fp, uintptr_t pc, bool leaf, const js::jit::JitcodeGlobalEntry* entry);
  bool isFrameOf(uintptr_t fp, const js::jit::JitcodeGlobalEntry* entry) const;
  enum class Inlined { No, Yes };
  // Checks the function's frame, and writes it with or without inlined functions. `entry` is null, and `pc` 0, where they
  // are not known.
  Walked emitPhysicalFunction(uintptr_t fp, const js::jit::JitcodeGlobalEntry* entry, uintptr_t pc = 0,
                              bool leaf = false, Inlined inlined = Inlined::No);
  // What the script was executing or calling at `pc`, in its bytecode.
  uint32_t offsetAt(uintptr_t fp, JSScript* script, const js::jit::JitcodeGlobalEntry* entry, uintptr_t pc,
                    bool leaf) const;
  // Writes the functions of the frame that a link leads to. It must be on the stack.
  Walked emitCaller(const Link& link);
  // Takes the work for a frame that earlier walks have not found. False if too little is left.
  bool takeNew(uintptr_t returnAddress);
  CallSites::Key callSiteOf(uintptr_t returnAddress, uintptr_t callee) const;
  // Makes the processor load what the walk of the next `Ahead` frames will read, all at once. `link` leads to the first
  // of them. This changes nothing but the time that the walk takes.
  void prefetchCallers(const Link& link) const;
  static constexpr size_t Ahead = 8;
  static constexpr uintptr_t UsualFrame = 2 * CacheLine;
  // For how many of the next frames this was done.
  size_t prefetched_ = 0;
  void emitTrampolineNative(uintptr_t fp);
  // Writes the built-in that a function of the engine stands for, if JIT code has called that function.
  void emitExitFunction(uintptr_t exit);
  // The first place, at or after `at`, of a return address for which `isWanted` is true; 0 if there is none nearby.
  template <typename IsWanted>
  uintptr_t findReturnAddress(uintptr_t at, const StrobeRegisters& registers, IsWanted isWanted) const;
  // Where the generic call that a thread was stopped in returns to; 0 if that is not known.
  uintptr_t returnAddressOfGenericCall(const StrobeRegisters& registers) const;
  uintptr_t returnAddressIntoBaseline(const StrobeRegisters& registers) const;
  // Goes from code without a frame to the code that has called it.
  bool leaveSharedStub(StrobeRegisters* registers, bool leaf) const;

  uintptr_t jsExitFP() const {
    return activation_->hasExitFP() && activation_->hasJSExitFP() ? reinterpret_cast<uintptr_t>(activation_->jsExitFP())
                                                                  : 0;
  }

  enum class WasmEnd { Done, CalledByJit, Inconsistent };
  WasmEnd emitWasm(uintptr_t pc, uintptr_t* fp, uintptr_t callee);
  // The same, and all older frames.
  Walked fromWasm(uintptr_t pc, uintptr_t fp, uintptr_t callee);
  Walked fromWasmRegisters(const StrobeRegisters& registers, const StrobeStopped& stopped);
  bool holdsWasmFrame(uintptr_t fp) const;
  const WasmCall& wasmCallAt(uintptr_t returnAddress);
  const js::wasm::Instance* instanceOf(uintptr_t fp);
  bool leaveContinuation(uintptr_t* pc, uintptr_t* fp, const js::wasm::Instance** instance);
};

}  // namespace strobe

#endif  // strobe_js_profiler_jit_frames_h
