/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The walk of the table mode: from the registers of the stopped thread, through frames that know
// nothing of it.
//
// JavaScript runs in activations, the youngest first. An interpreter activation lists its frames. The
// frames of a JIT activation are linked by what each call pushes:
//
//     fp + 24   callee token (frames of functions and scripts; what it is for others is theirs)
//     fp + 16   descriptor: what kind of frame the *caller's* is
//     fp +  8   return address into the caller's code
//     fp        the caller's frame
//
// so that from any one frame the older ones follow for certain. An activation that called into C++
// and from there into a younger one has left its youngest frame in `exitFP`. The question is where
// the youngest frame of the youngest activation is; YoungestFrame answers it. `exitFP` does not: it
// is never cleared, and most calls into C++ do not set it.
//
// Every place where the registers say something else than "the frame is at fp" is a *window*:
//
//  - prologue    before `push fp` and before `mov fp, sp`: the frame has no link yet, but what the
//                caller pushed stands at sp.
//  - epilogue    at `ret`, fp is the caller's already.
//  - stub        an inline cache or a trampoline runs on its caller's frame, or on one of its own
//                without a callee, which the descriptor tells.
//  - native      in C++ and Rust, which are compiled with frame pointers, the chain of frames leads to
//                JIT code. A library without frame pointers leaves fp alone or uses it for anything, so
//                that what it leads to is a guess, and is checked; or the chain is taken up again at the
//                first pair on the stack that looks like one.
//  - bailout     an Ion frame is being replaced: the thunk runs on the Ion frame, and the tail has the
//                Baseline frames linked before it calls. Between the two sp has left the frames that
//                fp leads to for a few instructions: the callee token decides.
//  - exception   the handler's stub runs on the frame that threw.
//  - trap        a function of WebAssembly that traps is at its registers until the engine's handler has
//                noted its frame. The handler runs on another stack; suspend_linux.rs looks through it.
//  - OSR         Ion code runs on in the Baseline frame, whose links are the same.
//
// Anything that contradicts itself is counted as inconsistent, and no stack is given. Memory is read
// only within the thread's stack, by ReadSafely, or where interpreter_frames.cpp allows it.

#ifdef __x86_64__

#  include <string.h>
#  include <sys/uio.h>
#  include <unistd.h>

#  include "builtin/MapObject.h"
#  include "gc/Heap.h"
#  include "jit/BaselineJIT.h"
#  include "jit/Ion.h"
#  include "jit/IonScript.h"
#  include "jit/JitFrames.h"
#  include "jit/JitRuntime.h"
#  include "jit/JSJitFrameIter.h"
#  include "jit/ProcessExecutableMemory.h"
#  include "jit/VMFunctionList-inl.h"
#  include "vm/Activation.h"
#  include "vm/JitActivation.h"
#  include "vm/JSContext.h"
#  include "vm/Runtime.h"
#  include "vm/Shape.h"
#  include "wasm/WasmCode.h"
#  include "wasm/WasmFrame.h"
#  include "wasm/WasmFrameIter.h"
#  include "wasm/WasmInstance.h"
#  include "wasm/WasmProcess.h"

#  include "stack_memory.h"
#  include "stack_writer.h"

using namespace js;
using jit::AddressIsInExecutableMemory;
using jit::CalleeToken;
using jit::CalleeTokenMask;
using jit::FrameDescriptor;
using jit::FrameType;
using jit::JitActivation;
using jit::JitcodeGlobalEntry;
using strobe::CalleeOffset;
using strobe::DescriptorOffset;
using strobe::ReturnAddressOffset;
using strobe::ScriptOfCalleeToken;
using strobe::StackMemory;
using strobe::StackWriter;

// The program's own code, which is compiled with frame pointers.
extern "C" const char __executable_start;
extern "C" const char etext;

