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

#include "vm/Activation.h"
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

StackWriter::StackWriter(StrobeStack* stack, JS::Realm* realm)
    : stack_(stack), leafRealm_(reinterpret_cast<uintptr_t>(realm)) {
  stack->frames_length = 0;
  stack->complete_length = 0;
  stack->truncated = false;
  stack->complete_truncated = false;
  stack->text_lost = false;
  std::fill_n(stack->realm_frames, stack->realms_length, 0);
  size_t half = stack->text_capacity / 2, quarter = stack->text_capacity / 4;
  pageText_ = {0, half};
  builtInText_ = {half, half + quarter};
  hiddenText_ = {half + quarter, half + 2 * quarter};
}

void StackWriter::appendScript(JSScript* script, const StrobeFramePlace& place) {
  ScriptSource* source = script->scriptSource();
  Added added =
      append(DescribeScript(source, script->realm(), script->toStringStart(), script->toStringEnd(), script->lineno(),
                            script->column().oneOriginValue(), place));
  if (!added.frame) {
    return;
  }
  bool fits = true;
  if (JSFunction* function = script->function()) {
    // Guessed names ("obj.method<") are for stack traces; a profile shows the function's own.
    if (!function->hasGuessedAtom()) {
      if (JSAtom* atom = function->rawAtom()) {
        fits = appendAtom(added.text, atom, &added.frame->name);
      }
    }
  }
  fits &= appendResource(added.text, source, &added.frame->resource);
  if (!fits) {
    dropText(added);
  }
}

void StackWriter::appendInlined(const jit::IonScriptData& data, const char* label, JS::Realm* realm,
                                const StrobeFramePlace& place) {
  ScriptSource* source = data.scriptKey.scriptSource;
  Added added = append(DescribeScript(source, realm, data.scriptKey.toStringStart, data.scriptKey.toStringEnd,
                                      data.lineno, data.column.oneOriginValue(), place));
  if (!added.frame) {
    return;
  }
  bool fits = appendBytes(added.text, label, NameLengthInLabel(label, source, data), STROBE_TEXT_UTF8, 1,
                          &added.frame->name);
  fits &= appendResource(added.text, source, &added.frame->resource);
  if (!fits) {
    dropText(added);
  }
}

static StrobeFrame DescribeNative(uint32_t nameHash, const StrobeFramePlace& place) {
  StrobeFrame frame = {};
  frame.function.kind = STROBE_FRAME_NATIVE;
  frame.function.source_start = nameHash;
  frame.place = place;
  return frame;
}

void StackWriter::appendNative(const StrobeNative& native, const StrobeFramePlace& place) {
  // A built-in may be a native frame and JIT code or a function of the engine at the same time.
  if (size_t length = stack_->frames_length) {
    const StrobeFunctionKey& younger = stack_->frames[length - 1].function;
    if (younger.kind == STROBE_FRAME_NATIVE && younger.source_start == native.hash) {
      return;
    }
  }
  StrobeFrame frame = DescribeNative(native.hash, place);
  leafIsNative_ = !total_;
  frame.function.realm = leafIsNative_ ? leafRealm_ : 0;
  Added added = append(frame);
  if (added.frame &&
      !appendBytes(added.text, native.name, native.name_length, STROBE_TEXT_LATIN1, 1, &added.frame->name)) {
    dropText(added);
  }
}

