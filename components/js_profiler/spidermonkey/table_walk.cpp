/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The walk from the registers of a stopped thread. The code that it walks through need not do anything for it.
//
// JavaScript runs in activations, the youngest first. An interpreter activation lists its frames; those of a JIT
// activation are linked (jit_frames.cpp). Frames of C++ and Rust code are between activations, and between the
// youngest frame and the place where the thread was stopped (native_frames.cpp). A built-in is running if and only if
// one of these frames is in its code.
//
// The walk believes nothing and changes nothing: see "The rule of the walk" in docs/architecture.md. Each function of
// the engine that it calls is listed in walk_calls.toml, with the reason why that is safe at any instruction.
//
// A stack that contradicts itself is counted as inconsistent and not returned.

#include "jit/JitFrames.h"
#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/JitActivation.h"
#include "vm/Runtime.h"
#include "wasm/WasmCode.h"
#include "wasm/WasmProcess.h"
#include "wasm/WasmStacks.h"

#include "jit_code.h"
#include "jit_frames.h"
#include "last_walk.h"
#include "native_frames.h"
#include "stack_memory.h"
#include "stack_writer.h"

using namespace js;
using strobe::CacheLine;
using strobe::ContinuationAt;
using strobe::Cost;
using strobe::HandlersOnOwnStack;
using strobe::IsOnOwnStack;
using strobe::JitCode;
using strobe::JitCodeKind;
using strobe::JitFrames;
using strobe::LastWalk;
using strobe::NativeFrames;
using strobe::StackMemory;
using strobe::StackWriter;
using strobe::Walked;
using strobe::Work;

namespace {

// Goes up native frames, and JIT code that links its frames as they do, until it reaches JavaScript's code or `end`.
NativeFrames::At GoUpToJavaScript(JSContext* cx, NativeFrames& frames, JitCode& code, uintptr_t end, bool youngest) {
  frames.forgetSteps();
  for (;;) {
    NativeFrames::At at = frames.goUp(end);
    if (at != NativeFrames::At::Jit) {
      return at;
    }
    uintptr_t pc = frames.registers().pc;
    if (youngest && !frames.isLeaf()) {
      code.noteYoungestCaller(pc);
    }
    if (!code.usable()) {
      return NativeFrames::At::Lost;
    }
    JitCodeKind kind = code.kind(pc, code.entry(pc));
    bool isLinked = kind == JitCodeKind::Enter ||
                    (kind == JitCodeKind::Linked && !wasm::LookupCodeBlock(reinterpret_cast<void*>(pc)));
    if (!isLinked) {
      return at;
    }
    if (!frames.leaveLinkedCode()) {
      // The code that calls a built-in of WebAssembly links its frame to one on a continuation. Its activation has that frame.
      return ContinuationAt(cx, frames.registers().fp) ? at : NativeFrames::At::Lost;
    }
  }
}

// Makes the processor load what each walk reads first, while it does other things.
void PrefetchLeaf(const StrobeStopped& stopped, const JitCode& code, const StrobeStack& stack) {
  code.prefetch(stopped.pc);
  for (uintptr_t begin : {stopped.sp, stopped.fp, reinterpret_cast<uintptr_t>(stack.frames)}) {
    __builtin_prefetch(reinterpret_cast<const void*>(begin));
    __builtin_prefetch(reinterpret_cast<const void*>(begin + CacheLine));
  }
}

void AppendNatives(NativeFrames& frames, StackWriter& writer) {
  // More than natives call each other in practice. With more of them, the youngest are left out.
  constexpr size_t MostNatives = 8;
  StrobeNative found[MostNatives];
  for (size_t i = frames.findNatives(found, MostNatives); i-- > 0;) {
    writer.appendNative(found[i]);
  }
}

// Whether a collection of garbage is changing what the walk follows: scripts, their functions, their code and its table.
//
// A collection of the whole heap sweeps the table, and compaction moves the cells. A minor collection moves a callee that is in
// the nursery. It copies the callee, overwrites the first two words of the old one, and then stores the new address in the
// frame. The walk reads other words, which both have: the function's flags, its script and its native. It reads more of a
// script, of its source object and of the function that it was made with, and none of these is ever in the nursery
// (JSFunction::create with gc::Heap::Tenured, JSCLASS_FOREGROUND_FINALIZE). All other parts of a collection mark cells, and
// free those that nothing leads to. What earlier walks have found of those is not used after the table of code was swept,
// which comes first.
bool IsWalkedMemoryCollected(JSContext* cx) {
  JSRuntime* runtime = cx->runtime();
  JS::HeapState state = runtime->heapState();
  return state != JS::HeapState::Idle && state != JS::HeapState::MinorCollecting &&
         (runtime->gc.isHeapCompacting() || !cx->isProfilerSamplingEnabled());
}

// Whether an address is in a WebAssembly function.
bool IsInWasmFunction(uintptr_t pc) {
  const wasm::CodeRange* range = nullptr;
  return wasm::LookupCodeBlock(reinterpret_cast<void*>(pc), &range) && range && range->isFunction();
}

}  // namespace

bool strobe_is_idle(JSContext* cx) {
  // The context's thread may be writing the field.
  auto* field = reinterpret_cast<const char*>(cx) + JSContext::offsetOfActivation();
  return !__atomic_load_n(reinterpret_cast<Activation* const*>(field), __ATOMIC_RELAXED);
}

