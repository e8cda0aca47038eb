/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames are written for pages and for recordings, and how much room there is for them.

#include "stack_writer.h"

#include <string.h>

#include <algorithm>

#include "vm/JSScript.h"
#include "vm/SharedStencil.h"

using namespace js;

// The multiplier of Knuth's multiplicative hashing for 64 bits.
constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;

namespace strobe {

static bool SameFunction(const StrobeFunctionKey& a, const StrobeFunctionKey& b) {
  return a.kind == b.kind && a.realm == b.realm && a.source_id == b.source_id && a.source_start == b.source_start &&
         a.source_end == b.source_end && a.line == b.line && a.column == b.column;
}

// The most bytes of source notes that a walk reads. A note takes one or a few bytes, and a nanosecond or two. A
// position that is known needs no notes. So the limit is reached only when much code is seen for the first
// time, and the next samples find the remaining positions.
constexpr size_t MostNotes = 1 << 18;

StackWriter::StackWriter(StrobeStack* stack, JS::Realm* realm)
    : stack_(stack), leafRealm_(reinterpret_cast<uintptr_t>(realm)), notesLeft_(MostNotes),
      openRealms_(stack->max_frames ? stack->realms_length : 0), work_(&stack->work_left) {
  stack->number = 0;
  stack->frames_length = 0;
  stack->frame_count = 0;
  stack->complete_length = 0;
  stack->truncated = false;
  stack->complete_truncated = false;
  std::fill_n(stack->realm_frames, stack->realms_length, 0);
  size_t half = stack->text_capacity / 2, quarter = stack->text_capacity / 4;
  pageText_ = {0, half};
  builtInText_ = {half, half + quarter};
  hiddenText_ = {half + quarter, half + 2 * quarter};
}

// Built-ins are as visible as their caller, which the walk finds after them.
static bool IsBuiltIn(const StrobeFunctionKey& function) {
  return function.kind == STROBE_FRAME_NATIVE || function.kind == STROBE_FRAME_SELF_HOSTED;
}

size_t* StackWriter::realmFramesOf(const NewFrame& frame) const {
  if (frame.compact.flags & STROBE_FRAME_MUTED) {
    return nullptr;
  }
  const uint64_t* end = stack_->realms + stack_->realms_length;
  const uint64_t* found = std::find(stack_->realms, end, frame.function.realm);
  return found == end ? nullptr : stack_->realm_frames + (found - stack_->realms);
}

StackWriter::Added StackWriter::append(const NewFrame& frame, const CodePlace* code) {
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
  if (IsBuiltIn(frame.function)) {
    added = appendBuiltIn(frame);
  } else {
    size_t* realmFrames = realmFramesOf(frame);
    added = realmFrames ? appendPageFrame(frame, realmFrames, code) : appendHidden(frame, code);
    builtIns_ = 0;
    builtInsBegin_ = stack_->frames_length;
  }
  if (isForEverything()) {
    stack_->complete_length = stack_->frame_count;
    builtInsBegin_ = stack_->frames_length;
  }
  return added;
}

// A native keeps its realm only if that is not its caller's realm.
void StackWriter::settleLeaf(uint64_t callersRealm) {
  if (callersRealm == leafRealm_ && stack_->frames_length) {
    StrobeFunctionKey& leaf = stack_->functions[0].key;
    leaf.realm = 0;
    stack_->frames[0].known = findKnown(leaf);
  }
}

// The caller of the built-in is not known yet, and so it is not known who may see the built-in.
StackWriter::Added StackWriter::appendBuiltIn(const NewFrame& frame) {
  if (!stack_->realms_length && !isForEverything()) {
    return {};
  }
  // No page sees more built-ins than this.
  if (!isForEverything() && builtIns_ == stack_->max_frames) {
    return {};
  }
  builtIns_++;
  return add(frame, &builtInText_);
}

StackWriter::Added StackWriter::appendPageFrame(const NewFrame& frame, size_t* realmFrames, const CodePlace* code) {
  size_t room = stack_->max_frames - *realmFrames;
  bool fits = builtIns_ < room;
  stack_->truncated |= !fits;
  if (room) {
    *realmFrames = fits ? *realmFrames + builtIns_ + 1 : stack_->max_frames;
    openRealms_ -= *realmFrames == stack_->max_frames;
  }
  if (isForEverything()) {
    return addDescribed(frame, &pageText_, code);
  }
  if (!fits) {
    // The built-ins at the root end are left out.
    size_t there = stack_->frames_length - builtInsBegin_;
    cut(builtInsBegin_ + std::min(there, room));
    return {};
  }
  return add(frame, &pageText_);
}

StackWriter::Added StackWriter::appendHidden(const NewFrame& frame, const CodePlace* code) {
  if (isForEverything()) {
    return addDescribed(frame, &hiddenText_, code);
  }
  if (stack_->realms_length) {
    cut(builtInsBegin_);
    appendMark(frame);
  }
  return {};
}

void StackWriter::makeMark(size_t index, uint64_t realm) {
  stack_->frames[index] = {};
  stack_->frames[index].flags = STROBE_FRAME_MUTED | STROBE_FRAME_HIDDEN;
  stack_->functions[index] = {};
  stack_->functions[index].key.realm = realm;
}

// Adds a frame that stands for hidden functions, unless the last frame is one.
void StackWriter::appendMark(const NewFrame& frame) {
  size_t length = stack_->frames_length;
  if (length && (stack_->frames[length - 1].flags & STROBE_FRAME_HIDDEN)) {
    return;
  }
  if (!checkRoom()) {
    return;
  }
  makeMark(push(frame), frame.function.realm);
}

bool StackWriter::checkRoom() {
  if (hasRoom()) {
    return true;
  }
  full_ = true;
  stack_->truncated = true;
  return false;
}

size_t StackWriter::push(const NewFrame& frame) {
  size_t index = stack_->frames_length++;
  stack_->frames[index] = frame.compact;
  stack_->frame_count++;
  return index;
}

void StackWriter::cut(size_t length) {
  stack_->frame_count -= stack_->frames_length - length;
  stack_->frames_length = length;
}

// Not for an element that stands for frames of the stack before.
const StrobeFunctionKey& StackWriter::functionOf(size_t index) const {
  uint32_t known = stack_->frames[index].known;
  return known ? stack_->known.functions[known - 1] : stack_->functions[index].key;
}

// A function is known either in all frames of a walk or in none.
bool StackWriter::haveSameFunction(size_t one, size_t other) const {
  uint32_t known = stack_->frames[one].known;
  return known == stack_->frames[other].known &&
         (known || SameFunction(stack_->functions[one].key, stack_->functions[other].key));
}

StackWriter::Added StackWriter::add(const NewFrame& frame, TextArea* text) {
  if (!checkRoom()) {
    return {};
  }
  size_t index = push(frame);
  if (isKnown_) {
    return {};
  }
  StrobeFrame* added = &stack_->frames[index];
  added->known = findKnown(frame.function);
  // A native at the leaf may become another function: see settleLeaf.
  bool isSettled = !leafIsNative_ || index;
  if (added->known && isSettled) {
    return {};
  }
  StrobeNewFunction* function = &stack_->functions[index];
  *function = {frame.function, {}};
  if (reuseText(index)) {
    return {};
  }
  return {added, function, text};
}

StackWriter::Added StackWriter::addDescribed(const NewFrame& frame, TextArea* text, const CodePlace* code) {
  size_t index = stack_->frames_length;
  Added added = add(frame, text);
  if (index < stack_->frames_length && code && code->offset != NoOffset) {
    locate(index, *code);
  }
  return added;
}

// Reads only what never changes while a frame of the function is on the stack. Scripts with equal bytecode and
// notes share them. Only a script that is not running loses them.
void StackWriter::locate(size_t index, const CodePlace& code) {
  StrobeFrame* frame = &stack_->frames[index];
  frame->code_offset = code.offset;
  if (const StrobePosition* known = findPosition(index)) {
    frame->position = *known;
    return;
  }
  size_t notes = code.data->noteLength();
  if (code.offset >= code.data->codeLength() || notes > notesLeft_ ||
      !work_.take(Cost::Look, uint32_t(notes / NotesPerLook))) {
    return;
  }
  notesLeft_ -= notes;
  SrcNote* begin = code.data->notes();
  jsbytecode* bytecode = code.data->code();
  JS::LimitedColumnNumberOneOrigin column;
  frame->position.line =
      PCToLineNumber(code.line, code.column, begin, begin + notes, bytecode, bytecode + code.offset, &column);
  frame->position.column = column.oneOriginValue();
}

// The position, if the sampling thread knows it; null otherwise. `function` is one more than the function's index.
const StrobePosition* StackWriter::findKnownPosition(uint32_t function, uint32_t offset) const {
  const StrobeKnownFunctions& known = stack_->known;
  if (!known.positions_length) {
    return nullptr;
  }
  size_t last = known.positions_length - 1;
  for (size_t slot = strobe_hash_position(function, offset) & last;; slot = (slot + 1) & last) {
    const StrobeKnownPosition& found = known.positions[slot];
    if (!found.function) {
      return nullptr;
    }
    if (found.function == function && found.code_offset == offset) {
      return &found.position;
    }
  }
}

// The position, if the sampling thread knows it or a younger frame has the same one; null otherwise.
const StrobePosition* StackWriter::findPosition(size_t index) const {
  const StrobeFrame& frame = stack_->frames[index];
  if (const StrobePosition* known = frame.known ? findKnownPosition(frame.known, frame.code_offset) : nullptr) {
    return known;
  }
  constexpr size_t Lookback = 8;
  for (size_t i = index; i-- > (index > Lookback ? index - Lookback : 0);) {
    const StrobeFrame& younger = stack_->frames[i];
    if (younger.position.line && younger.code_offset == frame.code_offset && haveSameFunction(i, index)) {
      return &younger.position;
    }
  }
  return nullptr;
}

bool StackWriter::isFull() const {
  bool forEverything = stack_->everything && total_ < stack_->max_frames;
  return full_ || (!forEverything && !openRealms_);
}

// The greatest number of functions of a call that is kept.
constexpr size_t MostOfCall = STROBE_CALL_SITE_WAYS * STROBE_MAX_INLINED;

bool StackWriter::describeCallSite(const Mark& before, StrobeCallSite (&sites)[STROBE_CALL_SITE_WAYS]) const {
  size_t length = stack_->frames_length;
  // Otherwise something was left out.
  bool isWhole = length > before.length && length - before.length == total_ - before.total;
  if (full_ || !isWhole || length - before.length > MostOfCall) {
    return false;
  }
  for (size_t i = before.length; i < length; i++) {
    const StrobeFrame& frame = stack_->frames[i];
    if (!frame.known || (frame.flags & STROBE_FRAME_HIDDEN)) {
      return false;
    }
    StrobeCallSite& site = sites[(i - before.length) / STROBE_MAX_INLINED];
    size_t at = (i - before.length) % STROBE_MAX_INLINED;
    site.known[at] = frame.known;
    site.code_offsets[at] = frame.position.line ? frame.code_offset : NoOffset;
    site.flags[at] = frame.flags;
  }
  sites[0].length = uint8_t(length - before.length);
  return true;
}

bool StackWriter::appendCallSite(const StrobeCallSite& site, StrobeKeptFrame* kept) {
  const StrobePosition* positions[MostOfCall] = {};
  for (uint32_t i = 0; i < site.length; i++) {
    const StrobeCallSite& slot = (&site)[i / STROBE_MAX_INLINED];
    uint32_t at = i % STROBE_MAX_INLINED;
    if (slot.known[at] > stack_->known.functions_length) {
      return false;
    }
    if (!stack_->everything || total_ + i >= stack_->max_frames) {
      continue;
    }
    bool hasOffset = slot.code_offsets[at] != NoOffset;
    positions[i] = hasOffset ? findKnownPosition(slot.known[at], slot.code_offsets[at]) : nullptr;
    if (!positions[i]) {
      return false;
    }
  }
  isKnown_ = true;
  kept->index = uint32_t(stack_->frame_count);
  kept->count = site.length;
  for (uint32_t i = 0; i < site.length && !full(); i++) {
    const StrobeCallSite& slot = (&site)[i / STROBE_MAX_INLINED];
    uint32_t at = i % STROBE_MAX_INLINED;
    NewFrame frame = {stack_->known.functions[slot.known[at] - 1], {}};
    frame.compact.known = slot.known[at];
    frame.compact.flags = slot.flags[at];
    if (positions[i]) {
      frame.compact.code_offset = slot.code_offsets[at];
      frame.compact.position = *positions[i];
    }
    uint32_t realm;
    if (!appendPlain(frame, &realm)) {
      append(frame);
      kept->count = 0;
    } else if (i && realm != kept->realm) {
      kept->count = 0;
    } else {
      kept->realm = realm;
    }
  }
  isKnown_ = false;
  return true;
}

bool StackWriter::appendPlain(const NewFrame& frame, uint32_t* realm) {
  if (!isSettled() || total_ >= stack_->max_frames || !hasRoom() || IsBuiltIn(frame.function)) {
    return false;
  }
  *realm = indexOfRealm(realmFramesOf(frame));
  if (!countForRealm(*realm, 1)) {
    return false;
  }
  total_++;
  push(frame);
  noteSettled();
  return true;
}

bool StackWriter::countForRealm(uint32_t realm, uint32_t count) {
  if (realm == STROBE_NO_REALM) {
    return stack_->everything;
  }
  size_t* frames = stack_->realm_frames + realm;
  if (*frames + count > stack_->max_frames) {
    return false;
  }
  *frames += count;
  openRealms_ -= *frames == stack_->max_frames;
  return true;
}

void StackWriter::noteSettled() {
  builtInsBegin_ = stack_->frames_length;
  if (stack_->everything) {
    stack_->complete_length = stack_->frame_count;
  }
}

bool StackWriter::appendSame(const StrobeKeptFrame& same) {
  bool mayBeSame = isSettled() && total_ + same.count <= stack_->max_frames && hasRoom(same.count);
  if (!mayBeSame || !countForRealm(same.realm, same.count)) {
    return false;
  }
  total_ += same.count;
  StrobeFrame* last = stack_->frames_length ? &stack_->frames[stack_->frames_length - 1] : nullptr;
  if (last && last->known == STROBE_SAME && last->code_offset + last->position.line == same.index) {
    last->position.line += same.count;
  } else {
    stack_->frames[stack_->frames_length++] = {STROBE_SAME, same.index, {same.count, 0}, 0};
  }
  stack_->frame_count += same.count;
  noteSettled();
  return true;
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

// Recursion repeats a few functions. Their text is written once.
bool StackWriter::reuseText(size_t index) {
  constexpr size_t Lookback = 8;
  size_t oldest = index > Lookback ? index - Lookback : 0;
  for (size_t i = index; i-- > oldest;) {
    if (haveSameFunction(i, index)) {
      stack_->functions[index] = stack_->functions[i];
      stack_->frames[index].flags = stack_->frames[i].flags;
      return true;
    }
  }
  return false;
}

void StackWriter::dropText(const Added& added) {
  if (added.text == &hiddenText_) {
    // What pages may see does not depend on the text of hidden functions.
    makeMark(size_t(added.frame - stack_->frames), added.function->key.realm);
    return;
  }
  added.function->name = {};
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
  *text = {uint32_t(offset), uint32_t(length), encoding, false};
  return true;
}

}  // namespace strobe

uint64_t strobe_hash_position(uint32_t function, uint32_t code_offset) {
  uint64_t hash = (uint64_t(function) << 32 | code_offset) * Multiplier;
  return hash ^ hash >> 32;
}

uint64_t strobe_hash_function(const StrobeFunctionKey* function) {
  auto pair = [](uint32_t high, uint32_t low) { return uint64_t(high) << 32 | low; };
  uint64_t hash = function->realm;
  for (uint64_t word : {pair(function->source_id, function->source_start),
                        pair(function->source_end, function->line), pair(function->column, function->kind)}) {
    hash = (hash ^ word) * Multiplier;
    hash ^= hash >> 32;
  }
  return hash;
}