void StackWriter::appendNative(const char* name, const StrobeFramePlace& place) {
  size_t length = strlen(name);
  StrobeNative native = {0, 0, reinterpret_cast<const uint8_t*>(name), uint32_t(length), strobe_hash_name(name, length)};
  appendNative(native, place);
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
  Added added = append(wasm);
  if (added.frame && !(appendBytes(added.text, name, nameLength, STROBE_TEXT_UTF8, 1, &added.frame->name) &&
                       appendBytes(added.text, url, urlLength, STROBE_TEXT_UTF8, 1, &added.frame->resource))) {
    dropText(added);
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

void StackWriter::appendInterpreterFrames(JSContext* cx, InterpreterActivation* activation, bool enteringJit) {
  StrobeFramePlace place = {};
  for (InterpreterFrame* frame = YoungestFrame(cx, activation); frame && !full(); frame = frame->prev()) {
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

size_t* StackWriter::realmFramesOf(const StrobeFrame& frame) const {
  if (frame.flags & STROBE_FRAME_MUTED) {
    return nullptr;
  }
  const uint64_t* end = stack_->realms + stack_->realms_length;
  const uint64_t* found = std::find(stack_->realms, end, frame.function.realm);
  return found == end ? nullptr : stack_->realm_frames + (found - stack_->realms);
}

StackWriter::Added StackWriter::append(const StrobeFrame& frame) {
  if (isFull()) {
    full_ = true;
    stack_->truncated = true;
    stack_->complete_truncated |= total_ == stack_->max_frames;
    return {};
  }
  if (leafIsNative_ && frame.function.kind != STROBE_FRAME_NATIVE) {
    leafIsNative_ = false;
    settleLeaf(frame.function.realm);
  }
  total_++;
  stack_->complete_truncated |= total_ > stack_->max_frames;
  Added added;
  if (IsBuiltIn(frame)) {
    added = appendBuiltIn(frame);
  } else {
    size_t* realmFrames = realmFramesOf(frame);
    added = realmFrames ? appendPageFrame(frame, realmFrames) : appendHidden(frame);
    builtIns_ = 0;
    builtInsBegin_ = stack_->frames_length;
  }
  if (isForEverything()) {
    stack_->complete_length = stack_->frames_length;
    builtInsBegin_ = stack_->frames_length;
  }
  return added;
}

// Of a native the realm is told where it is another one than its caller's.
void StackWriter::settleLeaf(uint64_t callersRealm) {
  if (callersRealm == leafRealm_ && stack_->frames_length) {
    StrobeFrame& leaf = stack_->frames[0];
    leaf.function.realm = 0;
    leaf.known = findKnown(leaf.function);
  }
}

// Who calls it, and so who may see it, is not known yet.
StackWriter::Added StackWriter::appendBuiltIn(const StrobeFrame& frame) {
  if (!stack_->realms_length && !isForEverything()) {
    return {};
  }
  // No page sees more of them.
  if (!isForEverything() && builtIns_ == stack_->max_frames) {
    return {};
  }
  builtIns_++;
  return withText(add(frame), &builtInText_);
}

StackWriter::Added StackWriter::appendPageFrame(const StrobeFrame& frame, size_t* realmFrames) {
  size_t room = stack_->max_frames - *realmFrames;
  bool fits = builtIns_ < room;
  stack_->truncated |= !fits;
  *realmFrames = fits ? *realmFrames + builtIns_ + 1 : stack_->max_frames;
  if (isForEverything()) {
    return withText(add(frame), &pageText_);
  }
  if (!fits) {
    // Those at the root end are left out.
    size_t there = stack_->frames_length - builtInsBegin_;
    stack_->frames_length = builtInsBegin_ + std::min(there, room);
    return {};
  }
  return withText(add(frame), &pageText_);
}

StackWriter::Added StackWriter::appendHidden(const StrobeFrame& frame) {
  if (isForEverything()) {
    return withText(add(frame), &hiddenText_);
  }
  if (stack_->realms_length) {
    stack_->frames_length = builtInsBegin_;
    appendMark(frame);
  }
  return {};
}

static void MakeMark(StrobeFrame& frame) {
  StrobeFrame mark = {};
  mark.function.realm = frame.function.realm;
  mark.place = frame.place;
  mark.flags = STROBE_FRAME_MUTED | STROBE_FRAME_HIDDEN;
  frame = mark;
}

// One that stands for hidden functions, unless there is one at the end.
void StackWriter::appendMark(const StrobeFrame& frame) {
  size_t length = stack_->frames_length;
  if (length && (stack_->frames[length - 1].flags & STROBE_FRAME_HIDDEN)) {
    return;
  }
  if (StrobeFrame* added = add(frame)) {
    MakeMark(*added);
  }
}

StrobeFrame* StackWriter::add(const StrobeFrame& frame) {
  if (stack_->frames_length == stack_->frames_capacity) {
    full_ = true;
    stack_->truncated = true;
    return nullptr;
  }
  StrobeFrame* added = &stack_->frames[stack_->frames_length++];
  *added = frame;
  return added;
}

StackWriter::Added StackWriter::withText(StrobeFrame* frame, TextArea* text) {
  if (!frame) {
    return {};
  }
  frame->known = findKnown(frame->function);
  if (frame->known || reuseText(*frame)) {
    return {};
  }
  return {frame, text};
}

bool StackWriter::isFull() const {
  auto hasAll = [&](size_t frames) { return frames >= stack_->max_frames; };
  bool forEverything = stack_->everything && !hasAll(total_);
  const size_t* realmFrames = stack_->realm_frames;
  return full_ || (!forEverything && std::all_of(realmFrames, realmFrames + stack_->realms_length, hasAll));
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

void StackWriter::dropText(const Added& added) {
  stack_->text_lost = true;
  if (added.text == &hiddenText_) {
    // What pages may see does not depend on it.
    MakeMark(*added.frame);
    return;
  }
  added.frame->name = {};
  added.frame->resource = {};
  added.frame->flags |= STROBE_FRAME_NO_TEXT;
}

bool StackWriter::appendBytes(TextArea* area, const void* bytes, size_t length, StrobeTextEncoding encoding,
                              size_t alignment, StrobeText* text) {
  size_t offset = (area->next + alignment - 1) / alignment * alignment;
  if (length > area->end || offset > area->end - length) {
    return false;
  }
  if (length) {
    memcpy(stack_->text + offset, bytes, length);
  }
  area->next = offset + length;
  *text = {uint32_t(offset), uint32_t(length), encoding};
  return true;
}

bool StackWriter::appendAtom(TextArea* area, JSAtom* atom, StrobeText* text) {
  JS::AutoCheckCannotGC nogc;
  if (atom->hasLatin1Chars()) {
    return appendBytes(area, atom->latin1Chars(nogc), atom->length(), STROBE_TEXT_LATIN1, 1, text);
  }
  return appendBytes(area, atom->twoByteChars(nogc), atom->length() * sizeof(char16_t), STROBE_TEXT_UTF16,
                     sizeof(char16_t), text);
}

bool StackWriter::appendResource(TextArea* area, ScriptSource* source, StrobeText* text) {
  // eval and new Function have an introducer, whose URL says nothing of where the code stands.
  const char* filename = source->filename();
  if (!filename || source->hasIntroducerFilename()) {
    return true;
  }
  return appendBytes(area, filename, strlen(filename), STROBE_TEXT_UTF8, 1, text);
}

bool IsCell(uintptr_t token) {
  uintptr_t address = token & CalleeTokenMask;
  return address >= gc::ChunkSize && address % gc::CellAlignBytes == 0;
}

JSScript* ScriptOfCalleeToken(CalleeToken token) {
  if (!IsCell(uintptr_t(token))) {
    return nullptr;
  }
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

uint32_t strobe_hash_name(const char* name, size_t length) { return mozilla::HashString(name, length); }
