/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Writes frames into a StrobeStack.

#ifndef strobe_js_profiler_stack_writer_h
#define strobe_js_profiler_stack_writer_h

#include "glue.h"
#include "work.h"

#include "jit/JitcodeMap.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"

namespace js {
class ImmutableScriptData;
class InterpreterActivation;
namespace wasm {
class Code;
}
}  // namespace js

namespace strobe {

// The offset of a place that is not known.
constexpr uint32_t NoOffset = UINT32_MAX;

// A place in the bytecode of a function.
struct CodePlace {
  js::ImmutableScriptData* data;
  // Where the function begins.
  uint32_t line;
  JS::LimitedColumnNumberOneOrigin column;
  // The offset of the place, in bytes; NoOffset if it is not known.
  uint32_t offset;
};

// The offset of `pc` in the bytecode of a script; NoOffset if `pc` is outside. `pc` may have any value.
uint32_t OffsetIn(JSScript* script, const jsbytecode* pc);
// The offset of an address in Ion code, in the bytecode of the function that is not inlined.
uint32_t OffsetInPhysical(const js::jit::IonEntry& entry, const void* address);

// A frame that is to be appended.
struct NewFrame {
  const StrobeFunctionKey& function;
  StrobeFrame compact;
};

// Appends frames and their text to a StrobeStack. It is used while the walked thread is stopped, and not while
// scripts are being moved. Of a script that is on the stack it reads only words that do not change while the script is
// there: its place, its source, its function and the function's name.
class StackWriter {
  // A part of StrobeStack::text.
  struct TextArea {
    size_t next;
    size_t end;
  };

  StrobeStack* stack_;
  // The realm of a native at the leaf.
  uint64_t leafRealm_;
  // Whether the only frame so far is a native at the leaf.
  bool leafIsNative_ = false;
  // The number of frames so far, including those that nobody may see.
  size_t total_ = 0;
  // The built-ins whose caller is not known yet: the index of the first one that is written for pages only, and
  // the number of all of them.
  size_t builtInsBegin_ = 0;
  size_t builtIns_ = 0;
  bool full_ = false;
  // How many bytes of the notes that say where code is in its source may still be read.
  size_t notesLeft_;
  // The number of realms whose pages may see more frames.
  size_t openRealms_;
  // Whether the frame that is being appended is that of a known function, so that it needs no text.
  bool isKnown_ = false;
  // Of the whole stop.
  Work work_;
  // Each kind of text has its own area, so that no kind takes room from another.
  TextArea pageText_;
  TextArea builtInText_;
  TextArea hiddenText_;

 public:
  // `realm` is the realm that the thread is in.
  StackWriter(StrobeStack* stack, JS::Realm* realm);

  // Whether no older frames are needed.
  bool full() const { return full_; }

  // What the walk may still do. If nothing is left, what was written is not used.
  Work& work() { return work_; }

  // Whether the stack needs the position of the next frame.
  bool wantsPosition() const { return stack_->everything && total_ < stack_->max_frames; }

  // `offset` is where the function was in its bytecode; NoOffset if it is not known.
  void appendScript(JSScript* script, uint32_t offset);

  // A function that Ion inlined. Its JSScript may be gone. The table entry has what identifies the function,
  // and a label "name (file:line:column)".
  void appendInlined(const js::jit::IonScriptData& data, const char* label, JS::Realm* realm,
                     uint32_t offset);

  // A built-in, DOM function or DOM constructor.
  void appendNative(const StrobeNative& native);
  // A built-in in whose place a function of the engine runs.
  void appendNative(const char* name);

  // `offset` is the offset in the module, in bytes, of the call that the function was making; 0 if it is not
  // known.
  void appendWasm(const js::wasm::Code& code, uint32_t funcIndex, JS::Realm* realm, uint32_t offset);

  // The functions that Ion inlined at `address` of `entry`, leaf first, without the outermost function.
  void appendInlinedFunctions(const js::jit::IonEntry& entry, const void* address, JS::Realm* realm);

  // The frames of the C++ interpreter. A frame that continues in JIT code is left out, because it is among the
  // frames of JIT code. If `enteringJit` is true, the current frame of the activation is not left out.
  void appendInterpreterFrames(JSContext* cx, js::InterpreterActivation* activation, bool enteringJit);

  // The number of frames that are written.
  size_t length() const { return stack_->frame_count; }

