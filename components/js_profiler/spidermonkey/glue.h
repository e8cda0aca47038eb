/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the sampling component asks of SpiderMonkey. bindgen declares it in Rust (ffi.rs), with these comments. Two
// structures are those of Rust code that knows no engine: StrobeStopped is `Stopped` in ../stop/linux.rs, and
// StrobeRegisters is `FrameRegisters` in ../arch_x86_64.rs. Change both sides of these together.

#ifndef strobe_js_profiler_glue_h
#define strobe_js_profiler_glue_h

#include <stddef.h>
#include <stdint.h>

struct JSContext;
class JSObject;

// vm/SourceTable.h of the hooked engine declares the same.
extern "C" {
void strobe_remember_sources(bool remember);
bool strobe_read_source(uint8_t kind, uint32_t number, size_t most,
                        void (*take)(void* taker, const uint8_t* name, size_t length, size_t whole, bool is_introduced),
                        void* taker);
}

extern "C" {

// How text is encoded.
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
  // Whether the whole text is longer. The end may be a part of a character.
  bool is_cut;
};

// The most bytes of a name that a walk copies.
constexpr size_t STROBE_MAX_NAME = 1024;

// The kind of code that a frame belongs to.
enum StrobeFrameKind : uint8_t {
  // A function or top-level script of a page.
  STROBE_FRAME_SCRIPT = 0,
  // A function of the engine that is written in JavaScript: built-ins and their helpers.
  STROBE_FRAME_SELF_HOSTED = 1,
  // A function of the engine or of the browser that is written in C++ or Rust.
  STROBE_FRAME_NATIVE = 2,
  // A function of a WebAssembly module.
  STROBE_FRAME_WASM = 3,
};

// The script was fetched from another origin without CORS, or such a script has made the code.
constexpr uint8_t STROBE_FRAME_MUTED = 1;
// The name of the function did not fit, and is empty.
constexpr uint8_t STROBE_FRAME_NO_TEXT = 2;
// The frame stands for functions that the pages may not see: see StrobeStack::realms.
constexpr uint8_t STROBE_FRAME_HIDDEN = 4;

// The parser made the name up from where the function stands. It is not the function's own name.
constexpr uint8_t STROBE_FRAME_GUESSED_NAME = 8;

// Identifies a function for as long as the process lives. It has no pointer into the garbage-collected heap,
// because no such pointer outlasts the walk.
struct StrobeFunctionKey {
  // The address of the realm. 0 for a native that belongs to its caller's realm. Also 0 for a native that has
  // called something, because its realm cannot be determined then.
  uint64_t realm;
  // The number of the script's source, or of the WebAssembly module. 0 for a native.
  uint32_t source_id;
  // Of a script: the extent of the function in it. Of WebAssembly: the index of the function, and 0. Of a native: the
  // hash of its name, and 0.
  uint32_t source_start;
  uint32_t source_end;
  // Where the parameter list begins, 1-based. 0 for a function without a script.
  uint32_t line;
  uint32_t column;
  StrobeFrameKind kind;
};

// The position of a frame in its source: that of the call that it was making or, in the leaf, of the code that it was
// executing.
struct StrobePosition {
  // 1-based; 0 if it is not known, and for WebAssembly.
  uint32_t line;
  // 1-based, in UTF-16 code units. For WebAssembly, the offset in the module, in bytes. 0 if it is not known.
  uint32_t column;
};

constexpr uint32_t STROBE_SAME = UINT32_MAX;

// What every frame of a stack has. It is small, because the sampling thread reads it on another processor. The next walk
// has to get each of these lines of memory back from there.
struct StrobeFrame {
  // One more than the function's index in StrobeKnownFunctions::functions. 0 if the function is not there. Then
  // StrobeStack::functions has it. STROBE_SAME if this stands for frames of the stack before: the first one, counted from
  // that stack's leaf, is `code_offset`, and their number is `position.line`.
  uint32_t known;
  // The offset of the position in the function's bytecode. It has no meaning if the position is not known.
  uint32_t code_offset;
  // For scripts, known only where StrobeStack::everything asks for it.
  StrobePosition position;
  uint8_t flags;
};

