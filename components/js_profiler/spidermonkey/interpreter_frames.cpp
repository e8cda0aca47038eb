/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The interpreter keeps its frames in memory that is allocated and released in order, so at every instruction it is
// known which part is in use. The walk follows a pointer only if it leads to a frame in that part.

#include "interpreter_frames.h"

#include <stddef.h>
#include <stdint.h>

#include <algorithm>

#include "ds/LifoAlloc.h"
#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"
#include "vm/Stack.h"

#include "glue.h"
#include "reveal.h"
#include "work.h"

using namespace js;
using js::detail::BumpChunk;

namespace strobe {

using Chunks = js::detail::SingleLinkedList<BumpChunk>;

struct Allocator : Private<InterpreterStack, LifoAlloc> {
  friend constexpr Pointer Find(Allocator);
};
template struct Reveal<Allocator, &InterpreterStack::allocator_>;

struct SmallChunks : Private<LifoAlloc, Chunks> {
  friend constexpr Pointer Find(SmallChunks);
};
template struct Reveal<SmallChunks, &LifoAlloc::chunks_>;

// Chunks for large frames.
struct LargeChunks : Private<LifoAlloc, Chunks> {
  friend constexpr Pointer Find(LargeChunks);
};
template struct Reveal<LargeChunks, &LifoAlloc::oversize_>;

// How much of the memory was in use when the frame was made.
struct FrameMark : Private<InterpreterFrame, LifoAlloc::Mark> {
  friend constexpr Pointer Find(FrameMark);
};
template struct Reveal<FrameMark, &InterpreterFrame::mark_>;

struct SmallMark : Private<LifoAlloc::Mark, BumpChunk::Mark> {
  friend constexpr Pointer Find(SmallMark);
};
template struct Reveal<SmallMark, &LifoAlloc::Mark::chunk>;

namespace {

// More frames than there can be on the stack.
constexpr size_t MostFrames = 1 << 16;

class FrameMemory {
  const LifoAlloc& allocator_;
  Work& work_;
  // The chunk that had the last frame. Frames are allocated in order.
  mutable const BumpChunk* last_ = nullptr;

 public:
  FrameMemory(JSContext* cx, Work& work) : allocator_(cx->interpreterStack().*Find(Allocator())), work_(work) {}

  bool holds(const InterpreterFrame* frame) const {
    return isInUse(frame) && isKnown((frame->*Find(FrameMark())).*Find(SmallMark()));
  }

 private:
  const Chunks& smallChunks() const { return allocator_.*Find(SmallChunks()); }

  static bool isIn(const BumpChunk& chunk, const InterpreterFrame* frame) {
    auto* first = reinterpret_cast<const uint8_t*>(frame);
    return first >= chunk.begin() && first < chunk.end() && size_t(chunk.end() - first) >= sizeof(InterpreterFrame);
  }

  bool isInUse(const InterpreterFrame* frame) const {
    if (reinterpret_cast<uintptr_t>(frame) % alignof(InterpreterFrame)) {
      return false;
    }
    if (last_ && isIn(*last_, frame)) {
      return true;
    }
    for (const Chunks* chunks : {&smallChunks(), &(allocator_.*Find(LargeChunks()))}) {
      for (const BumpChunk& chunk : *chunks) {
        if (!work_.take(Cost::Look)) {
          return false;
        }
        if (isIn(chunk, frame)) {
          last_ = &chunk;
          return true;
        }
      }
    }
    return false;
  }

  // Whether a frame in use may have this mark. It is empty if there was no chunk yet.
  bool isKnown(BumpChunk::Mark mark) const {
    if (!mark.markedChunk()) {
      return true;
    }
    if (last_ == mark.markedChunk()) {
      return last_->contains(mark);
    }
    for (const BumpChunk& chunk : smallChunks()) {
      if (!work_.take(Cost::Look)) {
        return false;
      }
      if (&chunk == mark.markedChunk()) {
        return chunk.contains(mark);
      }
    }
    return false;
  }
};

bool HasFrame(InterpreterActivation* activation, const InterpreterFrame* wanted, Work& work) {
  for (InterpreterFrame* frame = activation->current(); frame && work.take(Cost::Look); frame = frame->prev()) {
    if (frame == wanted) {
      return true;
    }
    if (frame == activation->entryFrame()) {
      break;
    }
  }
  return false;
}

// Calls `look` with each frame, from the youngest, until it returns false.
template <typename Look>
void EachFrame(JSContext* cx, Work& work, Look look) {
  for (Activation* activation = cx->activation(); activation; activation = activation->prev()) {
    if (!activation->isInterpreter()) {
      continue;
    }
    InterpreterActivation* interpreter = activation->asInterpreter();
    for (InterpreterFrame* frame = YoungestFrame(cx, interpreter, work); frame; frame = frame->prev()) {
      if (!work.take(Cost::Look) || !look(frame)) {
        return;
      }
      if (frame == interpreter->entryFrame()) {
        break;
      }
    }
  }
}

// The places of the interpreter's frames among those of an earlier walk. Frames that no reader may see are not among them.
class InterpreterPlaces {
  const StrobeFramePlace* places_;
  Work& work_;
  // A bit for the addresses of each place, so that most other frames need not be searched for.
  static constexpr size_t Bits = 4096;
  uint64_t mayHave_[Bits / 64] = {};

