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

}  // namespace strobe