namespace {

// Copies memory that may not be mapped, which a plain read would not survive.
bool ReadSafely(uintptr_t address, void* to, size_t length) {
  iovec local = {to, length};
  iovec remote = {reinterpret_cast<void*>(address), length};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == ssize_t(length);
}

template <typename T>
bool ReadSafely(uintptr_t address, T* to) {
  return ReadSafely(address, to, sizeof(T));
}

constexpr size_t LongestCall = 7;

// Whether the `LongestCall` bytes before `end` end in a call instruction.
bool IsAfterCall(const uint8_t* end) {
  if (end[-5] == 0xE8) {
    return true;
  }
  // FF /2: the reg field of the ModRM byte is 2. Its length depends on the addressing.
  auto isCall = [&](int length) { return end[-length] == 0xFF && (end[1 - length] & 0x38) == 0x10; };
  return isCall(2) || isCall(3) || isCall(4) || isCall(6) || isCall(7);
}

// Whether `address` follows a call instruction of JIT code.
bool IsReturnAddressIntoJit(uintptr_t address) {
  uint8_t code[LongestCall];
  return AddressIsInExecutableMemory(reinterpret_cast<void*>(address - LongestCall)) &&
         AddressIsInExecutableMemory(reinterpret_cast<void*>(address)) &&
         ReadSafely(address - LongestCall, code, LongestCall) && IsAfterCall(code + LongestCall);
}

bool IsInProgram(uintptr_t address) {
  return address >= reinterpret_cast<uintptr_t>(&__executable_start) && address < reinterpret_cast<uintptr_t>(&etext);
}

// Whether `address` follows a call instruction of the program's. Its constants stand before its code.
bool IsReturnAddressIntoProgram(uintptr_t address) {
  return IsInProgram(address - LongestCall) && IsInProgram(address) &&
         IsAfterCall(reinterpret_cast<const uint8_t*>(address));
}

// What a word that should be a callee token turns out to be, without trusting it.
struct Callee {
  enum class Kind { None, Script, TrampolineNative };
  Kind kind = Kind::None;
  JSScript* script = nullptr;
  JSFunction* native = nullptr;
};

// The class of a cell that should be an object, or 0.
uintptr_t ClassOf(uintptr_t cell) {
  // Object to shape to base shape to class, each in the first word of the cell before it.
  uintptr_t shape, base, clasp;
  bool isObject = cell % sizeof(uintptr_t) == 0 && ReadSafely(cell, &shape) && shape &&
                   shape % gc::CellAlignBytes == 0 && ReadSafely(shape, &base) && base &&
                   base % gc::CellAlignBytes == 0 && ReadSafely(base, &clasp);
  return isObject ? clasp : 0;
}

bool IsFunctionClass(uintptr_t clasp) {
  return clasp == reinterpret_cast<uintptr_t>(&FunctionClass) ||
         clasp == reinterpret_cast<uintptr_t>(&ExtendedFunctionClass);
}

bool IsFunction(uintptr_t cell) { return IsFunctionClass(ClassOf(cell)); }

// Whether objects of a class have a constructor of the program's, as those of DOM interfaces do, which are no
// functions of the engine's.
bool IsInterfaceClass(uintptr_t address) {
  alignas(JSClass) uint8_t clasp[sizeof(JSClass)];
  alignas(JSClassOps) uint8_t ops[sizeof(JSClassOps)];
  if (!address || !ReadSafely(address, clasp, sizeof(clasp)) || !reinterpret_cast<JSClass*>(clasp)->isNativeObject()) {
    return false;
  }
  auto classOps = reinterpret_cast<uintptr_t>(reinterpret_cast<JSClass*>(clasp)->cOps);
  return classOps && ReadSafely(classOps, ops, sizeof(ops)) &&
         IsInProgram(reinterpret_cast<uintptr_t>(reinterpret_cast<JSClassOps*>(ops)->construct));
}

bool IsCallable(uintptr_t cell) {
  uintptr_t clasp = ClassOf(cell);
  return IsFunctionClass(clasp) || IsInterfaceClass(clasp);
}

// What a walk keeps outside of the stack, whose room may be short. Several threads may walk their stacks at the same
// time. The memory is there from the thread's beginning: a handler must not be the one to allocate it.
#  define PER_THREAD static thread_local constinit __attribute__((tls_model("initial-exec")))

bool IsScript(uintptr_t cell) {
  // Only the header is read.
  alignas(gc::Arena) PER_THREAD uint8_t arena[sizeof(gc::Arena)] = {};
  return cell % gc::CellAlignBytes == 0 && ReadSafely(cell & ~(gc::ArenaSize - 1), arena, gc::ArenaHeaderSize) &&
         reinterpret_cast<gc::Arena*>(arena)->getAllocKind() == gc::AllocKind::SCRIPT;
}

Callee CheckCallee(uintptr_t token) {
  Callee callee;
  uintptr_t cell = token & CalleeTokenMask;
  if (!cell) {
    return callee;
  }
  switch (token & ~CalleeTokenMask) {
    case jit::CalleeToken_Function:
    case jit::CalleeToken_FunctionConstructing: {
      if (!IsFunction(cell)) {
        break;
      }
      auto* function = reinterpret_cast<JSFunction*>(cell);
      if (function->hasBaseScript()) {
        // A function that is garbage may have outlived its script.
        if (IsScript(reinterpret_cast<uintptr_t>(function->baseScript()))) {
          callee.script = ScriptOfCalleeToken(CalleeToken(token));
        }
        callee.kind = callee.script ? Callee::Kind::Script : Callee::Kind::None;
      } else if (function->isNativeFun() && function->hasJitEntry()) {
        callee.native = function;
        callee.kind = Callee::Kind::TrampolineNative;
      }
      break;
    }
    case jit::CalleeToken_Script:
      if (IsScript(cell)) {
        callee.script = reinterpret_cast<JSScript*>(cell);
        callee.kind = Callee::Kind::Script;
      }
      break;
  }
  return callee;
}

// What was found of words that are callee tokens. A cell stays what it is until garbage is collected, so
// that until then the system need not be asked again.
class CheckedCallees {
  static constexpr size_t Size = 128;
  struct Entry {
    // Of the runtime, whose address may be another's later.
    mozilla::TimeStamp created;
    uint64_t minorCollections = 0;
    uint64_t slices = 0;
    uintptr_t token = 0;
    Callee callee;
  };
  Entry entries_[Size];

 public:
  Callee check(JSRuntime* runtime, uintptr_t token) {
    const gc::GCRuntime& gc = runtime->gc;
    // Until a collection has ended, another thread frees what it has found dead.
    if (gc.isIncrementalGCInProgress()) {
      return CheckCallee(token);
    }
    Entry& entry = entries_[token / gc::CellAlignBytes % Size];
    if (entry.token != token || entry.slices != gc.gcSliceCount() || entry.minorCollections != gc.minorGCCount() ||
        entry.created != gc.stats().creationTime()) {
      Callee callee = CheckCallee(token);
      if (callee.kind == Callee::Kind::None) {
        // A cell may be made there at any time.
        return callee;
      }
      entry = {gc.stats().creationTime(), gc.minorGCCount(), gc.gcSliceCount(), token, callee};
    }
    return entry.callee;
  }
};

// mov rbp, rsp, in either encoding.
bool IsMoveOfStackPointerToFramePointer(const uint8_t* code) {
  return code[0] == 0x48 && ((code[1] == 0x8B && code[2] == 0xEC) || (code[1] == 0x89 && code[2] == 0xE5));
}

// What a frame knows of its caller.
struct Link {
  uintptr_t callerFrame;
  uintptr_t returnAddress;
  FrameType callerType;
};

// The registers as they were when a frame called the next one. `sp` is where the caller's own part of
// the stack begins.
struct Position {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
  // The registers of the stopped thread: pc is no return address.
  bool leaf;
  // Found in what a library has on the stack, where return addresses of calls that have returned may
  // stand too.
  bool unsure = false;
  // The chain was broken and taken up again.
  bool guessed = false;
  // Of the registers of the stopped thread.
  uintptr_t wasmInstance = 0;
};

bool IsIonCode(JSScript* script, uintptr_t pc) {
  return script->hasIonScript() && script->ionScript()->method()->containsNativePC(reinterpret_cast<void*>(pc));
}

bool IsBaselineCode(JSScript* script, uintptr_t pc) {
  return script->hasBaselineScript() &&
         script->baselineScript()->containsCodeAddress(reinterpret_cast<uint8_t*>(pc));
}

enum class Walked { Done, Inconsistent };

// Walks the frames of one JIT activation.
class JitWalk {
  JSContext* cx_;
  StackWriter& writer_;
  JitActivation* activation_;
  // The part of the stack that is the activation's.
  StackMemory stack_;
  uintptr_t threadStackHigh_;
  // Whether the engine is not changing its tables of code.
  bool tablesUsable_;
  // Whether the youngest frame was found for certain. If not, what it leads to may have been left behind
  // by calls that have returned, and nothing there is taken for what it should be.
  bool trusted_ = true;
  const char* contradiction_ = nullptr;

