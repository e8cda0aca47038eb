/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Writes each kind of frame: what identifies its function, its name and its script's URL.

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
#include "stack_writer.h"

using namespace js;

namespace strobe {

static StrobeFunctionKey DescribeScript(ScriptSource* source, JS::Realm* realm, uint32_t start, uint32_t end,
                                        uint32_t line, uint32_t column) {
  StrobeFunctionKey function = {};
  function.realm = reinterpret_cast<uintptr_t>(realm);
  function.source_id = source->id();
  function.source_start = start;
  function.source_end = end;
  function.line = line;
  function.column = column;
  // The scripts of pages have URLs as file names, and this is not a URL.
  if (const char* filename = source->filename(); filename && strcmp(filename, "self-hosted") == 0) {
    function.kind = STROBE_FRAME_SELF_HOSTED;
  }
  return function;
}

static StrobeFrame FrameOf(ScriptSource* source) {
  StrobeFrame frame = {};
  frame.flags = source->mutedErrors() ? STROBE_FRAME_MUTED : 0;
  return frame;
}

uint32_t OffsetIn(JSScript* script, const jsbytecode* pc) {
  uintptr_t offset = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(script->code());
  return offset < script->length() ? uint32_t(offset) : NoOffset;
}

void StackWriter::appendScript(JSScript* script, const StrobeFramePlace& place, uint32_t offset) {
  ScriptSource* source = script->scriptSource();
  StrobeFunctionKey key = DescribeScript(source, script->realm(), script->toStringStart(), script->toStringEnd(),
                                         script->lineno(), script->column().oneOriginValue());
  CodePlace code = {script->immutableScriptData(), script->lineno(),
                    JS::LimitedColumnNumberOneOrigin(script->column()), offset};
  Added added = append({key, place, FrameOf(source)}, &code);
  if (!added.frame) {
    return;
  }
  bool fits = true;
  if (JSFunction* function = script->function()) {
    if (JSAtom* atom = function->fullDisplayAtom()) {
      added.frame->flags |= function->hasGuessedAtom() ? STROBE_FRAME_GUESSED_NAME : 0;
      fits = appendAtom(added.text, atom, &added.function->name);
    }
  }
  fits &= appendResource(added.text, source, &added.function->resource);
  if (!fits) {
    dropText(added);
  }
}

void StackWriter::appendInlined(const jit::IonScriptData& data, const char* label, JS::Realm* realm,
                                const StrobeFramePlace& place, uint32_t offset) {
  ScriptSource* source = data.scriptKey.scriptSource;
  StrobeFunctionKey key = DescribeScript(source, realm, data.scriptKey.toStringStart, data.scriptKey.toStringEnd,
                                         data.lineno, data.column.oneOriginValue());
  CodePlace code = {data.scriptKey.sharedData->get(), data.lineno, data.column, offset};
  Added added = append({key, place, FrameOf(source)}, &code);
  if (!added.frame) {
    return;
  }
  added.frame->flags |= data.name.isGuessed ? STROBE_FRAME_GUESSED_NAME : 0;
  bool fits = appendBytes(added.text, label, data.name.length, STROBE_TEXT_UTF8, 1, &added.function->name);
  fits &= appendResource(added.text, source, &added.function->resource);
  if (!fits) {
    dropText(added);
  }
}

void StackWriter::appendNative(const StrobeNative& native, const StrobeFramePlace& place) {
  // A built-in may be a native frame and, at the same time, JIT code or a function of the engine.
  size_t length = stack_->frames_length;
  // Frames of the stack before are kept only if the oldest of them is no built-in.
  if (length && stack_->frames[length - 1].known != STROBE_SAME) {
    const StrobeFunctionKey& younger = functionOf(length - 1);
    if (younger.kind == STROBE_FRAME_NATIVE && younger.source_start == native.hash) {
      return;
    }
  }
  StrobeFunctionKey key = {};
  key.kind = STROBE_FRAME_NATIVE;
  key.source_start = native.hash;
  bool isLeaf = !total_;
  leafIsNative_ |= isLeaf;
  key.realm = isLeaf ? leafRealm_ : 0;
  Added added = append({key, place, {}});
  if (added.frame &&
      !appendBytes(added.text, native.name, native.name_length, STROBE_TEXT_LATIN1, 1, &added.function->name)) {
    dropText(added);
  }
}

void StackWriter::appendNative(const char* name, const StrobeFramePlace& place) {
  size_t length = strlen(name);
  StrobeNative native = {0, 0, reinterpret_cast<const uint8_t*>(name), uint32_t(length), strobe_hash_name(name, length)};
  appendNative(native, place);
}

void StackWriter::appendWasm(const wasm::Code& code, uint32_t funcIndex, JS::Realm* realm,
                             const StrobeFramePlace& place, uint32_t offset) {
  const wasm::CodeMetadata& metadata = code.codeMeta();
  if (metadata.isSelfHostedModule()) {
    return;
  }
  StrobeFunctionKey key = {};
  key.kind = STROBE_FRAME_WASM;
  key.realm = reinterpret_cast<uintptr_t>(realm);
  key.source_id = funcIndex;
  StrobeFrame frame = {};
  frame.code_offset = offset;
  frame.position.column = offset;

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
    // This uses little stack and no locale.
    constexpr std::string_view before = "wasm-function[";
    char* digits = std::copy(before.begin(), before.end(), byIndex);
    char* end = std::to_chars(digits, std::end(byIndex), funcIndex).ptr;
    *end++ = ']';
    nameLength = size_t(end - byIndex);
  }
  // A module that came from no URL has a text that says what made it: "URL line N > WebAssembly.Module".
  const char* url = metadata.scriptedCaller().source.get();
  size_t urlLength = url ? strcspn(url, " ") : 0;
  // The key has a hash of the name and the URL, because two modules may have the same URL, and a module may be at the
  // place of an earlier one.
  uint64_t hash = strobe_keyed_hash(name, nameLength, url, urlLength);
  key.source_start = uint32_t(hash);
  key.source_end = uint32_t(hash >> 32);
  Added added = append({key, place, frame});
  if (added.frame && !(appendBytes(added.text, name, nameLength, STROBE_TEXT_UTF8, 1, &added.function->name) &&
                       appendBytes(added.text, url, urlLength, STROBE_TEXT_UTF8, 1, &added.function->resource))) {
    dropText(added);
  }
}

