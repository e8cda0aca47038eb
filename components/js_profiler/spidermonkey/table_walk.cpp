/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The walk from the registers of a stopped thread, through frames that know nothing of it.
//
// JavaScript runs in activations, the youngest first. An interpreter activation lists its frames; those of a JIT
// activation are linked (jit_frames.cpp). Between them, and between the youngest frame and where the thread was
// stopped, are frames of C++ and Rust code (native_frames.cpp). A built-in is running if and only if one of them
// is in its code.
//
// The walk believes nothing and changes nothing: see "The rule of the walk" in docs/architecture.md. Each function of the
// engine that it calls stands in walk_calls.toml, with the reason why that is safe at any instruction.
//
// Anything that contradicts itself is counted as inconsistent, and no stack is given.

#ifdef __x86_64__

#  include "jit/JitFrames.h"
#  include "vm/Activation.h"
#  include "vm/JSContext.h"
#  include "vm/JitActivation.h"
#  include "vm/Runtime.h"
#  include "wasm/WasmCode.h"
#  include "wasm/WasmProcess.h"

#  include "jit_code.h"
#  include "jit_frames.h"
#  include "native_frames.h"
#  include "stack_memory.h"
#  include "stack_writer.h"

using namespace js;
using strobe::JitCode;
using strobe::JitCodeKind;
using strobe::JitFrames;
using strobe::NativeFrames;
using strobe::StackMemory;
using strobe::StackWriter;
using strobe::Walked;

namespace {

// Goes up native frames, and JIT code that links its frames as they do, to JavaScript's code or to `end`. `oldest`
// is the oldest native of those frames.
NativeFrames::At GoUpToJavaScript(NativeFrames& frames, JitCode& code, uintptr_t end, bool youngest,
                                  NativeFrames::Found* oldest) {
  *oldest = {};
  for (;;) {
    NativeFrames::Found found;
    NativeFrames::At at = frames.goUp(end, &found);
    if (found.native) {
      *oldest = found;
    }
    if (at == NativeFrames::At::Jit) {
      uintptr_t pc = frames.registers().pc;
      if (youngest && !frames.isLeaf()) {
        code.noteYoungestCaller(pc);
      }
      if (code.usable()) {
        JitCodeKind kind = code.kind(pc, code.entry(pc));
        bool isLinked = kind == JitCodeKind::Enter ||
                        (kind == JitCodeKind::Linked && !wasm::LookupCodeBlock(reinterpret_cast<void*>(pc)));
        if (!isLinked) {
          return at;
        }
        if (frames.leaveLinkedCode()) {
          continue;
        }
      }
      frames.lose();
      at = NativeFrames::At::Lost;
    }
    if (at == NativeFrames::At::Lost) {
      *oldest = {};
    }
    return at;
  }
}

// Whether the thread was stopped in a function of WebAssembly.
bool IsInWasmFunction(uintptr_t pc) {
  const wasm::CodeRange* range = nullptr;
  return wasm::LookupCodeBlock(reinterpret_cast<void*>(pc), &range) && range && range->isFunction();
}

}  // namespace

StrobeWalk strobe_walk_table(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack) {
  StackWriter writer(stack, cx->realm());
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

  JitCode code(cx);
  NativeFrames natives(stack->native_code, *stopped);
  bool youngest = true;
  // A frame of the interpreter is marked as running in JIT code a moment before and after it does.
  bool enteringJit = false;
  uintptr_t low = stopped->sp;
  for (Activation* activation = cx->activation(); activation && !writer.full(); activation = activation->prev()) {
    // Frames are younger than their activation, which is an object in the C++ frame that entered it.
    auto high = reinterpret_cast<uintptr_t>(activation);
    if (high <= low || high > stopped->stack_high) {
      stack->contradiction = "the activations are out of order";
      return STROBE_WALK_INCONSISTENT;
    }
    NativeFrames::Found native;
    NativeFrames::At at = GoUpToJavaScript(natives, code, high, youngest, &native);
    if (youngest && at == NativeFrames::At::Lost) {
      // Neither is known where JIT code was left nor which built-in runs.
      stack->contradiction =
          code.usable() ? "the chain of native frames is broken" : "the engine is changing its tables of code";
      return STROBE_WALK_INCONSISTENT;
    }
    if (native.native) {
      writer.appendNative(*native.native, native.place);
    }
    if (activation->isInterpreter()) {
      writer.appendInterpreterFrames(cx, activation->asInterpreter(), enteringJit);
      enteringJit = false;
    } else {
      if (!code.usable()) {
        stack->contradiction = "the engine is changing its tables of code";
        return STROBE_WALK_INCONSISTENT;
      }
      size_t before = writer.length();
      JitFrames frames(cx, writer, activation->asJit(), StackMemory(low, high), code, stack->native_code);
      Walked walked = Walked::Done;
      // While a trap is being handled a function is where it trapped, though its frame may have been noted already.
      bool hasLeftWasm = frames.hasWasmExit() && !IsInWasmFunction(stopped->pc);
      if (!youngest || hasLeftWasm) {
        walked = frames.fromExit();
      } else if (at == NativeFrames::At::Jit) {
        walked = frames.fromRegisters(natives.registers(), natives.isLeaf(), stopped->wasm_instance);
      }
      if (walked == Walked::Inconsistent) {
        stack->contradiction = frames.contradiction();
        return STROBE_WALK_INCONSISTENT;
      }
      if (frames.hasEntry()) {
        natives.goOnFrom(frames.entry());
      } else if (at != NativeFrames::At::End) {
        natives.lose();
      }
      enteringJit = youngest && writer.length() == before;
    }
    low = high;
    youngest = false;
  }
  return STROBE_WALK_STACK;
}

#endif  // __x86_64__
