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

enum StrobeFrameKind : uint8_t {
  // A function or top-level script of a page.
  STROBE_FRAME_SCRIPT = 0,
  // A function of the engine that is written in JavaScript: built-ins and their helpers.
  STROBE_FRAME_SELF_HOSTED = 1,
  // A function of the engine or of the browser that is written in C++ or Rust.
  STROBE_FRAME_NATIVE = 2,
  STROBE_FRAME_WASM = 3,
};

// The script was fetched from another origin without CORS.
constexpr uint8_t STROBE_FRAME_MUTED = 1;
// The text of the frame did not fit; name and resource are empty.
constexpr uint8_t STROBE_FRAME_NO_TEXT = 2;
// Stands for functions of which nothing may be told: see StrobeStack::realms.
constexpr uint8_t STROBE_FRAME_HIDDEN = 4;

// The name is not the function's own: the parser made it up from where the function stands.
constexpr uint8_t STROBE_FRAME_GUESSED_NAME = 8;

// What identifies a function for as long as the process lives: no pointer into the garbage-collected
// heap outlasts the walk. For a script the id and the extent of the function in its source; for a
// function without a script, a digest of its text.
struct StrobeFunctionKey {
  // 0 for a native that is of its caller's realm, or has called something: then its realm cannot be told any more.
  uint64_t realm;
  uint32_t source_id;
  uint32_t source_start;
  uint32_t source_end;
  // 1-based; where the parameter list begins. 0 for a function without a script.
  uint32_t line;
  uint32_t column;
  StrobeFrameKind kind;
};

// Where a frame is on the stack, to see later whether it is still there. Functions that are inlined
// into one frame share its place.
struct StrobeFramePlace {
  uintptr_t address;
  // 0 for a frame of the C++ interpreter, which is not on the thread's own stack, and for one of native code.
  uintptr_t return_address;
  // The callee token, or where the native's code begins; 0 where there is neither.
  uintptr_t callee;
};

// What a frame was executing, at the leaf, or calling.
struct StrobePosition {
  // 1-based; 0 if it is not known, and for WebAssembly.
  uint32_t line;
  // 1-based, in UTF-16 code units. Of WebAssembly the offset in the module, in bytes. 0 if it is not known.
  uint32_t column;
};

struct StrobeFrame {
  StrobeFunctionKey function;
  // One more than its place in StrobeKnownFunctions::functions, and then without text; 0 if it is not there.
  uint32_t known;
  StrobeText name;
  // Empty for code that comes from no URL: eval and new Function, and built-ins.
  StrobeText resource;
  StrobeFramePlace place;
  uint8_t flags;
  // Where in the function's bytecode the position is; of no meaning if the position is not known.
  uint32_t code_offset;
  // Only where StrobeStack::everything asks for it.
  StrobePosition position;
};

// A position that the sampling thread has.
struct StrobeKnownPosition {
  // One more than the function's place in StrobeKnownFunctions::functions; 0 for a free slot.
  uint32_t function;
  uint32_t code_offset;
  StrobePosition position;
};

// The functions of which the sampling thread has the text already, as a hash table with linear probing.
struct StrobeKnownFunctions {
  const StrobeFunctionKey* functions;
  // One more than a place in `functions`; 0 is a free slot, of which there are always some. Where a function
  // is looked for first is the remainder of strobe_hash_function by their number.
  const uint32_t* slots;
  // A power of two, or 0 if there are none.
  size_t slots_length;
  // A hash table with linear probing, of which some slots are always free, for strobe_hash_position.
  const StrobeKnownPosition* positions;
  // A power of two, or 0 if there are none.
  size_t positions_length;
};

// The code of a native function that scripts can call.
struct StrobeNative {
  uintptr_t begin;
  uintptr_t end;
  // ASCII; lives as long as the process.
  const uint8_t* name;
  uint32_t name_length;
  // Of the name.
  uint32_t hash;
};

// What is known of the program's code and of the libraries that it has loaded.
struct StrobeNativeCode {
  // In the order of their addresses, without overlap.
  const StrobeNative* natives;
  size_t natives_length;
  // The program's own code, which is compiled with frame pointers: [program_begin, program_end).
  uintptr_t program_begin;
  uintptr_t program_end;
  // The engine's function that leaves frames when something throws: [exception_begin, exception_end).
  uintptr_t exception_begin;
  uintptr_t exception_end;
  // For strobe_unwind.
  void* unwinder;
};

// Made beforehand by the sampling thread, which must not allocate during the walk.
struct StrobeStack {
  // Room for max_frames, and for each realm twice as many and one more.
  StrobeFrame* frames;
  size_t frames_capacity;
  // At most so many frames, counted from the leaf; if there are realms, so many that pages in each of them may see.
  size_t max_frames;
  // If there are any: the stack is for pages in these realms. What they may not see, of other realms or muted,
  // does not count, so that it cannot push out what they may see: functions that are next to each other are one
  // frame without text, and built-ins that they call are left out.
  const uint64_t* realms;
  size_t realms_length;
  // For each realm, how many frames count. Written by the walk.
  size_t* realm_frames;
  // Whether the stack is also for somebody who may see everything, of the first max_frames frames. If there are no
  // realms it is for nobody else.
  bool everything;
  StrobeKnownFunctions known;
  StrobeNativeCode native_code;
  // Written by the walk: frames from the leaf to the root.
  size_t frames_length;
  // Of these, so many from the leaf are without anything left out.
  size_t complete_length;
  uint8_t* text;
  size_t text_capacity;
  // Whether older frames were left out for want of room.
  bool truncated;
  // Whether there were more frames than `complete_length`.
  bool complete_truncated;
  // Whether more room for text is wanted.
  bool text_lost;
  // What was wrong, after STROBE_WALK_INCONSISTENT; lives as long as the process.
  const char* contradiction;
};