 public:
  JitWalk(JSContext* cx, StackWriter& writer, JitActivation* activation, const StackMemory& stack,
          uintptr_t threadStackHigh)
      : cx_(cx),
        writer_(writer),
        activation_(activation),
        stack_(stack),
        threadStackHigh_(threadStackHigh),
        tablesUsable_(cx->isProfilerSamplingEnabled()) {}

  // What is wrong, after a result of Inconsistent.
  const char* contradiction() const { return contradiction_; }

  // The youngest activation: from the registers.
  Walked fromRegisters(Position position);

  // An older activation: it has called into C++.
  Walked fromExit();

 private:
  // The entry of JIT code that has one. Entries may outlive their code.
  JitcodeGlobalEntry* lookup(uintptr_t pc) const {
    if (!tablesUsable_) {
      return nullptr;
    }
    auto* table = cx_->runtime()->jitRuntime()->getJitcodeGlobalTable();
    JitcodeGlobalEntry* entry = table->lookup(reinterpret_cast<void*>(pc));
    return entry && entry->hasJitcode() ? entry : nullptr;
  }

  // The entry of the Ion code that an entry belongs to. That of an inline cache points at its code's,
  // which may be gone.
  const JitcodeGlobalEntry* ionEntryOf(const JitcodeGlobalEntry* entry) const {
    if (entry && entry->isIonIC()) {
      entry = lookup(reinterpret_cast<uintptr_t>(entry->asIonIC().rejoinAddr()));
    }
    return entry && entry->isIon() ? entry : nullptr;
  }

  Walked contradict(const char* what) {
    contradiction_ = what;
    return Walked::Inconsistent;
  }

  // Whether a chain of frames that has come to `fp` is among those that are older than the activation.
  bool hasLeftActivation(uintptr_t fp) const { return fp >= stack_.high() && fp < threadStackHigh_; }

  Callee checkCallee(uintptr_t token) const {
    PER_THREAD CheckedCallees checked;
    return checked.check(cx_->runtime(), token);
  }

  bool linkOf(uintptr_t fp, Link* link) const;
  Callee functionFrameAt(uintptr_t fp) const;
  uintptr_t jsExitFP() const {
    return activation_->hasExitFP() && activation_->hasJSExitFP() ? reinterpret_cast<uintptr_t>(activation_->jsExitFP())
                                                                  : 0;
  }
  bool isCodeOf(JSScript* script, uintptr_t pc) const;
  bool isOnWrapperFrame(uintptr_t pc) const;
  bool isJitFrame(uintptr_t fp) const;
  bool exitFrameIsPlausible(uintptr_t exit) const;

  bool returnToJitAtStackPointer(Position& position) const;
  bool nextNative(Position& position) const;
  bool resumeChain(Position& position) const;

  enum class Found { Frame, Hop, Inconsistent };
  Found inJit(const Position& position, Walked* result);
  bool inWindow(const Position& position, const JitcodeGlobalEntry* entry, Walked* result);

  Walked emitFrom(Link link);
  Walked emitFrom(uintptr_t fp) {
    Link link;
    return linkOf(fp, &link) ? emitFrom(link) : contradict("a frame is not linked to its caller");
  }
  // An exit frame's built-in, if it is for one, and all older frames.
  Walked emitFromExit(uintptr_t exit) {
    emitExitCallee(exit);
    return emitFrom(exit);
  }
  void emitFunction(uintptr_t fp, JSScript* script, uintptr_t pc, bool leaf, uintptr_t returnAddress);
  void emitExitCallee(uintptr_t exit);

  enum class WasmEnd { Done, CalledByJit, Inconsistent };
  WasmEnd emitWasm(uintptr_t pc, uintptr_t* fp, const wasm::Instance* instance, uintptr_t callee);
  // The same and all older frames.
  Walked fromWasm(uintptr_t pc, uintptr_t fp, const wasm::Instance* instance, uintptr_t callee) {
    switch (emitWasm(pc, &fp, instance, callee)) {
      case WasmEnd::Done:
        return Walked::Done;
      case WasmEnd::CalledByJit:
        return emitFrom(fp);
      case WasmEnd::Inconsistent:
        return Walked::Inconsistent;
    }
    MOZ_CRASH("no end");
  }
  bool holdsWasmFrame(uintptr_t fp) const { return stack_.contains(fp, sizeof(wasm::FrameWithInstances)); }
  const wasm::Instance* nearestInstance(uintptr_t fp) const;
  Walked fromWasmRegisters(const Position& position);