// A function of a frame that is not in StrobeKnownFunctions.
struct StrobeNewFunction {
  StrobeFunctionKey key;
  StrobeText name;
};

// A position that the sampling thread already knows.
struct StrobeKnownPosition {
  // One more than the function's index in StrobeKnownFunctions::functions; 0 for a free slot.
  uint32_t function;
  uint32_t code_offset;
  StrobePosition position;
};

// The greatest number of functions that a StrobeCallSite holds. A slot is as long as a line of the processor's cache.
constexpr size_t STROBE_MAX_INLINED = 3;

// How many slots there are for the calls with the same hash.
constexpr size_t STROBE_CALL_SITE_WAYS = 2;

// The functions of a frame of JIT code that has called something: see call_sites.h.
struct alignas(64) StrobeCallSite {
  uintptr_t return_address;
  // The callee token of the frame; 0 if a minor collection may put another function there.
  uintptr_t callee;
  // The script whose code it is.
  uintptr_t script;
  // What JitcodeGlobalTable::removals() was when the code was there.
  uint64_t removals;
  // StrobeFrame::known of each function, from the leaf.
  uint32_t known[STROBE_MAX_INLINED];
  // The offset of the call in the bytecode of each. UINT32_MAX if it was not asked for.
  uint32_t code_offsets[STROBE_MAX_INLINED];
  // StrobeFrame::flags of each.
  uint8_t flags[STROBE_MAX_INLINED];
  // How many functions there are. Those beyond the third are in the next slot, which nothing else is in.
  uint8_t length;
  // What JitcodeGlobalTable::sweeps() was, if several scripts share the code; 0 for the code of one script.
  uint32_t sweeps;
};

// The size of a block of JIT code. A power of two.
constexpr size_t STROBE_CODE_BLOCK = 512;

// An entry of the table of JIT code that was found for an address of a block: see jit_code.h.
struct StrobeCodeBlock {
  // The address divided by STROBE_CODE_BLOCK.
  uintptr_t number;
  // Its address.
  uintptr_t entry;
  // What JitcodeGlobalTable::removals() was when the entry was in the table.
  uint64_t removals;
};

// A frame of JIT code that has called something, and what a walk has written for it: see last_walk.h.
struct StrobeKeptFrame {
  uintptr_t address;
  // The return address of what it has called.
  uintptr_t call;
  // The callee token.
  uintptr_t callee;
  // The first of the frames that were written, counted from the leaf.
  uint32_t index;
  // How many there are: the function of the frame, and those that are inlined into it.
  uint32_t count;
  // The index of their realm in StrobeStack::realms; STROBE_NO_REALM if no page may see them.
  uint32_t realm;
};

constexpr uint32_t STROBE_NO_REALM = UINT32_MAX;

// The last stack that was walked, for the next walk of the same thread.
struct StrobeLastWalk {
  // Twice `capacity`: one half has the frames of that stack, from the leaf. The next walk puts its frames into the other.
  StrobeKeptFrame* frames;
  size_t capacity;
  // Where the frames begin: 0 or `capacity`.
  size_t begin;
  size_t length;
  // The number of the walk: 0 if there was none. Each walk that finds a stack gets the next number.
  uint64_t number;
  // What JitcodeGlobalTable::sweeps() was.
  uint32_t sweeps;
  // StrobeStack::max_frames.
  size_t max_frames;
};

// The functions whose text the sampling thread already has, as a hash table with linear probing.
struct StrobeKnownFunctions {
  const StrobeFunctionKey* functions;
  size_t functions_length;
  // One more than an index into `functions`, or 0 for a free slot. There are always free slots. The search for
  // a function begins at the slot with the index strobe_hash_function modulo slots_length.
  const uint32_t* slots;
  // A power of two, or 0 if there are none.
  size_t slots_length;
  // A hash table with linear probing, by strobe_hash_position. There are always free slots.
  const StrobeKnownPosition* positions;
  // A power of two, or 0 if there are none.
  size_t positions_length;
  // Written by walks, for later walks of the same thread. It belongs to these functions.
  StrobeCallSite* call_sites;
  // A power of two of at least 2, or 0 if there are none.
  size_t call_sites_length;
  // Written by walks, for later walks of the same thread.
  StrobeCodeBlock* code_blocks;
  // A power of two of at least 2, or 0 if there are none.
  size_t code_blocks_length;
  // Read and written by walks; null if there is none.
  StrobeLastWalk* last_walk;
};

