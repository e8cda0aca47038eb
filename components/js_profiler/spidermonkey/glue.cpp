/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "glue.h"

#include <string.h>

#include "jit/CalleeToken.h"
#include "jit/JitcodeMap.h"
#include "jit/JitFrames.h"
#include "jit/JitRuntime.h"
#include "js/ProfilingFrameIterator.h"
#include "js/ProfilingStack.h"
#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"
#include "vm/Realm.h"
#include "vm/Runtime.h"
#include "vm/Stack.h"
#include "vm/StringType.h"

#include "vm/GeckoProfiler-inl.h"
#include "vm/JSScript-inl.h"

using namespace js;
using jit::CalleeToken;
using jit::CalleeTokenMask;
using jit::CalleeTokenTag;
using jit::JitcodeGlobalEntry;
using jit::JitcodeRegionEntry;
using jit::JitFrameLayout;

namespace {

// Appends frames and their text to a StrobeStack. Used while the walked thread is stopped: what it
// reads are stack slots, malloc'd tables of the engine and tenured GC cells of scripts that are on
// the stack, and it does so only while the heap is idle.
class StackWriter {
  StrobeStack* stack_;

 public:
  explicit StackWriter(StrobeStack* stack) : stack_(stack) {
    stack->frames_length = 0;
    stack->text_length = 0;
    stack->truncated = false;
  }

  bool full() const { return stack_->truncated; }

  void appendScript(JSScript* script) {
    ScriptSource* source = script->scriptSource();
    StrobeFrame frame = describe(source, script->realm(), script->toStringStart(), script->toStringEnd(),
                                 script->lineno(), script->column().oneOriginValue());
    if (!append(frame)) {
      return;
    }
    StrobeFrame& added = stack_->frames[stack_->frames_length - 1];
    if (reuseText(added)) {
      return;
    }
    bool fits = true;
    if (JSFunction* function = script->function()) {
      // Guessed names ("obj.method<") are for stack traces; a profile shows the function's own.
      if (!function->hasGuessedAtom()) {
        if (JSAtom* atom = function->rawAtom()) {
          fits = appendAtom(atom, &added.name);
        }
      }
    }
    fits &= appendResource(source, &added.resource);
    if (!fits) {
      dropText(added);
    }
  }

  // A function that Ion inlined. Its JSScript may be gone; the table entry has what identifies it,
  // and a label "name (file:line:column)".
  void appendInlined(const jit::IonScriptData& data, const char* label, JS::Realm* realm) {
    ScriptSource* source = data.scriptKey.scriptSource;
    StrobeFrame frame = describe(source, realm, data.scriptKey.toStringStart, data.scriptKey.toStringEnd, data.lineno,
                                 data.column.oneOriginValue());
    if (!append(frame)) {
      return;
    }
    StrobeFrame& added = stack_->frames[stack_->frames_length - 1];
    if (reuseText(added)) {
      return;
    }
    bool fits = appendBytes(label, nameLengthInLabel(label, source, data), STROBE_TEXT_UTF8, 1, &added.name);
    fits &= appendResource(source, &added.resource);
    if (!fits) {
      dropText(added);
    }
  }

 private:
  static StrobeFrame describe(ScriptSource* source, JS::Realm* realm, uint32_t start, uint32_t end, uint32_t line,
                              uint32_t column) {
    StrobeFrame frame = {};
    frame.realm = reinterpret_cast<uintptr_t>(realm);
    frame.source_id = source->id();
    frame.source_start = start;
    frame.source_end = end;
    frame.line = line;
    frame.column = column;
    if (source->mutedErrors()) {
      frame.flags |= STROBE_FRAME_MUTED;
    }
    // Every page's scripts have URLs for file names, which this is none.
    if (const char* filename = source->filename(); filename && strcmp(filename, "self-hosted") == 0) {
      frame.flags |= STROBE_FRAME_SELF_HOSTED;
    }
    return frame;
  }

  bool append(const StrobeFrame& frame) {
    if (stack_->frames_length == stack_->frames_capacity) {
      stack_->truncated = true;
      return false;
    }
    stack_->frames[stack_->frames_length++] = frame;
    return true;
  }

  static bool sameFunction(const StrobeFrame& a, const StrobeFrame& b) {
    return a.source_id == b.source_id && a.source_start == b.source_start && a.source_end == b.source_end &&
           a.line == b.line && a.column == b.column;
  }

