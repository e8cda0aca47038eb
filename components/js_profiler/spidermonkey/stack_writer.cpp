/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "stack_writer.h"

#include <string.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "mozilla/HashFunctions.h"

#include "builtin/Eval.h"
#include "vm/Activation.h"
#include "vm/BoundFunctionObject.h"
#include "vm/BytecodeUtil.h"
#include "vm/Realm.h"
#include "vm/Stack.h"
#include "vm/StringType.h"
#include "wasm/WasmCode.h"

#include "vm/JSScript-inl.h"

#include "interpreter_frames.h"

using namespace js;
using jit::CalleeToken;
using jit::CalleeTokenMask;
using jit::CalleeTokenTag;

namespace strobe {

static StrobeFrame DescribeScript(ScriptSource* source, JS::Realm* realm, uint32_t start, uint32_t end, uint32_t line,
                                  uint32_t column, const StrobeFramePlace& place) {
  StrobeFrame frame = {};
  frame.function.realm = reinterpret_cast<uintptr_t>(realm);
  frame.function.source_id = source->id();
  frame.function.source_start = start;
  frame.function.source_end = end;
  frame.function.line = line;
  frame.function.column = column;
  frame.place = place;
  if (source->mutedErrors()) {
    frame.flags |= STROBE_FRAME_MUTED;
  }
  // Every page's scripts have URLs for file names, which this is none.
  if (const char* filename = source->filename(); filename && strcmp(filename, "self-hosted") == 0) {
    frame.function.kind = STROBE_FRAME_SELF_HOSTED;
  }
  return frame;
}

static size_t DecimalDigits(uint32_t number) {
  size_t digits = 1;
  while (number >= 10) {
    number /= 10;
    digits++;
  }
  return digits;
}

// The label ends in " (file:line:column)", with the file name cut at a limit, after the name of a
// named function; an anonymous one's is "file:line:column". See allocProfileString.
static size_t NameLengthInLabel(const char* label, ScriptSource* source, const jit::IonScriptData& data) {
  constexpr size_t MaxFilenameLength = 200;
  const char* filename = source->filename() ? source->filename() : "(null)";
  size_t position = strnlen(filename, MaxFilenameLength) + strlen(":") + DecimalDigits(data.lineno) + strlen(":") +
                    DecimalDigits(data.column.oneOriginValue());
  size_t suffix = strlen(" (") + position + strlen(")");
  size_t length = strlen(label);
  if (length < suffix || label[length - 1] != ')') {
    return 0;
  }
  return length - suffix;
}

static bool SameFunction(const StrobeFunctionKey& a, const StrobeFunctionKey& b) {
  return a.kind == b.kind && a.realm == b.realm && a.source_id == b.source_id && a.source_start == b.source_start &&
         a.source_end == b.source_end && a.line == b.line && a.column == b.column;
}

StackWriter::StackWriter(StrobeStack* stack) : stack_(stack) {
  stack->frames_length = 0;
  stack->text_length = 0;
  stack->truncated = false;
}

void StackWriter::appendScript(JSScript* script, const StrobeFramePlace& place) {
  ScriptSource* source = script->scriptSource();
  StrobeFrame* frame =
      append(DescribeScript(source, script->realm(), script->toStringStart(), script->toStringEnd(), script->lineno(),
                            script->column().oneOriginValue(), place));
  if (!frame || reuseText(*frame)) {
    return;
  }
  bool fits = true;
  if (JSFunction* function = script->function()) {
    // Guessed names ("obj.method<") are for stack traces; a profile shows the function's own.
    if (!function->hasGuessedAtom()) {
      if (JSAtom* atom = function->rawAtom()) {
        fits = appendAtom(atom, &frame->name);
      }
    }
  }
  fits &= appendResource(source, &frame->resource);
  if (!fits) {
    dropText(*frame);
  }
}

void StackWriter::appendInlined(const jit::IonScriptData& data, const char* label, JS::Realm* realm,
                                const StrobeFramePlace& place) {
  ScriptSource* source = data.scriptKey.scriptSource;
  StrobeFrame* frame = append(DescribeScript(source, realm, data.scriptKey.toStringStart, data.scriptKey.toStringEnd,
                                             data.lineno, data.column.oneOriginValue(), place));
  if (!frame || reuseText(*frame)) {
    return;
  }
  bool fits = appendBytes(label, NameLengthInLabel(label, source, data), STROBE_TEXT_UTF8, 1, &frame->name);
  fits &= appendResource(source, &frame->resource);
  if (!fits) {
    dropText(*frame);
  }
}

static StrobeFrame DescribeNative(JS::Realm* realm, const StrobeFramePlace& place) {
  StrobeFrame frame = {};
  frame.function.kind = STROBE_FRAME_NATIVE;
  frame.function.realm = reinterpret_cast<uintptr_t>(realm);
  frame.place = place;
  return frame;
}

// The name of something that is called: a function's own, or the property of a DOM constructor, which is
// no function of the engine.
static JSAtom* NameOfNative(JSObject* callee) {
  if (callee->is<JSFunction>()) {
    auto* function = &callee->as<JSFunction>();
    // A direct eval calls no function; in some tiers it looks as if it did.
    if (!function->isBuiltinNative() || function->native() == IndirectEval || function->hasGuessedAtom()) {
      return nullptr;
    }
    return function->rawAtom();
  }
  if (!callee->is<NativeObject>() || callee->is<BoundFunctionObject>() || !callee->getClass()->getConstruct()) {
    return nullptr;
  }
  auto* object = &callee->as<NativeObject>();
  auto property = object->lookupPure(object->runtimeFromAnyThread()->commonNames->name);
  if (property.isNothing() || !property->isDataProperty()) {
    return nullptr;
  }
  const JS::Value& name = object->getSlot(property->slot());
  return name.isString() && name.toString()->isAtom() ? &name.toString()->asAtom() : nullptr;
}

void StackWriter::appendNative(JSObject* callee, const StrobeFramePlace& place) {
  JSAtom* name = NameOfNative(callee);
  if (!name) {
    return;
  }
  // The engine makes the name of an accessor when a script asks for it.
  const char* prefix = "";
  if (callee->is<JSFunction>() && callee->as<JSFunction>().isAccessorWithLazyName()) {
    prefix = callee->as<JSFunction>().isGetter() ? "get " : "set ";
  }
  StrobeFrame native = DescribeNative(callee->nonCCWRealm(), place);
  native.function.source_start = name->hash();
  native.function.source_end = mozilla::HashString(prefix);
  StrobeFrame* frame = append(native);
  if (frame && !appendAtom(name, &frame->name, prefix)) {
    dropText(*frame);
  }
}

void StackWriter::appendNative(const char* name, JS::Realm* realm, const StrobeFramePlace& place) {
  StrobeFrame native = DescribeNative(realm, place);
  // Apart from those with a function, whose second number is that of a prefix.
  native.function.source_start = mozilla::HashString(name);
  native.function.source_id = 1;
  StrobeFrame* frame = append(native);
  if (frame && !appendBytes(name, strlen(name), STROBE_TEXT_UTF8, 1, &frame->name)) {
    dropText(*frame);
  }
}

void StackWriter::appendWasm(const wasm::Code& code, uint32_t funcIndex, JS::Realm* realm,
                             const StrobeFramePlace& place) {
  const wasm::CodeMetadata& metadata = code.codeMeta();
  if (metadata.isSelfHostedModule()) {
    return;
  }
  StrobeFrame wasm = {};
  wasm.function.kind = STROBE_FRAME_WASM;
  wasm.function.realm = reinterpret_cast<uintptr_t>(realm);
  wasm.function.source_id = funcIndex;
  wasm.place = place;

  char byIndex[32];
  const char* name = byIndex;
  size_t nameLength = 0;
  const auto& section = metadata.nameSection;
  if (const auto* payload = code.codeTailMeta().nameSectionPayload.get();
      payload && section && funcIndex < section->funcNames.length()) {
    const wasm::Name& given = section->funcNames[funcIndex];
    if (given.length && size_t(given.offsetInNamePayload) + given.length <= payload->vector.length()) {
      name = reinterpret_cast<const char*>(payload->vector.begin()) + given.offsetInNamePayload;
      nameLength = given.length;
    }
  }
  if (!nameLength) {
    // Little stack is used, and no locale.
    constexpr std::string_view before = "wasm-function[";
    char* digits = std::copy(before.begin(), before.end(), byIndex);
    char* end = std::to_chars(digits, std::end(byIndex), funcIndex).ptr;
    *end++ = ']';
    nameLength = size_t(end - byIndex);
  }
  // A module that came from no URL has a text "URL line N > WebAssembly.Module" of what made it.
  const char* url = metadata.scriptedCaller().source.get();
  size_t urlLength = url ? strcspn(url, " ") : 0;
  // Two modules may have the same URL, and a module may be where another was before.
  wasm.function.source_start = mozilla::HashBytes(name, nameLength);
  wasm.function.source_end = mozilla::HashBytes(url, urlLength);
  StrobeFrame* frame = append(wasm);
  if (frame && !(appendBytes(name, nameLength, STROBE_TEXT_UTF8, 1, &frame->name) &&
                 appendBytes(url, urlLength, STROBE_TEXT_UTF8, 1, &frame->resource))) {
    dropText(*frame);
  }
}

void StackWriter::appendInlinedFunctions(const jit::IonEntry& entry, const void* address, JS::Realm* realm,
                                         const StrobeFramePlace& place) {
  auto offset = uint32_t(static_cast<const uint8_t*>(address) - static_cast<uint8_t*>(entry.nativeStartAddr()));
  const jit::JitcodeIonTable* table = entry.regionTable();
  jit::JitcodeRegionEntry region = table->regionEntry(table->findRegionEntry(offset));
  uint32_t inlined = region.scriptDepth() - 1;
  jit::JitcodeRegionEntry::ScriptPcIterator functions = region.scriptPcIterator();
  for (uint32_t i = 0; i < inlined && functions.hasMore() && !full(); i++) {
    uint32_t scriptIndex, pcOffset;
    functions.readNext(&scriptIndex, &pcOffset);
    // Inlining across realms is refused by the compiler, so all are in the outermost one's.
    appendInlined(entry.getScriptData(scriptIndex), entry.getStr(scriptIndex), realm, place);
  }
}

// The accessor that `object` has or inherits under a name; null if it has none, or a look-up that
// changes nothing cannot tell.
static JSObject* AccessorOf(JSObject* object, PropertyName* name, bool setter) {
  for (; object && object->is<NativeObject>(); object = object->staticPrototype()) {
    auto* holder = &object->as<NativeObject>();
    if (auto property = holder->lookupPure(name)) {
      if (!property->isAccessorProperty()) {
        return nullptr;
      }
      return setter ? holder->getSetter(*property) : holder->getGetter(*property);
    }
    if (object->hasDynamicPrototype()) {
      return nullptr;
    }
  }
  return nullptr;
}

// What a frame of the C++ interpreter is calling, if it is calling something.
static JSObject* CalledObject(InterpreterRegs& regs) {
  if (!regs.pc || !regs.sp) {
    return nullptr;
  }
  // The expression stack stands behind the frame and its local variables.
  const auto* base = reinterpret_cast<const JS::Value*>(regs.fp() + 1) + regs.fp()->script()->nfixed();
  auto objectAt = [&](ptrdiff_t belowTop) -> JSObject* {
    const JS::Value* value = regs.sp - belowTop;
    return value >= base && value->isObject() ? &value->toObject() : nullptr;
  };
  switch (JSOp(*regs.pc)) {
    case JSOp::Call:
    case JSOp::CallContent:
    case JSOp::CallIter:
    case JSOp::CallContentIter:
    case JSOp::CallIgnoresRv:
      return objectAt(2 + GET_ARGC(regs.pc));
    case JSOp::New:
    case JSOp::NewContent:
      return objectAt(3 + GET_ARGC(regs.pc));
    case JSOp::GetProp:
      return AccessorOf(objectAt(1), regs.fp()->script()->getName(regs.pc), false);
    case JSOp::SetProp:
    case JSOp::StrictSetProp:
      return AccessorOf(objectAt(2), regs.fp()->script()->getName(regs.pc), true);
    default:
      return nullptr;
  }
}

bool StackWriter::endsInJitCodeOf(JSObject* callee) const {
  JSAtom* name = NameOfNative(callee);
  if (!name || !stack_->frames_length) {
    return false;
  }
  const StrobeFrame& oldest = stack_->frames[stack_->frames_length - 1];
  StrobeFunctionKey function = DescribeNative(callee->nonCCWRealm(), oldest.place).function;
  return oldest.function.kind == function.kind && oldest.function.realm == function.realm &&
         oldest.function.source_start == name->hash() && oldest.place.return_address;
}

void StackWriter::appendInterpreterFrames(JSContext* cx, InterpreterActivation* activation,
                                          const StrobeStopped& stopped, bool enteringJit) {
  InterpreterFrame* frame = YoungestFrame(cx, activation);
  if (!frame) {
    return;
  }
  StrobeFramePlace place = {};
  // In the loop there is no call, and at its beginning the registers are not filled in yet.
  if (!frame->runningInJit() && !IsInLoop(activation, stopped)) {
    JSObject* callee = CalledObject(activation->regs());
    if (callee && !endsInJitCodeOf(callee)) {
      place.address = reinterpret_cast<uintptr_t>(frame);
      place.callee = reinterpret_cast<uintptr_t>(activation->regs().pc);
      appendNative(callee, place);
      place.callee = 0;
    }
  }
  for (; frame && !full(); frame = frame->prev()) {
    if (!frame->runningInJit() || (enteringJit && frame == activation->current())) {
      place.address = reinterpret_cast<uintptr_t>(frame);
      appendScript(frame->script(), place);
    }
    if (frame == activation->entryFrame()) {
      break;
    }
  }
}

// Functions of the engine are as visible as what calls them, which comes later.
static bool IsBuiltIn(const StrobeFrame& frame) {
  return frame.function.kind == STROBE_FRAME_NATIVE || frame.function.kind == STROBE_FRAME_SELF_HOSTED;
}

bool StackWriter::isHidden(const StrobeFrame& frame) const {
  if (!stack_->realms_length || IsBuiltIn(frame)) {
    return false;
  }
  const uint64_t* end = stack_->realms + stack_->realms_length;
  return (frame.flags & STROBE_FRAME_MUTED) || std::find(stack_->realms, end, frame.function.realm) == end;
}

void StackWriter::appendHidden(const StrobeFrame& frame) {
  if (stack_->frames_length > framesBeforeBuiltIns_) {
    counted_ -= stack_->frames_length - framesBeforeBuiltIns_;
    stack_->frames_length = framesBeforeBuiltIns_;
    stack_->text_length = textBeforeBuiltIns_;
  }
  if (++hidden_ > MaxHiddenFrames) {
    stack_->truncated = true;
    return;
  }
  if (stack_->frames_length && (stack_->frames[stack_->frames_length - 1].flags & STROBE_FRAME_HIDDEN)) {
    return;
  }
  if (stack_->frames_length == stack_->frames_capacity) {
    stack_->truncated = true;
    return;
  }
  StrobeFrame& added = stack_->frames[stack_->frames_length++];
  added = {};
  added.function.realm = frame.function.realm;
  added.place = frame.place;
  added.flags = STROBE_FRAME_MUTED | STROBE_FRAME_HIDDEN;
  framesBeforeBuiltIns_ = stack_->frames_length;
}

StrobeFrame* StackWriter::append(const StrobeFrame& frame) {
  if (isHidden(frame)) {
    appendHidden(frame);
    return nullptr;
  }
  if (counted_ == stack_->max_frames || stack_->frames_length == stack_->frames_capacity) {
    stack_->truncated = true;
    return nullptr;
  }
  if (!IsBuiltIn(frame)) {
    framesBeforeBuiltIns_ = stack_->frames_length + 1;
  } else if (stack_->frames_length == framesBeforeBuiltIns_) {
    textBeforeBuiltIns_ = stack_->text_length;
  }
  counted_++;
  StrobeFrame* added = &stack_->frames[stack_->frames_length++];
  *added = frame;
  added->known = findKnown(frame.function);
  return added->known ? nullptr : added;
}

uint32_t StackWriter::findKnown(const StrobeFunctionKey& function) const {
  const StrobeKnownFunctions& known = stack_->known;
  if (!known.slots_length) {
    return 0;
  }
  size_t last = known.slots_length - 1;
  for (size_t slot = strobe_hash_function(&function) & last;; slot = (slot + 1) & last) {
    uint32_t number = known.slots[slot];
    if (!number || SameFunction(known.functions[number - 1], function)) {
      return number;
    }
  }
}

// Recursion repeats a few functions: their text is written once.
bool StackWriter::reuseText(StrobeFrame& frame) {
  constexpr size_t Lookback = 8;
  size_t self = stack_->frames_length - 1;
  size_t oldest = self > Lookback ? self - Lookback : 0;
  for (size_t i = self; i-- > oldest;) {
    const StrobeFrame& earlier = stack_->frames[i];
    if (SameFunction(earlier.function, frame.function)) {
      frame.name = earlier.name;
      frame.resource = earlier.resource;
      frame.flags = earlier.flags;
      return true;
    }
  }
  return false;
}

void StackWriter::dropText(StrobeFrame& frame) {
  frame.name = {};
  frame.resource = {};
  frame.flags |= STROBE_FRAME_NO_TEXT;
}

bool StackWriter::appendBytes(const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment,
                              StrobeText* text) {
  size_t offset = (stack_->text_length + alignment - 1) / alignment * alignment;
  if (length > stack_->text_capacity || offset > stack_->text_capacity - length) {
    return false;
  }
  if (length) {
    memcpy(stack_->text + offset, bytes, length);
  }
  stack_->text_length = offset + length;
  *text = {uint32_t(offset), uint32_t(length), encoding};
  return true;
}

template <typename Char>
bool StackWriter::appendChars(const char* prefix, const Char* chars, size_t length, StrobeTextEncoding encoding,
                              StrobeText* text) {
  Char widened[8];
  size_t prefixLength = 0;
  for (; prefix[prefixLength] && prefixLength < std::size(widened); prefixLength++) {
    widened[prefixLength] = Char(prefix[prefixLength]);
  }
  StrobeText rest;
  if (!appendBytes(widened, prefixLength * sizeof(Char), encoding, sizeof(Char), text) ||
      !appendBytes(chars, length * sizeof(Char), encoding, sizeof(Char), &rest)) {
    return false;
  }
  text->length += rest.length;
  return true;
}

bool StackWriter::appendAtom(JSAtom* atom, StrobeText* text, const char* prefix) {
  JS::AutoCheckCannotGC nogc;
  if (atom->hasLatin1Chars()) {
    return appendChars(prefix, atom->latin1Chars(nogc), atom->length(), STROBE_TEXT_LATIN1, text);
  }
  return appendChars(prefix, atom->twoByteChars(nogc), atom->length(), STROBE_TEXT_UTF16, text);
}

bool StackWriter::appendResource(ScriptSource* source, StrobeText* text) {
  // eval and new Function have an introducer, whose URL says nothing of where the code stands.
  const char* filename = source->filename();
  if (!filename || source->hasIntroducerFilename()) {
    return true;
  }
  return appendBytes(filename, strlen(filename), STROBE_TEXT_UTF8, 1, text);
}

JSScript* ScriptOfCalleeToken(CalleeToken token) {
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

}  // namespace strobe

uint64_t strobe_hash_function(const StrobeFunctionKey* function) {
  // The multiplier of Knuth's multiplicative hashing for 64 bits.
  constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;
  auto pair = [](uint32_t high, uint32_t low) { return uint64_t(high) << 32 | low; };
  uint64_t hash = function->realm;
  for (uint64_t word : {pair(function->source_id, function->source_start),
                        pair(function->source_end, function->line), pair(function->column, function->kind)}) {
    hash = (hash ^ word) * Multiplier;
    hash ^= hash >> 32;
  }
  return hash;
}