  StrobeFramePlace placeOf(uintptr_t fp) const {
    return {fp, stack_.word(fp + ReturnAddressOffset), stack_.word(fp + CalleeOffset)};
  }
};

bool JitWalk::linkOf(uintptr_t fp, Link* link) const {
  if (!stack_.holdsFrame(fp)) {
    return false;
  }
  link->callerFrame = stack_.word(fp);
  link->returnAddress = stack_.word(fp + ReturnAddressOffset);
  uintptr_t descriptor = stack_.word(fp + DescriptorOffset);
  link->callerType = FrameType(descriptor & FrameDescriptor::TypeMask);
  // The older frame is further up, and the frame of the C++ code that entered JIT code further still,
  // beyond the activation.
  return link->callerFrame > fp;
}

// The function whose frame is at `fp`, if one is.
Callee JitWalk::functionFrameAt(uintptr_t fp) const {
  Link link;
  if (!linkOf(fp, &link)) {
    return {};
  }
  uintptr_t descriptor = stack_.word(fp + DescriptorOffset);
  if (descriptor >> 32 || descriptor % (1 << FrameDescriptor::TypeBits) > uintptr_t(FrameType::TrampolineNative)) {
    return {};
  }
  // Generators are resumed with a return address into Baseline code or the interpreter; all are JIT
  // code.
  if (!AddressIsInExecutableMemory(reinterpret_cast<void*>(link.returnAddress))) {
    return {};
  }
  return checkCallee(stack_.word(fp + CalleeOffset));
}

// Whether a function's frame or a stub's on top of one is at `fp`.
bool JitWalk::isJitFrame(uintptr_t fp) const {
  Link link;
  return functionFrameAt(fp).kind != Callee::Kind::None ||
         (linkOf(fp, &link) && functionFrameAt(link.callerFrame).kind == Callee::Kind::Script);
}

bool JitWalk::exitFrameIsPlausible(uintptr_t exit) const {
  Link link;
  if (!linkOf(exit, &link) || !stack_.holdsFrame(link.callerFrame)) {
    return false;
  }
  switch (link.callerType) {
    case FrameType::IonJS:
    case FrameType::BaselineJS:
      return functionFrameAt(link.callerFrame).kind == Callee::Kind::Script;
    case FrameType::BaselineStub:
    case FrameType::IonICCall: {
      Link stub;
      return linkOf(link.callerFrame, &stub) && functionFrameAt(stub.callerFrame).kind == Callee::Kind::Script;
    }
    case FrameType::TrampolineNative:
      return functionFrameAt(link.callerFrame).kind == Callee::Kind::TrampolineNative;
    default:
      return false;
  }
}

// Whether `pc` is in the wrapper of a VM function, where fp is the frame of the wrapper: an exit frame,
// which looks like a function's if the first argument is a function.
bool JitWalk::isOnWrapperFrame(uintptr_t pc) const {
  // All were made one after the other. The last one is left out: where it ends is not known.
  const jit::JitRuntime* runtime = cx_->runtime()->jitRuntime();
  auto first = reinterpret_cast<uintptr_t>(runtime->getVMWrapper(jit::VMFunctionId(0)).value);
  auto last = jit::VMFunctionId(size_t(jit::VMFunctionId::Count) - 1);
  if (pc < first || pc >= reinterpret_cast<uintptr_t>(runtime->getVMWrapper(last).value)) {
    return false;
  }
  // In its first two instructions and at its last one the caller's frame is at fp.
  const auto* code = reinterpret_cast<const uint8_t*>(pc);
  return !(code[0] == 0x55 || code[0] == 0xC2 || IsMoveOfStackPointerToFramePointer(code));
}

Walked JitWalk::fromExit() {
  if (activation_->hasWasmExitFP()) {
    auto exit = reinterpret_cast<uintptr_t>(activation_->wasmExitFP());
    if (!stack_.contains(exit, 2 * sizeof(uintptr_t))) {
      return contradict("the exit frame of WebAssembly is not on the stack");
    }
    if (activation_->isWasmTrapping()) {
      // The frame is that of the function that trapped, which has called nothing.
      auto pc = reinterpret_cast<uintptr_t>(activation_->wasmTrapData().unwoundPC);
      return fromWasm(pc, exit, nullptr, 0);
    }
    return fromWasm(stack_.word(exit + ReturnAddressOffset), stack_.word(exit), nullptr, exit);
  }
  uintptr_t exit = jsExitFP();
  if (!exit) {
    // It has called nothing yet.
    return Walked::Done;
  }
  return emitFromExit(exit);
}

Walked JitWalk::fromRegisters(Position position) {
  // More than any chain of C++ frames between two JIT frames.
  constexpr int MaxHops = 512;
  if (activation_->hasWasmExitFP()) {
    // While a trap is being handled a function is where it trapped, though its frame may have been noted
    // already.
    const wasm::CodeRange* range = nullptr;
    if (!wasm::LookupCodeBlock(reinterpret_cast<void*>(position.pc), &range) || !range->isFunction()) {
      return fromExit();
    }
  }
  for (int hop = 0; hop < MaxHops; hop++) {
    auto* pc = reinterpret_cast<void*>(position.pc);
    if (AddressIsInExecutableMemory(pc)) {
      const auto* code = static_cast<const uint8_t*>(pc);
      if (position.leaf && code[0] == 0xFF && code[1] == 0x25 && stack_.contains(position.sp) &&
          AddressIsInExecutableMemory(reinterpret_cast<void*>(stack_.word(position.sp)))) {
        // A jump through the table of far calls, where the return address has been pushed.
        position = {stack_.word(position.sp), position.sp + sizeof(uintptr_t), position.fp, false};
        continue;
      }
      // What was left behind on the stack by calls that have returned may look like a chain. An exit
      // frame that is younger than what it leads to is the better guess.
      uintptr_t exit = jsExitFP();
      trusted_ = !position.unsure && !position.guessed;
      if (position.guessed && exit && exit < position.fp && exitFrameIsPlausible(exit)) {
        return emitFromExit(exit);
      }
      if (wasm::LookupCodeBlock(pc)) {
        return position.leaf ? fromWasmRegisters(position) : fromWasm(position.pc, position.fp, nullptr, 0);
      }
      Walked result;
      switch (inJit(position, &result)) {
        case Found::Frame:
          return result;
        case Found::Inconsistent:
          return contradict("no frame of JIT code at the frame pointer");
        case Found::Hop:
          break;
      }
    }
    if (!nextNative(position)) {
      // The chain has left the activation. Then no JIT code is running in it, unless the chain was
      // none: an exit frame below us would not be one of a call that has returned.
      uintptr_t exit = jsExitFP();
      if (exit && exitFrameIsPlausible(exit)) {
        trusted_ = false;
        return emitFromExit(exit);
      }
      return hasLeftActivation(position.fp) ? Walked::Done : contradict("the chain of native frames is broken");
    }
  }
  return contradict("the chain of native frames does not end");
}

// Goes from native code without a frame of its own, or whose frame is not linked, to JIT code that
// called it. fp is that code's.
bool JitWalk::returnToJitAtStackPointer(Position& position) const {
  uint8_t code[3] = {};
  if (!ReadSafely(position.pc, code, sizeof(code))) {
    return false;
  }
  auto returnAt = [&](uintptr_t at) {
    if (at >= position.fp || !stack_.contains(at) || !IsReturnAddressIntoJit(stack_.word(at))) {
      return false;
    }
    position.pc = stack_.word(at);
    position.sp = at + sizeof(uintptr_t);
    return true;
  };
  auto maybeReturnAt = [&](uintptr_t at) {
    position.unsure = returnAt(at);
    return position.unsure;
  };
  // At the first and the last instruction of a function the return address is at sp; after the frame
  // pointer is pushed, above that.
  bool atEnd = code[0] == 0x55 || code[0] == 0xC3;
  bool pushed = IsMoveOfStackPointerToFramePointer(code);
  if (atEnd) {
    return returnAt(position.sp);
  }
  if (pushed) {
    return returnAt(position.sp + sizeof(uintptr_t));
  }
  if (AddressIsInExecutableMemory(reinterpret_cast<void*>(position.pc))) {
    // The code of a regular expression, or a trampoline's, on its own frame. At sp is a local variable,
    // which may not have been written yet.
    return false;
  }
  bool onFunctionFrame = functionFrameAt(position.fp).kind == Callee::Kind::Script;
  if (IsInProgram(position.pc)) {
    // A tail call between two C++ functions.
    return onFunctionFrame && maybeReturnAt(position.sp);
  }
  if (maybeReturnAt(position.sp) || maybeReturnAt(position.sp + sizeof(uintptr_t))) {
    return true;
  }
  // A library that leaves fp alone: somewhere below is the return address.
  for (uintptr_t at = position.sp; onFunctionFrame && at < position.fp && stack_.contains(at);
       at += sizeof(uintptr_t)) {
    if (maybeReturnAt(at)) {
      return true;
    }
  }
  return false;
}

// Goes from a C++ or Rust frame, or a trampoline's, to its caller. False at the end of the chain.
bool JitWalk::nextNative(Position& position) const {
  if (position.leaf) {
    position.leaf = false;
    if (returnToJitAtStackPointer(position)) {
      return true;
    }
    // A library may use the frame pointer for anything, once it has saved its caller's. Then what it
    // points at may be frames that calls which have returned left behind in a buffer.
    position.guessed = !IsInProgram(position.pc) &&
                       !AddressIsInExecutableMemory(reinterpret_cast<void*>(position.pc)) &&
                       !(stack_.contains(position.sp) && IsReturnAddressIntoProgram(stack_.word(position.sp)));
  }
  if (!stack_.contains(position.fp, 2 * sizeof(uintptr_t))) {
    return !hasLeftActivation(position.fp) && resumeChain(position);
  }
  uintptr_t caller = stack_.word(position.fp);
  uintptr_t returnAddress = stack_.word(position.fp + ReturnAddressOffset);
  bool intoJit = AddressIsInExecutableMemory(reinterpret_cast<void*>(returnAddress));
  if (caller <= position.fp || !(intoJit || IsReturnAddressIntoProgram(returnAddress))) {
    return resumeChain(position);
  }
  position.pc = returnAddress;
  position.sp = position.fp + DescriptorOffset;
  position.fp = caller;
  return true;
}

// Takes up the chain again at the next pair of a frame pointer and a return address on the stack.
bool JitWalk::resumeChain(Position& position) const {
  constexpr int MaxWords = 4096;
  uintptr_t at = position.sp;
  for (int i = 0; i < MaxWords && stack_.contains(at, 2 * sizeof(uintptr_t)); i++, at += sizeof(uintptr_t)) {
    uintptr_t fp = stack_.word(at);
    if (fp <= at || !stack_.contains(fp, 2 * sizeof(uintptr_t))) {
      continue;
    }
    uintptr_t returnAddress = stack_.word(at + sizeof(uintptr_t));
    bool fromJit = IsReturnAddressIntoJit(returnAddress) && isJitFrame(fp);
    if (fromJit || (IsReturnAddressIntoProgram(returnAddress) && stack_.word(fp) > fp)) {
      position.pc = returnAddress;
      position.sp = at + DescriptorOffset;
      position.fp = fp;
      position.guessed = true;
      return true;
    }
  }
  return false;
}

// Finds the youngest frame from a position in JIT code, and emits it and all older ones.
JitWalk::Found JitWalk::inJit(const Position& position, Walked* result) {
  JitcodeGlobalEntry* entry = lookup(position.pc);
  if (position.leaf && inWindow(position, entry, result)) {
    return Found::Frame;
  }

  if (!entry && isOnWrapperFrame(position.pc) && (trusted_ || exitFrameIsPlausible(position.fp))) {
    if (!position.leaf) {
      emitExitCallee(position.fp);
    }
    *result = emitFrom(position.fp);
    return Found::Frame;
  }
  uintptr_t exit = jsExitFP();
  // One of a native function, which stands between the frame and the C++ code.
  if (!position.leaf && exit >= position.sp && exit < position.fp && stack_.holdsFrame(exit) &&
      stack_.word(exit) == position.fp) {
    emitExitCallee(exit);
  }

  Link link;
  if (!linkOf(position.fp, &link)) {
    // The stub that enters JIT code is on its C++ caller's frame at its beginning and end.
    return entry ? Found::Inconsistent : Found::Hop;
  }
  Callee callee = functionFrameAt(position.fp);
  // A frame of a stub has no callee, and what stands there is a Value in Baseline code, which is never
  // taken for one; in Ion code it may be any spilled pointer.
  const JitcodeGlobalEntry* ion = ionEntryOf(entry);
  bool mayBeStub = callee.kind == Callee::Kind::None ||
                   (callee.script && ion && !ion->asIon().getScriptKey(0).matches(callee.script));
  if (mayBeStub && (link.callerType == FrameType::BaselineJS || link.callerType == FrameType::IonJS)) {
    Callee caller = functionFrameAt(link.callerFrame);
    if (caller.kind == Callee::Kind::Script &&
        (callee.kind == Callee::Kind::None || (ion && ion->asIon().getScriptKey(0).matches(caller.script)))) {
      *result = emitFrom(link);
      return Found::Frame;
    }
  }
  if (!trusted_ && callee.script && entry && !entry->isIonIC() && !isCodeOf(callee.script, position.pc)) {
    return Found::Inconsistent;
  }
  if (callee.kind == Callee::Kind::Script) {
    uintptr_t pc = position.pc;
    bool leaf = position.leaf;
    if (!tablesUsable_ && callee.script->hasIonScript()) {
      *result = contradict("the engine is changing the table of what is inlined");
      return Found::Frame;
    }
    if (!entry) {
      // A stub that runs on the function's frame: where in the function it was called says what is
      // inlined there.
      constexpr int MaxWords = 64;
      uintptr_t at = position.sp;
      for (int i = 0; i < MaxWords && at < position.fp && stack_.contains(at); i++, at += sizeof(uintptr_t)) {
        uintptr_t returnAddress = stack_.word(at);
        if (!AddressIsInExecutableMemory(reinterpret_cast<void*>(returnAddress))) {
          continue;
        }
        JitcodeGlobalEntry* caller = lookup(returnAddress);
        if (caller && caller->isIon() && caller->asIon().getScriptKey(0).matches(callee.script)) {
          pc = returnAddress;
          leaf = false;
          break;
        }
      }
    }
    emitFunction(position.fp, callee.script, pc, leaf, link.returnAddress);
    *result = emitFrom(link);
    return Found::Frame;
  }
  if (callee.kind == Callee::Kind::TrampolineNative) {
    writer_.appendNative(callee.native, placeOf(position.fp));
    *result = emitFrom(link);
    return Found::Frame;
  }
  // A frame of code that is not JavaScript: regular expressions, and the stub that entered JIT code.
  return entry ? Found::Inconsistent : Found::Hop;
}

// The first and last instructions of a function, where its frame has no link.
bool JitWalk::inWindow(const Position& position, const JitcodeGlobalEntry* entry, Walked* result) {
  if (!entry || entry->isIonIC()) {
    return false;
  }
  const auto* code = reinterpret_cast<const uint8_t*>(position.pc);
  uintptr_t frame;
  if (code[0] == 0x55 || code[0] == 0xC3) {
    frame = position.sp - sizeof(uintptr_t);
  } else if (IsMoveOfStackPointerToFramePointer(code)) {
    if (!stack_.contains(position.sp) || stack_.word(position.sp) != position.fp) {
      return false;
    }
    frame = position.sp;
  } else {
    return false;
  }
  // The word at `frame` itself is not the frame's yet or not any more.
  if (!stack_.contains(frame + ReturnAddressOffset, CalleeOffset) || position.fp <= frame) {
    return false;
  }
  uintptr_t returnAddress = stack_.word(frame + ReturnAddressOffset);
  uintptr_t descriptor = stack_.word(frame + DescriptorOffset);
  if (descriptor >> 32 || !AddressIsInExecutableMemory(reinterpret_cast<void*>(returnAddress))) {
    return false;
  }
  Callee callee = checkCallee(stack_.word(frame + CalleeOffset));
  if (callee.kind != Callee::Kind::Script) {
    return false;
  }
  if (!isCodeOf(callee.script, position.pc)) {
    return false;
  }
  StrobeFramePlace place = {frame, returnAddress, stack_.word(frame + CalleeOffset)};
  writer_.appendScript(callee.script, place);
  *result = emitFrom({position.fp, returnAddress, FrameType(descriptor & FrameDescriptor::TypeMask)});
  return true;
}

// Whether `pc` is in code that runs a script.
bool JitWalk::isCodeOf(JSScript* script, uintptr_t pc) const {
  const JitcodeGlobalEntry* entry = lookup(pc);
  if (!entry || entry->isIonIC()) {
    return false;
  }
  if (entry->isIon()) {
    return entry->asIon().getScriptKey(0).matches(script);
  }
  return !entry->isBaseline() || entry->asBaseline().scriptKey().matches(script);
}

// A function's frame, with what is inlined into it at `pc`.
void JitWalk::emitFunction(uintptr_t fp, JSScript* script, uintptr_t pc, bool leaf, uintptr_t returnAddress) {
  StrobeFramePlace place = {fp, returnAddress, stack_.word(fp + CalleeOffset)};
  // Nothing is inlined into Baseline code: the tree of all code need not be searched for it.
  JitcodeGlobalEntry* entry = IsBaselineCode(script, pc) ? nullptr : lookup(pc);
  if (entry && entry->isIonIC()) {
    pc = reinterpret_cast<uintptr_t>(entry->asIonIC().rejoinAddr());
    leaf = false;
    entry = lookup(pc);
  }
  if (entry && entry->isIon() && entry->asIon().getScriptKey(0).matches(script)) {
    // The table counts the address at the end of a region to it, as a return address is. The next
    // instruction to run belongs to the region that begins there.
    uintptr_t address = leaf && entry->containsPointer(reinterpret_cast<void*>(pc + 1)) ? pc + 1 : pc;
    writer_.appendInlinedFunctions(entry->asIon(), reinterpret_cast<void*>(address), script->realm(), place);
  }
  if (!writer_.full()) {
    writer_.appendScript(script, place);
  }
}

// The public name of a built-in that JIT code calls as a function of the engine instead; null if it is
// none, or the engine has other uses for that.
const char* NameOfVMFunction(jit::VMFunctionId id) {
  using Id = jit::VMFunctionId;
  switch (id) {
    case Id::ArrayJoin:
      return "join";
    case Id::ArraySliceDense:
      return "slice";
    case Id::MapObjectDelete:
    case Id::SetObjectDelete:
      return "delete";
    case Id::MapObjectGet:
      return "get";
    case Id::MapObjectHas:
    case Id::SetObjectHas:
      return "has";
    case Id::MapObjectSet:
    case Id::MapObjectSetFromIC:
      return "set";
    case Id::SetObjectAdd:
    case Id::SetObjectAddFromIC:
      return "add";
    case Id::StringReplace:
      return "replace";
    case Id::StringSplitString:
      return "split";
    case Id::StringToLowerCase:
      return "toLowerCase";
    case Id::StringToUpperCase:
      return "toUpperCase";
    default:
      return nullptr;
  }
}

// Emits the built-in that an exit frame is for, if it is for one and says so.
void JitWalk::emitExitCallee(uintptr_t exit) {
  constexpr size_t FooterSize = jit::ExitFooterFrame::Size();
  if (!stack_.contains(exit - FooterSize, FooterSize) || !stack_.holdsFrame(exit)) {
    return;
  }
  auto* frame = reinterpret_cast<jit::ExitFrameLayout*>(exit);
  uintptr_t argument = exit + jit::ExitFrameLayout::Size();
  auto word = [&](uintptr_t address) { return stack_.contains(address) ? stack_.word(address) : 0; };
  JS::Value callee = JS::UndefinedValue();
  switch (frame->footer()->type()) {
    case jit::ExitFrameType::CallNative:
    case jit::ExitFrameType::ConstructNative:
      // After the exit frame: argc, then the callee, which the result will replace.
      callee = JS::Value::fromRawBits(word(argument + sizeof(uintptr_t)));
      break;
    case jit::ExitFrameType::IonOOLNative:
      callee = JS::Value::fromRawBits(word(argument + 2 * sizeof(uintptr_t)));
      break;
    case jit::ExitFrameType::VMFunction: {
      jit::VMFunctionId id = frame->footer()->functionId();
      switch (id) {
        case jit::VMFunctionId::DoCallFallback:
          // frame, stub, argc, vp
          callee = JS::Value::fromRawBits(word(word(argument + 3 * sizeof(uintptr_t))));
          break;
        case jit::VMFunctionId::CallNativeGetter:
        case jit::VMFunctionId::CallNativeSetter:
        case jit::VMFunctionId::InvokeFunction:
          // The callee, by reference.
          if (IsFunction(word(argument))) {
            callee = JS::ObjectValue(*reinterpret_cast<JSObject*>(word(argument)));
          }
          break;
        default:
          if (const char* name = NameOfVMFunction(id)) {
            writer_.appendNative(name, cx_->realm(), placeOf(exit));
          }
          return;
      }
      break;
    }
    default:
      return;
  }
  if (callee.isObject() && (trusted_ || IsCallable(reinterpret_cast<uintptr_t>(&callee.toObject())))) {
    writer_.appendNative(&callee.toObject(), placeOf(exit));
  }
}

// Emits the caller of a frame and all older frames of the activation.
Walked JitWalk::emitFrom(Link link) {
  while (!writer_.full()) {
    switch (link.callerType) {
      case FrameType::BaselineStub:
      case FrameType::IonICCall: {
        bool baseline = link.callerType == FrameType::BaselineStub;
        if (!linkOf(link.callerFrame, &link) ||
            link.callerType != (baseline ? FrameType::BaselineJS : FrameType::IonJS)) {
          return contradict("the frame of a stub has no function's frame below");
        }
        [[fallthrough]];
      }
      case FrameType::IonJS:
      case FrameType::BaselineJS: {
        uintptr_t fp = link.callerFrame;
        if (!stack_.holdsFrame(fp)) {
          return contradict("a function's frame is not on the stack");
        }
        uintptr_t token = stack_.word(fp + CalleeOffset);
        JSScript* script = trusted_ ? ScriptOfCalleeToken(CalleeToken(token)) : checkCallee(token).script;
        if (!script) {
          return contradict("a function's frame has no script");
        }
        if (!trusted_ && !isCodeOf(script, link.returnAddress)) {
          return contradict("a return address is not into the code of the frame's function");
        }
        if (!tablesUsable_ && IsIonCode(script, link.returnAddress)) {
          return contradict("the engine is changing the table of what is inlined");
        }
        emitFunction(fp, script, link.returnAddress, false, stack_.word(fp + ReturnAddressOffset));
        break;
      }
      case FrameType::TrampolineNative: {
        if (!stack_.holdsFrame(link.callerFrame)) {
          return contradict("the frame of a trampoline is not on the stack");
        }
        Callee callee = checkCallee(stack_.word(link.callerFrame + CalleeOffset));
        if (callee.kind != Callee::Kind::TrampolineNative) {
          return contradict("the frame of a trampoline has no function");
        }
        writer_.appendNative(callee.native, placeOf(link.callerFrame));
        break;
      }
      case FrameType::BaselineInterpreterEntry:
        break;
      case FrameType::WasmToJSJit: {
        uintptr_t exit = link.callerFrame;
        if (!stack_.contains(exit, 2 * sizeof(uintptr_t))) {
          return contradict("the frame that left WebAssembly is not on the stack");
        }
        // No call: the two kinds of code may take turns for as many frames as there are, and a handler has
        // little stack.
        uintptr_t fp = stack_.word(exit);
        switch (emitWasm(stack_.word(exit + ReturnAddressOffset), &fp, nullptr, exit)) {
          case WasmEnd::Done:
            return Walked::Done;
          case WasmEnd::CalledByJit:
            link.callerFrame = fp;
            break;
          case WasmEnd::Inconsistent:
            return Walked::Inconsistent;
        }
        break;
      }
      case FrameType::CppToJSJit: {
        // The stub that entered JIT code has a frame, too, and its caller's is the one that the activation is in. Frames
        // that calls left behind lead to another activation's, which is gone.
        uintptr_t entry = link.callerFrame;
        if (!trusted_ && !(stack_.contains(entry) && hasLeftActivation(stack_.word(entry)))) {
          return contradict("the chain of frames is not the activation's");
        }
        return Walked::Done;
      }
      default:
        return contradict("a frame's descriptor is none");
    }
    if (!linkOf(link.callerFrame, &link)) {
      return contradict("a frame is not linked to its caller");
    }
  }
  return Walked::Done;
}

// The instance of a function of WebAssembly, whose frame is at `fp`: who calls what may be another instance's
// leaves both instances in the frame. Null if that is far away, or what is there is no frame.
const wasm::Instance* JitWalk::nearestInstance(uintptr_t fp) const {
  // A recursion has no such call but the first one. A frame takes some 0.1 µs.
  constexpr int MaxFrames = 512;
  for (int frame = 0; frame < MaxFrames && holdsWasmFrame(fp); frame++) {
    auto* returnAddress = reinterpret_cast<void*>(stack_.word(fp + ReturnAddressOffset));
    const wasm::CodeRange* range = nullptr;
    const wasm::Code* caller = wasm::LookupCode(returnAddress, &range);
    wasm::CallSite site;
    if (!caller || range->isEntry() ||
        (caller->lookupCallSite(returnAddress, &site) && site.mightBeCrossInstance())) {
      return reinterpret_cast<wasm::FrameWithInstances*>(fp)->calleeInstance();
    }
    if (stack_.word(fp) <= fp) {
      return nullptr;
    }
    fp = stack_.word(fp);
  }
  return nullptr;
}

// The frames from a position in WebAssembly code, whose frame is at `*fp`, up to what called it. `instance`, if it
// is of that code, is the first frame's. `callee` is the frame of what was called from there, or 0.
JitWalk::WasmEnd JitWalk::emitWasm(uintptr_t pc, uintptr_t* fp, const wasm::Instance* instance, uintptr_t callee) {
  auto isNotOnStack = [&] {
    contradict("a frame of WebAssembly is not on the stack");
    return WasmEnd::Inconsistent;
  };
  // The instance of a frame is on the stack, and cannot be told from what was left behind there.
  if (!trusted_) {
    return isNotOnStack();
  }
  while (!writer_.full()) {
    const wasm::CodeRange* range = nullptr;
    const wasm::CodeBlock* block = wasm::LookupCodeBlock(reinterpret_cast<void*>(pc), &range);
    if (!block || range->isJitEntry()) {
      // Called by JIT code: directly, by an exit frame made for it, or through an entry stub.
      return WasmEnd::CalledByJit;
    }
    if (range->isInterpEntry()) {
      return WasmEnd::Done;
    }
    if (!stack_.contains(*fp, 2 * sizeof(uintptr_t)) || stack_.word(*fp) <= *fp) {
      return isNotOnStack();
    }
    // Who calls what may be another instance's goes on with what it has left in the callee's frame.
    wasm::CallSite site;
    if (callee && holdsWasmFrame(callee) && block->code->lookupCallSite(reinterpret_cast<void*>(pc), &site) &&
        site.mightBeCrossInstance()) {
      instance = reinterpret_cast<wasm::FrameWithInstances*>(callee)->callerInstance();
    }
    uintptr_t returnAddress = stack_.word(*fp + ReturnAddressOffset);
    if (range->isFunction()) {
      if (!instance || &instance->code() != block->code) {
        instance = nearestInstance(*fp);
      }
      if (!instance) {
        return isNotOnStack();
      }
      writer_.appendWasm(*block->code, range->funcIndex(), instance->realm(), {*fp, returnAddress, 0});
    }
    callee = *fp;
    pc = returnAddress;
    *fp = stack_.word(*fp);
  }
  return WasmEnd::Done;
}

Walked JitWalk::fromWasmRegisters(const Position& position) {
  wasm::RegisterState state;
  state.pc = reinterpret_cast<void*>(position.pc);
  state.sp = reinterpret_cast<void*>(position.sp);
  state.fp = reinterpret_cast<void*>(position.fp);
  wasm::UnwindState unwound;
  bool unwoundCaller;
  // In a prologue or an epilogue the caller's frame is given: the callee has no frame, and is left out.
  if (!stack_.contains(position.sp, 2 * sizeof(uintptr_t)) || !stack_.contains(position.fp, 2 * sizeof(uintptr_t)) ||
      !wasm::StartUnwinding(state, &unwound, &unwoundCaller)) {
    return contradict("WebAssembly is between two frames");
  }
  // The register is a function's, not that of the code between functions. One that has no frame yet may be of
  // another instance than its caller.
  const wasm::Instance* instance = nullptr;
  if (!unwoundCaller && unwound.codeRange && unwound.codeRange->isFunction()) {
    instance = reinterpret_cast<const wasm::Instance*>(position.wasmInstance);
  }
  return fromWasm(reinterpret_cast<uintptr_t>(unwound.pc), reinterpret_cast<uintptr_t>(unwound.fp), instance, 0);
}

}  // namespace