  // How much is written.
  struct Mark {
    size_t length;
    size_t total;
  };
  Mark mark() const { return {stack_->frames_length, total_}; }
  // Writes the functions that an earlier walk has found for such a frame. `site` is a slot of the table of calls. If too
  // little is known of them now, writes nothing and returns false. `kept` gets what was written; its count is 0 if that
  // depends on other frames.
  bool appendCallSite(const StrobeCallSite& site, StrobeKeptFrame* kept);
  // Writes that these frames of the stack before are here, too. If that depends on other frames, writes nothing and
  // returns false.
  bool appendSame(const StrobeKeptFrame& same);
  // Puts the functions that were written for one frame since `before` into `sites`. False if some of them are not known
  // or were left out, or if they are too many.
  bool describeCallSite(const Mark& before, StrobeCallSite (&sites)[STROBE_CALL_SITE_WAYS]) const;
  const StrobeKnownFunctions& known() const { return stack_->known; }
  // Makes the processor load a known function. `known` is as in StrobeFrame.
  void prefetchKnown(uint32_t known) const {
    if (known && known <= stack_->known.functions_length) {
      __builtin_prefetch(&stack_->known.functions[known - 1]);
    }
  }

 private:
  // What became of a frame. If its text is to be written: the frame, its function, and the area for the text. Otherwise
  // all are null.
  struct Added {
    StrobeFrame* frame;
    StrobeNewFunction* function;
    TextArea* text;
  };
  // Whether nothing that was written depends on the next frame.
  bool isSettled() const { return !full_ && !leafIsNative_ && !builtIns_; }
  // Appends a known function in the usual case. Otherwise writes nothing and returns false. `realm` is as in
  // StrobeKeptFrame.
  bool appendPlain(const NewFrame& frame, uint32_t* realm);
  // Counts frames of a realm, if there may be as many.
  bool countForRealm(uint32_t realm, uint32_t count);
  uint32_t indexOfRealm(const size_t* realmFrames) const {
    return realmFrames ? uint32_t(realmFrames - stack_->realm_frames) : STROBE_NO_REALM;
  }
  // What was written last now ends here.
  void noteSettled();
  Added append(const NewFrame& frame, const CodePlace* code = nullptr);
  Added appendBuiltIn(const NewFrame& frame);
  Added appendPageFrame(const NewFrame& frame, size_t* realmFrames, const CodePlace* code);
  Added appendHidden(const NewFrame& frame, const CodePlace* code);
  // Adds a frame, and the function if it is not known, if there is room.
  Added add(const NewFrame& frame, TextArea* text);
  // Like `add`. Also writes the position, if `code` has an offset.
  Added addDescribed(const NewFrame& frame, TextArea* text, const CodePlace* code);
  void locate(size_t index, const CodePlace& code);
  const StrobePosition* findPosition(size_t index) const;
  const StrobePosition* findKnownPosition(uint32_t known, uint32_t offset) const;
  void appendMark(const NewFrame& frame);
  // Makes a frame stand for hidden functions.
  void makeMark(size_t index, uint64_t realm);
  // No element of `frames` stands for no frame, so there are not more elements than frames.
  bool hasRoom(size_t count = 1) const { return stack_->frames_capacity - stack_->frame_count >= count; }
  // Whether there is room for a frame. If not, the stack ends here.
  bool checkRoom();
  // Writes a frame, for which there must be room.
  size_t push(const NewFrame& frame);
  // Removes the last elements. None of them stands for more than one frame.
  void cut(size_t length);
  const StrobeFunctionKey& functionOf(size_t index) const;
  // Whether two frames have the same function.
  bool haveSameFunction(size_t one, size_t other) const;
  bool isFull() const;
  void settleLeaf(uint64_t callersRealm);

  // Whether the frame that is being appended is for a recording: see StrobeStack::everything.
  bool isForEverything() const { return stack_->everything && total_ <= stack_->max_frames; }
  // The number of frames that count for the realm of a frame; null if no page may see the frame.
  size_t* realmFramesOf(const NewFrame& frame) const;

  uint32_t findKnown(const StrobeFunctionKey& function) const;
  bool reuseText(size_t index);
  void dropText(const Added& added);
  bool appendBytes(TextArea* area, const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment,
                   StrobeText* text);
  // How many bytes of text are copied, and of notes read, at the cost of one look.
  static constexpr size_t TextPerLook = 32;
  static constexpr size_t NotesPerLook = 8;
  bool appendAtom(TextArea* area, JSAtom* atom, StrobeText* text);
  // Appends at most STROBE_MAX_NAME bytes of a name.
  bool appendName(TextArea* area, const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment,
                  StrobeText* text);
};

}  // namespace strobe

#endif  // strobe_js_profiler_stack_writer_h