  static size_t bitOf(uintptr_t address) {
    // The multiplier of Knuth's multiplicative hashing for 64 bits.
    constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;
    return size_t((address * Multiplier) >> 52);
  }

 public:
  InterpreterPlaces(const StrobeFramePlace* places, size_t length, Work& work) : places_(places), work_(work) {
    for (size_t i = before(length); i != None; i = before(i)) {
      size_t bit = bitOf(places[i].address);
      mayHave_[bit / 64] |= uint64_t(1) << bit % 64;
    }
  }

  static constexpr size_t None = SIZE_MAX;

  // The index of the last one before an index; None if there is none, or if nothing is left of the work.
  size_t before(size_t index) const {
    while (index-- > 0 && work_.take(Cost::Look)) {
      if (places_[index].kind == STROBE_PLACE_INTERPRETER) {
        return index;
      }
    }
    return None;
  }

  bool isAt(size_t index, const InterpreterFrame* frame) const {
    return places_[index].address == reinterpret_cast<uintptr_t>(frame) &&
           places_[index].callee == reinterpret_cast<uintptr_t>(frame->script());
  }

  // The index of a frame's place, among those before an index.
  size_t find(const InterpreterFrame* frame, size_t end) const {
    size_t bit = bitOf(reinterpret_cast<uintptr_t>(frame));
    if (!(mayHave_[bit / 64] >> bit % 64 & 1)) {
      return None;
    }
    size_t index = before(end);
    while (index != None && !isAt(index, frame)) {
      index = before(index);
    }
    return index;
  }
};

}  // namespace

InterpreterFrame* YoungestFrame(JSContext* cx, InterpreterActivation* activation, Work& work) {
  InterpreterFrame* youngest = activation->current();
  // An older activation has called the younger one, so it has a frame.
  if (activation != cx->activation()) {
    return youngest;
  }
  FrameMemory memory(cx, work);
  size_t frames = 0;
  for (InterpreterFrame* frame = youngest;; frame = frame->prev()) {
    if (!work.take(Cost::Look) || !memory.holds(frame) || ++frames > MostFrames) {
      return nullptr;
    }
    if (frame == activation->entryFrame()) {
      break;
    }
  }
  // Words left on the stack may lead to the frames of an older activation.
  for (Activation* older = activation->prev(); older; older = older->prev()) {
    if (older->isInterpreter() && HasFrame(older->asInterpreter(), activation->entryFrame(), work)) {
      return nullptr;
    }
  }
  return work.isDone() ? nullptr : youngest;
}

// Both lists have the order of the stack. So the youngest frame that has a place is met first, and then those of all older
// places must be met, with other frames in between.
size_t EndOfKeptInterpreterFrames(JSContext* cx, const StrobeFramePlace* places, size_t length, Work& work) {
  constexpr size_t None = InterpreterPlaces::None;
  InterpreterPlaces known(places, length, work);
  size_t end = length;
  while (!work.isDone() && known.before(end) != None) {
    size_t youngest = None, next = None;
    EachFrame(cx, work, [&](const InterpreterFrame* frame) {
      if (youngest == None) {
        youngest = known.find(frame, end);
        next = youngest == None ? None : known.before(youngest);
        return youngest == None || next != None;
      }
      if (known.isAt(next, frame)) {
        next = known.before(next);
      }
      return next != None;
    });
    if (youngest == None) {
      return 0;
    }
    if (next == None) {
      return youngest + 1;
    }
    // A frame is gone, and another one has the place of a younger one.
    end = next;
  }
  return 0;
}

}  // namespace strobe