bool strobe_has_table_mode() {
  // Some sandboxes forbid it.
  uintptr_t word = 1, copy = 0;
  return ReadSafely(reinterpret_cast<uintptr_t>(&word), &copy) && copy == word;
}

StrobeWalk strobe_walk_table(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack) {
  StackWriter writer(stack);
  if (!cx->activation()) {
    return STROBE_WALK_IDLE;
  }
  // A moved cell must not be followed.
  if (cx->runtime()->heapState() != JS::HeapState::Idle) {
    return STROBE_WALK_COLLECTING;
  }
  // A handler of another signal that was not called on the thread's stack.
  if (stopped->sp < stopped->stack_low || stopped->sp >= stopped->stack_high) {
    stack->contradiction = "the thread is on another stack";
    return STROBE_WALK_INCONSISTENT;
  }

  bool youngest = true;
  // A frame of the interpreter is marked as running in JIT code a moment before and after it does.
  bool enteringJit = false;
  uintptr_t low = stopped->sp;
  for (Activation* activation = cx->activation(); activation && !writer.full(); activation = activation->prev()) {
    if (activation->isInterpreter()) {
      writer.appendInterpreterFrames(cx, activation->asInterpreter(), *stopped, enteringJit);
      enteringJit = false;
    } else {
      // Frames are younger than their activation, which is an object in the C++ frame that entered JIT
      // code.
      auto high = reinterpret_cast<uintptr_t>(activation);
      if (high <= low || high > stopped->stack_high) {
        stack->contradiction = "the activations are out of order";
        return STROBE_WALK_INCONSISTENT;
      }
      size_t before = writer.length();
      JitWalk walk(cx, writer, activation->asJit(), StackMemory(low, high), stopped->stack_high);
      Walked result =
          youngest ? walk.fromRegisters({.pc = stopped->pc,
                                         .sp = stopped->sp,
                                         .fp = stopped->fp,
                                         .leaf = true,
                                         .wasmInstance = stopped->wasm_instance})
                   : walk.fromExit();
      if (result == Walked::Inconsistent) {
        stack->contradiction = walk.contradiction();
        return STROBE_WALK_INCONSISTENT;
      }
      low = high;
      enteringJit = youngest && writer.length() == before;
    }
    youngest = false;
  }
  return STROBE_WALK_STACK;
}

#endif  // __x86_64__
