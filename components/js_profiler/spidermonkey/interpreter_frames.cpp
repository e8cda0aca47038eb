/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The interpreter keeps its frames in memory that is allocated and released in order, so at every instruction it is
// known which part is in use. The walk follows a pointer only if it leads to a frame in that part.

#include "interpreter_frames.h"

#include <stddef.h>
#include <stdint.h>

#include "ds/LifoAlloc.h"
#include "vm/Activation.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"
#include "vm/Stack.h"

#include "reveal.h"

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

 public:
  explicit FrameMemory(JSContext* cx) : allocator_(cx->interpreterStack().*Find(Allocator())) {}

  bool holds(const InterpreterFrame* frame) const {
    return isInUse(frame) && isKnown((frame->*Find(FrameMark())).*Find(SmallMark()));
  }

 private:
  const Chunks& smallChunks() const { return allocator_.*Find(SmallChunks()); }

  bool isInUse(const InterpreterFrame* frame) const {
    if (reinterpret_cast<uintptr_t>(frame) % alignof(InterpreterFrame)) {
      return false;
    }
    auto hasIn = [&](const Chunks& chunks) {
      for (const BumpChunk& chunk : chunks) {
        auto* first = reinterpret_cast<const uint8_t*>(frame);
        if (first >= chunk.begin() && first < chunk.end() && size_t(chunk.end() - first) >= sizeof(InterpreterFrame)) {
          return true;
        }
      }
      return false;
    };
    return hasIn(smallChunks()) || hasIn(allocator_.*Find(LargeChunks()));
  }

  // Whether a frame in use may have this mark. It is empty if there was no chunk yet.
  bool isKnown(BumpChunk::Mark mark) const {
    if (!mark.markedChunk()) {
      return true;
    }
    for (const BumpChunk& chunk : smallChunks()) {
      if (&chunk == mark.markedChunk()) {
        return chunk.contains(mark);
      }
    }
    return false;
  }
};

bool HasFrame(InterpreterActivation* activation, const InterpreterFrame* wanted) {
  for (InterpreterFrame* frame = activation->current(); frame; frame = frame->prev()) {
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

InterpreterFrame* YoungestFrame(JSContext* cx, InterpreterActivation* activation) {
  InterpreterFrame* youngest = activation->current();
  // An older activation has called the younger one, so it has a frame.
  if (activation != cx->activation()) {
    return youngest;
  }
  FrameMemory memory(cx);
  size_t frames = 0;
  for (InterpreterFrame* frame = youngest;; frame = frame->prev()) {
    if (!memory.holds(frame) || ++frames > MostFrames) {
      return nullptr;
    }
    if (frame == activation->entryFrame()) {
      break;
    }
  }
  // Words left on the stack may lead to the frames of an older activation.
  for (Activation* older = activation->prev(); older; older = older->prev()) {
    if (older->isInterpreter() && HasFrame(older->asInterpreter(), activation->entryFrame())) {
      return nullptr;
    }
  }
  return youngest;
}

}  // namespace strobe