// The registers of a stopped thread, and the bounds of its stack: [stack_low, stack_high).
struct StrobeStopped {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
  // What code of WebAssembly has its instance in.
  uintptr_t wasm_instance;
  uintptr_t stack_low;
  uintptr_t stack_high;
};

enum StrobeWalk : uint32_t {
  STROBE_WALK_STACK = 0,
  // No JavaScript is running.
  STROBE_WALK_IDLE = 1,
  // The engine is collecting garbage.
  STROBE_WALK_COLLECTING = 2,
  // The stack contradicts itself, or the engine is changing what the walk needs.
  STROBE_WALK_INCONSISTENT = 3,
};

// mod.rs and native_code.rs assert the same.
static_assert(sizeof(StrobeText) == 12 && offsetof(StrobeText, encoding) == 8);
static_assert(sizeof(StrobeFunctionKey) == 32 && offsetof(StrobeFunctionKey, kind) == 28);
static_assert(sizeof(StrobeFramePlace) == 24);
static_assert(sizeof(StrobeFrame) == 104 && offsetof(StrobeFrame, known) == 32);
static_assert(offsetof(StrobeFrame, place) == 64 && offsetof(StrobeFrame, flags) == 88);
static_assert(offsetof(StrobeFrame, code_offset) == 92 && offsetof(StrobeFrame, position) == 96);
static_assert(sizeof(StrobeKnownPosition) == 16 && offsetof(StrobeKnownPosition, position) == 8);
static_assert(sizeof(StrobeKnownFunctions) == 40);
static_assert(sizeof(StrobeNative) == 32 && sizeof(StrobeNativeCode) == 56);
static_assert(sizeof(StrobeStack) == 200 && offsetof(StrobeStack, known) == 56);
static_assert(offsetof(StrobeStack, native_code) == 96 && offsetof(StrobeStack, text) == 168);
static_assert(offsetof(StrobeStack, contradiction) == 192);
static_assert(sizeof(StrobeStopped) == 48 && offsetof(StrobeStopped, stack_low) == 32);

// For StrobeKnownFunctions.
uint64_t strobe_hash_function(const StrobeFunctionKey* function);
uint64_t strobe_hash_position(uint32_t function, uint32_t code_offset);
// For StrobeNative.
uint32_t strobe_hash_name(const char* name, size_t length);

// The registers that say where a native frame is.
struct StrobeRegisters {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
};

// Goes from a frame of native code to its caller, by the tables that compilers write for that. `leaf`: `pc` is of
// a stopped thread, and no return address. The stack is read within `low` and `high`. False if that is not
// possible, or the caller's frame were no older one. Written in Rust: see native_code.rs.
bool strobe_unwind(void* unwinder, StrobeRegisters* registers, bool leaf, uintptr_t low, uintptr_t high);
static_assert(sizeof(StrobeRegisters) == 24);

// Calls `take` with each entry of the engine's table of natives, the last one first, until it says false. The name is
// ASCII, lives as long as the process, and is empty if the code is shared by functions of several names.
void strobe_each_native(bool (*take)(void* taker, uintptr_t code, const uint8_t* name, size_t name_length),
                        void* taker);
// Where StrobeNativeCode::exception_begin is.
uintptr_t strobe_exception_handler();
// How often an entry was added, or has lost its name.
uint64_t strobe_natives_version();

// Whether no JavaScript is on the context's stack. Reads one word, so it may be asked while the
// context's thread runs; the answer may be out of date by then, as any sample is.
bool strobe_is_idle(JSContext* cx);

// Walk the stack of `cx` into `stack`: by table_walk.cpp, or in the engine's stock mode (stock_mode.cpp), which is there
// with the feature `stock_walk` alone.
//
// Called by the context's own thread, in the handler of the signal that stopped it. Allocate nothing, take no
// lock, and use little stack.
StrobeWalk strobe_walk_table(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack);
StrobeWalk strobe_walk_stock(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack);

// How many of `places`, which are from the root to the leaf, are still on the stack of `cx`, counted
// from the root. May be asked while garbage is collected: it looks at no cell.
//
// As for the walks.
size_t strobe_count_kept(JSContext* cx, const StrobeStopped* stopped, const StrobeNativeCode* code,
                         const StrobeFramePlace* places, size_t length);

// The engine's stock profiling mode, on the context's thread. The profiling stack must stay installed
// for as long as script may be running: frames that were entered with it pop themselves from it. Null
// if there is no memory.
ProfilingStack* strobe_install_stock(JSContext* cx);
// Switching discards all JIT code.
void strobe_set_stock_enabled(JSContext* cx, bool enabled);
// Frees the profiling stack. No script may be running.
void strobe_uninstall_stock(JSContext* cx, ProfilingStack* stack);

// The realm that the context is in, as StrobeFunctionKey::realm has it; 0 for none.
uint64_t strobe_current_realm(JSContext* cx);

}  // extern "C"

#endif  // strobe_js_profiler_glue_h