// The code of a native function that scripts can call.
struct StrobeNative {
  uintptr_t begin;
  uintptr_t end;
  // ASCII; lives as long as the process.
  const uint8_t* name;
  uint32_t name_length;
  // The hash of the name.
  uint32_t hash;
};

constexpr size_t STROBE_NATIVE_BLOCK = 4096;

// Addresses of code: [begin, end).
struct StrobeCodeRange {
  uintptr_t begin;
  uintptr_t end;
};

// What is known of the program's code and of the libraries that it has loaded.
struct StrobeNativeCode {
  // In the order of their addresses, without overlap.
  const StrobeNative* natives;
  size_t natives_length;
  // The program's own code in blocks of STROBE_NATIVE_BLOCK bytes: the index of the first native that ends after the
  // block's begin, which may be natives_length. So few natives are looked at.
  const uint32_t* blocks;
  size_t blocks_length;
  // Where the program's own code begins.
  uintptr_t program_begin;
  // The engine's functions that call any function, and any constructor.
  StrobeCodeRange calls[2];
  // The argument for strobe_unwind.
  void* unwinder;
  // strobe_natives_version() before the natives were read, or earlier.
  uint64_t natives_version;
  // The code of the native that was then the last one in the engine's table; 0 if the table was empty.
  uintptr_t newest_native;
};

// The result of a walk. The sampling thread allocates it in advance, because the walk must not allocate.
struct StrobeStack {
  // There is room for max_frames frames, and for another 2 * max_frames + 1 frames for each realm. One element may stand
  // for several frames: see STROBE_SAME.
  StrobeFrame* frames;
  // The function of each element of `frames`. Written only if its `known` is 0.
  StrobeNewFunction* functions;
  // How many elements each of these two has room for.
  size_t frames_capacity;
  // The greatest number of frames, counted from the leaf. If there are realms, the greatest number for each of
  // them, of frames that its pages may see.
  size_t max_frames;
  // If there are any, the stack is for pages in these realms. Functions that the pages may not see, because
  // they belong to other realms or are muted, do not count, so that they cannot push out functions that the
  // pages may see. Adjacent hidden functions become one frame without text. The built-ins that hidden functions
  // call are left out.
  const uint64_t* realms;
  size_t realms_length;
  // How many frames count for each realm. Written by the walk.
  size_t* realm_frames;
  // Whether the stack is also for a recording, which may see everything in the first max_frames frames. If
  // there are no realms, the stack is for the recording only.
  bool everything;
  StrobeKnownFunctions known;
  StrobeNativeCode native_code;
  // How much the walk may do: see work.h. Counted down.
  uint32_t work_left;
  // The number of the walk whose stack the reader has: frames of that stack need not be written again, if it was for
  // the same realms and StrobeStack::everything. 0 if there is none.
  uint64_t base;
  // The number of this walk; 0 if none can be based on it. Written by the walk, like the lengths and flags below.
  uint64_t number;
  // The number of elements, which go from the leaf to the root.
  size_t frames_length;
  // The number of frames, also of those that an element of `frames` stands for.
  size_t frame_count;
  // The number of these frames, counted from the leaf, between which nothing was left out.
  size_t complete_length;
  uint8_t* text;
  size_t text_capacity;
  // Whether older frames were left out because there was no room for them.
  bool truncated;
  // Whether there were more frames than `complete_length`.
  bool complete_truncated;
  // What was wrong, if the walk has returned STROBE_WALK_INCONSISTENT. The text lives as long as the process.
  const char* contradiction;
};