  // Recursion repeats a few functions: their text is written once.
  bool reuseText(StrobeFrame& frame) {
    constexpr size_t Lookback = 8;
    size_t self = stack_->frames_length - 1;
    size_t oldest = self > Lookback ? self - Lookback : 0;
    for (size_t i = self; i-- > oldest;) {
      const StrobeFrame& earlier = stack_->frames[i];
      if (sameFunction(earlier, frame)) {
        frame.name = earlier.name;
        frame.resource = earlier.resource;
        frame.flags = earlier.flags;
        return true;
      }
    }
    return false;
  }

  static void dropText(StrobeFrame& frame) {
    frame.name = {};
    frame.resource = {};
    frame.flags |= STROBE_FRAME_NO_TEXT;
  }

  bool appendBytes(const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment, StrobeText* text) {
    size_t offset = (stack_->text_length + alignment - 1) / alignment * alignment;
    if (length > stack_->text_capacity || offset > stack_->text_capacity - length) {
      return false;
    }
    memcpy(stack_->text + offset, bytes, length);
    stack_->text_length = offset + length;
    *text = {uint32_t(offset), uint32_t(length), encoding};
    return true;
  }

  bool appendAtom(JSAtom* atom, StrobeText* text) {
    JS::AutoCheckCannotGC nogc;
    if (atom->hasLatin1Chars()) {
      return appendBytes(atom->latin1Chars(nogc), atom->length(), STROBE_TEXT_LATIN1, 1, text);
    }
    return appendBytes(atom->twoByteChars(nogc), atom->length() * sizeof(char16_t), STROBE_TEXT_UTF16,
                       alignof(char16_t), text);
  }

  bool appendResource(ScriptSource* source, StrobeText* text) {
    // eval and new Function have an introducer, whose URL says nothing of where the code stands.
    const char* filename = source->filename();
    if (!filename || source->hasIntroducerFilename()) {
      return true;
    }
    return appendBytes(filename, strlen(filename), STROBE_TEXT_UTF8, 1, text);
  }

  static size_t decimalDigits(uint32_t number) {
    size_t digits = 1;
    while (number >= 10) {
      number /= 10;
      digits++;
    }
    return digits;
  }

  // The label ends in " (file:line:column)", with the file name cut at a limit, after the name of a
  // named function; an anonymous one's is "file:line:column". See allocProfileString.
  static size_t nameLengthInLabel(const char* label, ScriptSource* source, const jit::IonScriptData& data) {
    constexpr size_t MaxFilenameLength = 200;
    const char* filename = source->filename() ? source->filename() : "(null)";
    size_t position = strnlen(filename, MaxFilenameLength) + strlen(":") + decimalDigits(data.lineno) + strlen(":") +
                      decimalDigits(data.column.oneOriginValue());
    size_t suffix = strlen(" (") + position + strlen(")");
    size_t length = strlen(label);
    if (length < suffix || label[length - 1] != ')') {
      return 0;
    }
    return length - suffix;
  }
};

JSScript* scriptOfCalleeToken(CalleeToken token) {
  switch (CalleeTokenTag(uintptr_t(token) & ~CalleeTokenMask)) {
    case jit::CalleeToken_Function:
    case jit::CalleeToken_FunctionConstructing: {
      auto* function = reinterpret_cast<JSFunction*>(uintptr_t(token) & CalleeTokenMask);
      // A JIT frame's function has bytecode; anything else is no callee token.
      if (!function || !function->hasBaseScript() || !function->baseScript()->hasBytecode()) {
        return nullptr;
      }
      return function->nonLazyScript();
    }
    case jit::CalleeToken_Script:
      return reinterpret_cast<JSScript*>(uintptr_t(token) & CalleeTokenMask);
  }
  return nullptr;
}

// The functions that are inlined at `address`, leaf first, without the outermost.
void appendInlinedFunctions(const JitcodeGlobalEntry* entry, void* address, JS::Realm* realm, StackWriter& writer) {
  if (entry->isIonIC()) {
    address = entry->asIonIC().rejoinAddr();
    entry = &entry->asIonIC().ionEntry();
  }
  if (!entry->isIon() || !entry->containsPointer(address)) {
    return;
  }
  const jit::IonEntry& ion = entry->asIon();
  uint32_t offset = uint32_t(static_cast<uint8_t*>(address) - static_cast<uint8_t*>(ion.nativeStartAddr()));
  JitcodeRegionEntry region = ion.regionTable()->regionEntry(ion.regionTable()->findRegionEntry(offset));
  uint32_t inlined = region.scriptDepth() - 1;
  JitcodeRegionEntry::ScriptPcIterator functions = region.scriptPcIterator();
  for (uint32_t i = 0; i < inlined && functions.hasMore() && !writer.full(); i++) {
    uint32_t scriptIndex, pcOffset;
    functions.readNext(&scriptIndex, &pcOffset);
    // Inlining across realms is refused by the compiler, so all are in the outermost one's.
    writer.appendInlined(ion.getScriptData(scriptIndex), ion.getStr(scriptIndex), realm);
  }
}

// One frame of the stock iterator: a Baseline or Ion frame with what is inlined into it.
bool appendJitFrame(JSContext* cx, const JS::ProfilingFrameIterator& frames, StackWriter& writer) {
  auto* layout = static_cast<JitFrameLayout*>(frames.stackAddress());
  JSScript* script = scriptOfCalleeToken(layout->calleeToken());
  if (!script) {
    return false;
  }
  // Nothing for code compiled before the mode was on: the function is known, its inlinees are not.
  if (auto physical = frames.getPhysicalFrameWithoutLabel();
      physical && physical->kind == JS::ProfilingFrameIterator::Frame_Ion) {
    void* address = physical->returnAddress();
    JitcodeGlobalEntry* entry = cx->runtime()->jitRuntime()->getJitcodeGlobalTable()->lookup(address);
    // Entries may outlive their code.
    if (entry && entry->hasJitcode()) {
      appendInlinedFunctions(entry, address, script->realm(), writer);
    }
  }
  if (!writer.full()) {
    writer.appendScript(script);
  }
  return true;
}

void appendInterpreterFrames(InterpreterActivation* activation, StackWriter& writer) {
  for (InterpreterFrame* frame = activation->current(); frame && !writer.full(); frame = frame->prev()) {
    // A frame that runs in JIT code is among the frames of the JIT activation above.
    if (!frame->runningInJit()) {
      writer.appendScript(frame->script());
    }
    if (frame == activation->entryFrame()) {
      break;
    }
  }
}

}  // namespace