StrobeWalk strobe_walk_table(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack) {
  StackWriter writer(stack, cx->realm());
  if (!cx->activation()) {
    return STROBE_WALK_IDLE;
  }
  if (IsWalkedMemoryCollected(cx)) {
    return STROBE_WALK_COLLECTING;
  }
  Work& work = writer.work();
  StackMemory own(stopped->stack_low, stopped->stack_high);
  uintptr_t low = stopped->sp;
  const wasm::ContStack* continuation = nullptr;
  if (!IsOnOwnStack(*stopped)) {
    continuation = ContinuationAt(cx, stopped->sp);
    low = HandlersOnOwnStack(cx, continuation, own, work);
    if (!low) {
      stack->contradiction = continuation ? "a continuation is being suspended" : "the thread is on another stack";
      return STROBE_WALK_ELSEWHERE;
    }
  }
  own = StackMemory(low, stopped->stack_high);

  JitCode code(cx, stack->known);
  LastWalk last(*stack, code);
  PrefetchLeaf(*stopped, code, *stack);
  NativeFrames natives(stack->native_code, *stopped,
                       continuation ? StackMemory(stopped->sp, continuation->stackBase()) : own, work);
  bool youngest = true;
  // A frame of the interpreter is marked as running in JIT code from a moment before it enters that code until a
  // moment after it has left it.
  bool enteringJit = false;
  for (Activation* activation = cx->activation(); activation && !writer.full(); activation = activation->prev()) {
    // Frames are younger than their activation, which is an object in the C++ frame that entered it.
    auto high = reinterpret_cast<uintptr_t>(activation);
    if (high <= low || high > stopped->stack_high) {
      stack->contradiction = "the activations are out of order";
      return STROBE_WALK_INCONSISTENT;
    }
    NativeFrames::At at = GoUpToJavaScript(cx, natives, code, continuation ? continuation->stackBase() : high, youngest);
    if (continuation && (at != NativeFrames::At::Jit || !activation->isJit())) {
      stack->contradiction = "WebAssembly has not called what runs on the stack of a continuation";
      return STROBE_WALK_ELSEWHERE;
    }
    if (at == NativeFrames::At::Lost) {
      if (work.isDone()) {
        stack->contradiction = "the stack is too deep";
        return STROBE_WALK_TOO_LONG;
      }
      // It is known neither where JIT code was left nor which built-ins are running.
      stack->contradiction =
          code.usable() ? "the chain of native frames is broken" : "the engine is changing its tables of code";
      return STROBE_WALK_INCONSISTENT;
    }
    AppendNatives(natives, writer);
    if (activation->isInterpreter()) {
      writer.appendInterpreterFrames(cx, activation->asInterpreter(), enteringJit);
      enteringJit = false;
    } else {
      if (!code.usable()) {
        stack->contradiction = "the engine is changing its tables of code";
        return STROBE_WALK_INCONSISTENT;
      }
      size_t before = writer.length();
      JitFrames frames(cx, writer, activation->asJit(), StackMemory(low, high), code, last, stack->native_code);
      frames.enter(continuation);
      Walked walked = Walked::Done;
      // While a trap is being handled, the function is still where it trapped, although its exit frame may have been
      // noted already.
      bool hasLeftWasm = frames.hasWasmExit() && !IsInWasmFunction(stopped->pc);
      // Otherwise the activation has not been entered yet, or has been left already.
      if (at == NativeFrames::At::Jit) {
        walked = !youngest || hasLeftWasm
                     ? frames.fromExit()
                     : frames.fromRegisters(natives.registers(), natives.isLeaf(), *stopped);
      }
      if (walked == Walked::Inconsistent) {
        stack->contradiction = frames.contradiction();
        return frames.failure();
      }
      if (frames.hasEntry()) {
        natives.goOnFrom(frames.entry(), own);
      }
      continuation = nullptr;
      enteringJit = youngest && writer.length() == before;
    }
    low = high;
    youngest = false;
  }
  if (work.isDone()) {
    stack->contradiction = "the stack is too deep";
    return STROBE_WALK_TOO_LONG;
  }
  last.end(stack);
  return STROBE_WALK_STACK;
}

// build.rs defines these before and after the code of the walk.
void strobe_walk_code_begin();
void strobe_walk_code_end();

size_t strobe_prefetch(const uintptr_t* addresses, size_t length) {
  for (size_t i = 0; i < length; i++) {
    __builtin_prefetch(reinterpret_cast<const void*>(addresses[i]));
  }
  auto begin = reinterpret_cast<uintptr_t>(strobe_walk_code_begin);
  auto end = reinterpret_cast<uintptr_t>(strobe_walk_code_end);
  // If there is more code in between, the linker has moved something.
  constexpr uintptr_t MostCode = 64 * 1024;
  if (end - begin > MostCode) {
    return 0;
  }
  for (uintptr_t line = begin; line < end; line += CacheLine) {
    // The second level of the caches holds code, too.
    constexpr int SecondLevel = 2;
    __builtin_prefetch(reinterpret_cast<const void*>(line), 0, SecondLevel);
  }
  return end - begin;
}