// The registers of a stopped thread, and the bounds of its stack: [stack_low, stack_high).
struct StrobeStopped {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
  // The register in which the Baseline interpreter keeps the address of the bytecode.
  uintptr_t interpreter_pc;
  // The register in which Ion's generic call stub keeps the address that the callee will return to.
  uintptr_t generic_return;
  // The registers in which a tail call of WebAssembly keeps the return address and the caller's frame while it moves its
  // arguments.
  uintptr_t tail_return;
  uintptr_t tail_frame;
  uintptr_t stack_low;
  uintptr_t stack_high;
};

// How a walk went.
enum StrobeWalk : uint32_t {
  // The stack was written.
  STROBE_WALK_STACK = 0,
  // No JavaScript is running.
  STROBE_WALK_IDLE = 1,
  // The engine is moving what the walk needs, because it collects garbage.
  STROBE_WALK_COLLECTING = 2,
  // The stack contradicts itself, or the engine is changing what the walk needs.
  STROBE_WALK_INCONSISTENT = 3,
  // The walk would take too much work. There is no part of the stack.
  STROBE_WALK_TOO_LONG = 4,
  // The thread is on a stack that cannot be walked now, so that it is not known what it runs.
  STROBE_WALK_ELSEWHERE = 5,
};

// StrobeStack::work_left at first. By the costs in work.h this is some 1 ms.
constexpr uint32_t STROBE_MOST_WORK = 100000;

// The hashes of StrobeKnownFunctions.
uint64_t strobe_hash_function(const StrobeFunctionKey* function);
uint64_t strobe_hash_position(uint32_t function, uint32_t code_offset);
// The hash of StrobeNative.
uint32_t strobe_hash_name(const char* name, size_t length);

// The registers that say where a native frame is.
struct StrobeRegisters {
  uintptr_t pc;
  uintptr_t sp;
  uintptr_t fp;
};

// Goes from a frame of native code to its caller, by the unwind tables that compilers write. `leaf` says that
// `pc` is where a thread was stopped, and not a return address. The stack is read only between `low` and
// `high`. False if the caller cannot be found, or if its frame would not be older. Written in Rust: see
// unwinder.rs.
bool strobe_unwind(void* unwinder, StrobeRegisters* registers, bool leaf, uintptr_t low, uintptr_t high);
// The address at which the function of native code begins that contains `address`; 0 if that is not known. Written in
// Rust: see unwinder.rs.
uintptr_t strobe_function_begin(void* unwinder, uintptr_t address);

// Calls `take` with each entry of the engine's table of natives, until it returns false. The entry that was
// added last comes first. The native's end is not known, and is equal to its begin. The name is empty if functions with
// different names share the code, and for eval: see natives.cpp.
void strobe_each_native(bool (*take)(void* taker, const StrobeNative* native), void* taker);
// The begins of StrobeNativeCode::calls.
uintptr_t strobe_call();
uintptr_t strobe_construct();
// How many times an entry was added to the table or lost its name.
uint64_t strobe_natives_version();

// Whether no JavaScript is on the context's stack. It reads one word, so it may be called while the context's
// thread runs. The answer may be out of date when it is used, as any sample is.
bool strobe_is_idle(JSContext* cx);

// Walks the stack of `cx` into `stack`: see table_walk.cpp.
//
// The context's own thread must call it, in the handler of the signal that stopped it. It allocates nothing, takes no
// lock, and uses little stack.
StrobeWalk strobe_walk_table(JSContext* cx, const StrobeStopped* stopped, StrobeStack* stack);

// Makes the processor load the code of a walk, and the data at these addresses. Reads neither. An address may be any
// number. Returns the size of the code that is loaded, in bytes.
size_t strobe_prefetch(const uintptr_t* addresses, size_t length);

// A script, as the engine has its source.
struct StrobeSource {
  // UTF-8. The URL, or what made the script from text.
  const uint8_t* name;
  size_t name_length;
  // As in StrobeFunctionKey::realm. The realm is alive during the call.
  uint64_t realm;
  // The link to the source map, from the comment in the text. Null if there is none.
  const char16_t* map_url;
  // In code units.
  size_t map_url_length;
  // Of the text, in units of its encoding: bytes of UTF-8, or UTF-16 code units.
  size_t length;
  // StrobeFunctionKey::source_id.
  uint32_t id;
  // 1-based; where the text begins.
  uint32_t line;
  // 1-based, in UTF-16 code units.
  uint32_t column;
  // Whether the engine has the text.
  bool has_text;
};

