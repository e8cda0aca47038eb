/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Writes each kind of frame: what identifies its function, and its name.

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
  frame.flags = source->isHiddenFromProfilers() ? STROBE_FRAME_MUTED : 0;
  return frame;
}

uint32_t OffsetIn(JSScript* script, const jsbytecode* pc) {
  uintptr_t offset = reinterpret_cast<uintptr_t>(pc) - reinterpret_cast<uintptr_t>(script->code());
  return offset < script->length() ? uint32_t(offset) : NoOffset;
}

void StackWriter::appendScript(JSScript* script, uint32_t offset) {
  ScriptSource* source = script->scriptSource();
  StrobeFunctionKey key = DescribeScript(source, script->realm(), script->toStringStart(), script->toStringEnd(),
                                         script->lineno(), script->column().oneOriginValue());
  CodePlace code = {script->immutableScriptData(), script->lineno(),
                    JS::LimitedColumnNumberOneOrigin(script->column()), offset};
  Added added = append({key, FrameOf(source)}, &code);
  if (!added.frame) {
    return;
  }
  JSFunction* function = script->function();
  JSAtom* atom = function ? function->fullDisplayAtom() : nullptr;
  if (!atom) {
    return;
  }
  added.frame->flags |= function->hasGuessedAtom() ? STROBE_FRAME_GUESSED_NAME : 0;
  if (!appendAtom(added.text, atom, &added.function->name)) {
    dropText(added);
  }
}

void StackWriter::appendInlined(const jit::IonScriptData& data, const char* label, JS::Realm* realm,
                                uint32_t offset) {
  ScriptSource* source = data.scriptKey.scriptSource;
  StrobeFunctionKey key = DescribeScript(source, realm, data.scriptKey.toStringStart, data.scriptKey.toStringEnd,
                                         data.lineno, data.column.oneOriginValue());
  CodePlace code = {data.scriptKey.sharedData->get(), data.lineno, data.column, offset};
  Added added = append({key, FrameOf(source)}, &code);
  if (!added.frame) {
    return;
  }
  added.frame->flags |= data.name.isGuessed ? STROBE_FRAME_GUESSED_NAME : 0;
  if (!appendName(added.text, label, data.name.length, STROBE_TEXT_UTF8, 1, &added.function->name)) {
    dropText(added);
    return;
  }
  added.function->name.is_cut |= data.name.isCut;
}

void StackWriter::appendNative(const StrobeNative& native) {
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
  Added added = append({key, {}});
  if (added.frame &&
      !appendName(added.text, native.name, native.name_length, STROBE_TEXT_LATIN1, 1, &added.function->name)) {
    dropText(added);
  }
}

void StackWriter::appendNative(const char* name) {
  size_t length = strlen(name);
  StrobeNative native = {0, 0, reinterpret_cast<const uint8_t*>(name), uint32_t(length), strobe_hash_name(name, length)};
  appendNative(native);
}

void StackWriter::appendWasm(const wasm::Code& code, uint32_t funcIndex, JS::Realm* realm,
                             uint32_t offset) {
  const wasm::CodeMetadata& metadata = code.codeMeta();
  if (metadata.isSelfHostedModule()) {
    return;
  }
  StrobeFunctionKey key = {};
  key.kind = STROBE_FRAME_WASM;
  key.realm = reinterpret_cast<uintptr_t>(realm);
  key.source_id = metadata.listed.number();
  key.source_start = funcIndex;
  StrobeFrame frame = {};
  frame.flags = metadata.scriptedCaller().isHidden ? STROBE_FRAME_MUTED : 0;
  frame.code_offset = offset;
  frame.position.column = offset;
  Added added = append({key, frame});
  if (!added.frame) {
    return;
  }

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
  if (!appendName(added.text, name, nameLength, STROBE_TEXT_UTF8, 1, &added.function->name)) {
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

void StackWriter::appendInlinedFunctions(const jit::IonEntry& entry, const void* address, JS::Realm* realm) {
  uint32_t nativeOffset;
  jit::JitcodeRegionEntry region = RegionAt(entry, address, &nativeOffset);
  uint32_t inlined = region.scriptDepth() - 1;
  jit::JitcodeRegionEntry::ScriptPcIterator functions = region.scriptPcIterator();
  for (uint32_t i = 0; i < inlined && functions.hasMore() && !full() && work_.take(Cost::Known); i++) {
    uint32_t scriptIndex, offset;
    functions.readNext(&scriptIndex, &offset);
    if (i == 0 && wantsPosition()) {
      offset = region.findPcOffset(nativeOffset, offset);
    }
    // The compiler does not inline across realms, so these functions are in the realm of the outermost one.
    appendInlined(entry.getScriptData(scriptIndex), entry.getStr(scriptIndex), realm, offset);
  }
}

void StackWriter::appendInterpreterFrames(JSContext* cx, InterpreterActivation* activation, bool enteringJit) {
  InterpreterFrame* frame = YoungestFrame(cx, activation, work_);
  jsbytecode* pc = frame ? activation->regs().pc : nullptr;
  for (; frame && !full() && work_.take(Cost::Known); frame = frame->prev()) {
    if (!frame->runningInJit() || (enteringJit && frame == activation->current())) {
      appendScript(frame->script(), OffsetIn(frame->script(), pc));
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
    return appendName(area, atom->latin1Chars(nogc), atom->length(), STROBE_TEXT_LATIN1, 1, text);
  }
  return appendName(area, atom->twoByteChars(nogc), atom->length() * sizeof(char16_t), STROBE_TEXT_UTF16,
                    sizeof(char16_t), text);
}

bool StackWriter::appendName(TextArea* area, const void* bytes, size_t length, StrobeTextEncoding encoding,
                             size_t alignment, StrobeText* text) {
  size_t copied = std::min(length, STROBE_MAX_NAME);
  if (!work_.take(Cost::Look, uint32_t(copied / TextPerLook)) ||
      !appendBytes(area, bytes, copied, encoding, alignment, text)) {
    return false;
  }
  text->is_cut = copied < length;
  return true;
}

}  // namespace strobe

uint32_t strobe_hash_name(const char* name, size_t length) { return mozilla::HashString(name, length); }