// The region of Ion code that an address is in. The end of a region belongs to it, because a return address may
// be there.
static jit::JitcodeRegionEntry RegionAt(const jit::IonEntry& entry, const void* address, uint32_t* nativeOffset) {
  *nativeOffset = uint32_t(static_cast<const uint8_t*>(address) - static_cast<uint8_t*>(entry.nativeStartAddr()));
  const jit::JitcodeIonTable* table = entry.regionTable();
  return table->regionEntry(table->findRegionEntry(*nativeOffset));
}

uint32_t OffsetInPhysical(const jit::IonEntry& entry, const void* address) {
  uint32_t nativeOffset;
  jit::JitcodeRegionEntry region = RegionAt(entry, address, &nativeOffset);
  jit::JitcodeRegionEntry::ScriptPcIterator functions = region.scriptPcIterator();
  uint32_t scriptIndex, offset = NoOffset;
  while (functions.hasMore()) {
    functions.readNext(&scriptIndex, &offset);
  }
  // If other functions are inlined here, the outermost function is at the one call that the region is in.
  return region.scriptDepth() == 1 ? region.findPcOffset(nativeOffset, offset) : offset;
}

void StackWriter::appendInlinedFunctions(const jit::IonEntry& entry, const void* address, JS::Realm* realm,
                                         const StrobeFramePlace& place) {
  uint32_t nativeOffset;
  jit::JitcodeRegionEntry region = RegionAt(entry, address, &nativeOffset);
  uint32_t inlined = region.scriptDepth() - 1;
  jit::JitcodeRegionEntry::ScriptPcIterator functions = region.scriptPcIterator();
  for (uint32_t i = 0; i < inlined && functions.hasMore() && !full(); i++) {
    uint32_t scriptIndex, offset;
    functions.readNext(&scriptIndex, &offset);
    if (i == 0 && wantsPosition()) {
      offset = region.findPcOffset(nativeOffset, offset);
    }
    // The compiler does not inline across realms, so these functions are in the realm of the outermost one.
    appendInlined(entry.getScriptData(scriptIndex), entry.getStr(scriptIndex), realm, place, offset);
  }
}

void StackWriter::appendInterpreterFrames(JSContext* cx, InterpreterActivation* activation, bool enteringJit) {
  StrobeFramePlace place = {};
  InterpreterFrame* frame = YoungestFrame(cx, activation);
  jsbytecode* pc = frame ? activation->regs().pc : nullptr;
  for (; frame && !full(); frame = frame->prev()) {
    if (!frame->runningInJit() || (enteringJit && frame == activation->current())) {
      place.address = reinterpret_cast<uintptr_t>(frame);
      appendScript(frame->script(), place, OffsetIn(frame->script(), pc));
    }
    if (frame == activation->entryFrame()) {
      break;
    }
    pc = frame->prevpc();
  }
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
  // Code of eval and new Function has an introducer, whose URL does not say where the code is.
  const char* filename = source->filename();
  if (!filename || source->hasIntroducerFilename()) {
    return true;
  }
  return appendBytes(area, filename, strlen(filename), STROBE_TEXT_UTF8, 1, text);
}

}  // namespace strobe

uint32_t strobe_hash_name(const char* name, size_t length) { return mozilla::HashString(name, length); }