// Whether the text is wanted.
typedef bool (*StrobeWantsText)(void* taker, const StrobeSource* source);
// Takes the text of the source that was asked about last; `length` is in bytes.
typedef void (*StrobeTakeText)(void* taker, const uint8_t* text, size_t length, StrobeTextEncoding encoding);

// Calls `wants` with each script of the context that still exists and whose id is among `ids`, which are in ascending
// order. Then calls `take` with the script's text, if the text is wanted and not empty. If there is no memory, some
// scripts are left out.
//
// Called on the context's thread, where garbage may be collected.
void strobe_each_source(JSContext* cx, const uint32_t* ids, size_t ids_length, StrobeWantsText wants,
                        StrobeTakeText take, void* taker);

// The tables that say which functions are where in JIT code. Sizes are in bytes.
struct StrobeCodeTables {
  // Compiled by Ion.
  size_t ion_entries;
  size_t ion_size;
  // Other code, and what all entries share.
  size_t other_entries;
  size_t other_size;
  // Entries of living code that the index by address does not have, and slots of the index that no such entry has. Only
  // an entry for which there was no memory may be missing.
  size_t not_indexed;
  size_t wrongly_indexed;
};

// Called on the context's own thread, never during a walk.
StrobeCodeTables strobe_measure_code_tables(JSContext* cx);

// Stands for an index that a row does not have.
constexpr uint32_t STROBE_ABSENT = UINT32_MAX;

// A sample of a trace.
struct StrobeSampleRow {
  // In milliseconds.
  double timestamp;
  // May be STROBE_ABSENT.
  uint32_t stack_id;
  // Index of the marker's name; STROBE_ABSENT if there is no marker.
  uint32_t marker;
};

// A stack of a trace.
struct StrobeStackRow {
  uint32_t frame_id;
  // May be STROBE_ABSENT.
  uint32_t parent_id;
};

// A new array of the current realm, with room for this many objects. No script may see it before it has all of them.
// Null, with a pending exception, if there is no memory. The context's own thread must call these functions, where
// garbage may be collected.
JSObject* strobe_new_table(JSContext* cx, size_t length);
// Adds a plain object for each row to such an array of the current realm. `markers` are ASCII. False, with a pending
// exception, if there is no memory. The objects that were made are in the array then.
bool strobe_add_samples(JSContext* cx, JSObject* table, const StrobeSampleRow* rows, size_t length,
                        const char* const* markers, size_t markers_length);
bool strobe_add_stacks(JSContext* cx, JSObject* table, const StrobeStackRow* rows, size_t length);
// How many objects the array has.
size_t strobe_table_length(JSObject* table);

// stop/linux.rs and ffi.rs assert the same layouts.
static_assert(sizeof(StrobeRegisters) == 24);
static_assert(offsetof(StrobeRegisters, pc) == 0);
static_assert(offsetof(StrobeRegisters, sp) == 8);
static_assert(offsetof(StrobeRegisters, fp) == 16);
static_assert(sizeof(StrobeStopped) == 72);
static_assert(offsetof(StrobeStopped, pc) == 0);
static_assert(offsetof(StrobeStopped, sp) == 8);
static_assert(offsetof(StrobeStopped, fp) == 16);
static_assert(offsetof(StrobeStopped, interpreter_pc) == 24);
static_assert(offsetof(StrobeStopped, generic_return) == 32);
static_assert(offsetof(StrobeStopped, tail_return) == 40);
static_assert(offsetof(StrobeStopped, tail_frame) == 48);
static_assert(offsetof(StrobeStopped, stack_low) == 56);
static_assert(offsetof(StrobeStopped, stack_high) == 64);

}  // extern "C"

#endif  // strobe_js_profiler_glue_h
