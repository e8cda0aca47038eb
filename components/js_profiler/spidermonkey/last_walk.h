/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames of the last stack are on this stack, too. Such a frame is neither looked up nor written again.

#ifndef strobe_js_profiler_last_walk_h
#define strobe_js_profiler_last_walk_h

#include "glue.h"
#include "jit_code.h"

namespace strobe {

// The last walk of a thread, and the present one while it goes from the leaf to the root.
//
// A frame of JIT code that has called something is the same as a frame of the last stack if it has the same address, the
// same callee, and the same return address in its own code, and if no major collection has swept the table of code since.
// Code is a cell, so only such a collection frees it. Then the frame has the same functions at the same positions, for the
// reasons that call_sites.h gives: the return address says which script it is, or the callee does, where several scripts
// share the code. The frame itself may have been left and entered again. That makes no difference. Each frame is compared,
// because older frames may have changed although a younger one has not.
//
// Only a frame whose functions were all written by themselves is kept: see StackWriter::appendCallSite. What is written
// for built-ins, for instance, depends on their callers.
class LastWalk {
  StrobeLastWalk* walk_;
  const JitCode& code_;
  bool isBase_;
  // The youngest frame of the last stack that may still be met. All others are younger than the present frame.
  size_t next_ = 0;
  // How many frames of the present stack are kept.
  size_t length_ = 0;

 public:
  LastWalk(const StrobeStack& stack, const JitCode& code)
      : walk_(stack.known.last_walk), code_(code),
        isBase_(walk_ && stack.base && walk_->number == stack.base && walk_->max_frames == stack.max_frames &&
                walk_->sweeps == code.sweeps()) {}

  // What is kept of a frame; null if nothing is. `next` is at first 0, and then what the call for a younger frame has
  // left there.
  const StrobeKeptFrame* find(uintptr_t address, uintptr_t call, uintptr_t callee, size_t* next) const {
    if (!isBase_) {
      return nullptr;
    }
    const StrobeKeptFrame* frames = walk_->frames + walk_->begin;
    while (*next < walk_->length && frames[*next].address < address) {
      ++*next;
    }
    if (*next == walk_->length) {
      return nullptr;
    }
    const StrobeKeptFrame& frame = frames[*next];
    bool isSame = frame.address == address && frame.call == call && frame.callee == callee;
    return isSame ? &frame : nullptr;
  }
  // The same for the next frame of the walk.
  const StrobeKeptFrame* find(uintptr_t address, uintptr_t call, uintptr_t callee) {
    return find(address, call, callee, &next_);
  }
  // Where `find` looks for the next frame of the walk.
  size_t next() const { return next_; }

  // Keeps a frame for the next walk.
  void keep(const StrobeKeptFrame& frame) {
    if (walk_ && length_ < walk_->capacity) {
      walk_->frames[walk_->capacity - walk_->begin + length_++] = frame;
    }
  }

  // The walk has found the whole stack.
  void end(StrobeStack* stack) {
    if (!walk_) {
      return;
    }
    walk_->begin = walk_->capacity - walk_->begin;
    walk_->length = length_;
    walk_->sweeps = code_.sweeps();
    walk_->max_frames = stack->max_frames;
    stack->number = ++walk_->number;
  }
};

}  // namespace strobe

#endif  // strobe_js_profiler_last_walk_h
