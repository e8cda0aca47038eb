/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the sampling component asks of SpiderMonkey. The Rust face, spidermonkey/mod.rs, declares the
// same structures: change both together.

#ifndef strobe_js_profiler_glue_h
#define strobe_js_profiler_glue_h

#include <stddef.h>
#include <stdint.h>

struct JSContext;
class ProfilingStack;

extern "C" {

enum StrobeTextEncoding : uint8_t {
  STROBE_TEXT_LATIN1 = 0,
  STROBE_TEXT_UTF16 = 1,
  STROBE_TEXT_UTF8 = 2,
};

// A piece of text in StrobeStack::text. Offset and length are in bytes.
struct StrobeText {
  uint32_t offset;
  uint32_t length;
  StrobeTextEncoding encoding;
};

// The function itself is written in the engine's own language and must not be shown as a script.
constexpr uint8_t STROBE_FRAME_SELF_HOSTED = 1;
// The script was fetched from another origin without CORS.
constexpr uint8_t STROBE_FRAME_MUTED = 2;
// The text of the frame did not fit; name and resource are empty.
constexpr uint8_t STROBE_FRAME_NO_TEXT = 4;

// One function or top-level script on the stack, by what identifies it for as long as the process
// lives: no pointer into the garbage-collected heap outlasts the walk.
struct StrobeFrame {
  uint64_t realm;
  // ScriptSource::id() and the extent of the function in that source.
  uint32_t source_id;
  uint32_t source_start;
  uint32_t source_end;
  // 1-based; where the parameter list begins.
  uint32_t line;
  uint32_t column;
  StrobeText name;
  // Empty for code that comes from no URL: eval and new Function.
  StrobeText resource;
  uint8_t flags;
};

// Made beforehand by the sampling thread, which must not allocate during the walk.
struct StrobeStack {
  StrobeFrame* frames;
  size_t frames_capacity;
  // Written by the walk: frames from the leaf to the root.
  size_t frames_length;
  uint8_t* text;
  size_t text_capacity;
  size_t text_length;
  // Whether there were more frames than frames_capacity.
  bool truncated;
};

struct StrobeRegisters {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
};

enum StrobeWalk : uint32_t {
  STROBE_WALK_STACK = 0,
  // No JavaScript is running.
  STROBE_WALK_IDLE = 1,
  // The engine forbids walking now: it is collecting garbage or changing its tables.
  STROBE_WALK_FORBIDDEN = 2,
  // The stack contradicts itself.
  STROBE_WALK_INCONSISTENT = 3,
};

// Whether no JavaScript is on the context's stack. Reads one word, so it may be asked while the
// context's thread runs; the answer may be out of date by then, as any sample is.
bool strobe_is_idle(JSContext* cx);

// Walks the stack of `cx`, in the engine's stock profiling mode, into `stack`.
//
// The context's thread must be stopped, with `registers` the ones it was stopped with, on a stack
// that spans [stack_low, stack_high). Allocates nothing and takes no lock.
StrobeWalk strobe_walk_stock(JSContext* cx, const StrobeRegisters* registers,
                             uintptr_t stack_low, uintptr_t stack_high,
                             StrobeStack* stack);

// The engine's stock profiling mode, on the context's thread. The profiling stack must stay installed
// for as long as script may be running: frames that were entered with it pop themselves from it. Null
// if there is no memory.
ProfilingStack* strobe_install_stock(JSContext* cx);
// Switching discards all JIT code.
void strobe_set_stock_enabled(JSContext* cx, bool enabled);
// Frees the profiling stack. No script may be running.
void strobe_uninstall_stock(JSContext* cx, ProfilingStack* stack);

// The realm that the context is in, as StrobeFrame::realm has it; 0 for none.
uint64_t strobe_current_realm(JSContext* cx);

}  // extern "C"

#endif  // strobe_js_profiler_glue_h