bool strobe_is_idle(JSContext* cx) { return !cx->activation(); }

StrobeWalk strobe_walk_stock(JSContext* cx, const StrobeRegisters* registers, uintptr_t stack_low,
                             uintptr_t stack_high, StrobeStack* stack) {
  StackWriter writer(stack);
  if (!cx->activation()) {
    return STROBE_WALK_IDLE;
  }
  JSRuntime* runtime = cx->runtime();
  // A moved cell must not be followed, and the tables change while sampling is suppressed.
  if (!runtime->geckoProfiler().enabled() || !cx->isProfilerSamplingEnabled() ||
      runtime->heapState() != JS::HeapState::Idle) {
    return STROBE_WALK_FORBIDDEN;
  }
  auto onStack = [&](const void* address) {
    return uintptr_t(address) >= stack_low && uintptr_t(address) < stack_high;
  };
  if (!onStack(reinterpret_cast<void*>(registers->sp))) {
    return STROBE_WALK_INCONSISTENT;
  }

  JS::ProfilingFrameIterator::RegisterState state;
  state.pc = reinterpret_cast<void*>(registers->pc);
  state.sp = reinterpret_cast<void*>(registers->sp);
  state.fp = reinterpret_cast<void*>(registers->fp);
  JS::ProfilingFrameIterator jitFrames(cx, state);

  for (Activation* activation = cx->activation(); activation && !writer.full(); activation = activation->prev()) {
    if (activation->isInterpreter()) {
      appendInterpreterFrames(activation->asInterpreter(), writer);
      continue;
    }
    // The iterator runs through all JIT activations; a frame is younger than its activation, which
    // is an object in the C++ frame that entered JIT code.
    while (!jitFrames.done() && jitFrames.stackAddress() < static_cast<void*>(activation) && !writer.full()) {
      if (!onStack(jitFrames.stackAddress())) {
        return STROBE_WALK_INCONSISTENT;
      }
      if (jitFrames.isJSJit() && !appendJitFrame(cx, jitFrames, writer)) {
        return STROBE_WALK_INCONSISTENT;
      }
      ++jitFrames;
    }
  }
  return STROBE_WALK_STACK;
}

ProfilingStack* strobe_install_stock(JSContext* cx) {
  auto* stack = js_new<ProfilingStack>();
  if (stack) {
    SetContextProfilingStack(cx, stack);
  }
  return stack;
}

void strobe_set_stock_enabled(JSContext* cx, bool enabled) {
  // The code that the walk would look at is being discarded.
  AutoSuppressProfilerSampling suppressSampling(cx);
  EnableContextProfilingStack(cx, enabled);
}

void strobe_uninstall_stock(JSContext* cx, ProfilingStack* stack) {
  strobe_set_stock_enabled(cx, false);
  SetContextProfilingStack(cx, nullptr);
  js_delete(stack);
}

uint64_t strobe_current_realm(JSContext* cx) { return reinterpret_cast<uintptr_t>(cx->realm()); }
