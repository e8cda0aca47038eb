/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What both walks share: putting frames into a StrobeStack.

#ifndef strobe_js_profiler_stack_writer_h
#define strobe_js_profiler_stack_writer_h

#include "glue.h"

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

// A place in the bytecode of a function.
constexpr uint32_t NoOffset = UINT32_MAX;

struct CodePlace {
  js::ImmutableScriptData* data;
  // Where the function begins.
  uint32_t line;
  JS::LimitedColumnNumberOneOrigin column;
  // In bytes; NoOffset if it is not known.
  uint32_t offset;
};

// Of a pointer into the bytecode of a script, which may be anything.
uint32_t OffsetIn(JSScript* script, const jsbytecode* pc);
// Of an address in Ion code, in the function that is not inlined.
uint32_t OffsetInPhysical(const js::jit::IonEntry& entry, const void* address);

// Appends frames and their text to a StrobeStack. Used while the walked thread is stopped, and only while the heap is
// idle. Of a script that is on the stack it reads words that do not change while it is: its place, its source, its
// function and that one's name.
class StackWriter {
  // A part of the room for text.
  struct TextArea {
    size_t next;
    size_t end;
  };

  StrobeStack* stack_;
  // Of a native at the leaf.
  uint64_t leafRealm_;
  // Whether the only frame so far is that.
  bool leafIsNative_ = false;
  // Frames so far, whoever may see them.
  size_t total_ = 0;
  // Where the built-ins begin whose caller is not known yet, from the first one that is there for pages alone; and how
  // many there are in all.
  size_t builtInsBegin_ = 0;
  size_t builtIns_ = 0;
  bool full_ = false;
  // So many bytes of notes that say where code is in its source may still be read.
  size_t notesLeft_;
  // Each has text of its own, so that nobody's has less room because of another's.
  TextArea pageText_;
  TextArea builtInText_;
  TextArea hiddenText_;

 public:
  // `realm` is the one that the thread is in.
  StackWriter(StrobeStack* stack, JS::Realm* realm);

  // Whether nobody wants older frames.
  bool full() const { return full_; }

  // Whether it matters what the next frame was executing or calling.
  bool wantsPosition() const { return stack_->everything && total_ < stack_->max_frames; }

  // `offset` is what it was executing or calling, in its bytecode.
  void appendScript(JSScript* script, const StrobeFramePlace& place, uint32_t offset = NoOffset);

  // A function that Ion inlined. Its JSScript may be gone; the table entry has what identifies it,
  // and a label "name (file:line:column)".
  void appendInlined(const js::jit::IonScriptData& data, const char* label, JS::Realm* realm,
                     const StrobeFramePlace& place, uint32_t offset);

  // A built-in, DOM function or DOM constructor.
  void appendNative(const StrobeNative& native, const StrobeFramePlace& place);
  // A built-in of which a function of the engine runs instead.
  void appendNative(const char* name, const StrobeFramePlace& place);

  // `offset` is what it was calling, in bytes of the module; 0 if it is not known.
  void appendWasm(const js::wasm::Code& code, uint32_t funcIndex, JS::Realm* realm, const StrobeFramePlace& place,
                  uint32_t offset);

  // The functions that Ion inlined at `address` of `entry`, leaf first, without the outermost.
  void appendInlinedFunctions(const js::jit::IonEntry& entry, const void* address, JS::Realm* realm,
                              const StrobeFramePlace& place);

  // The frames of the C++ interpreter. One that goes on in JIT code is left out unless `enteringJit`, since it is
  // among the frames of JIT code.
  void appendInterpreterFrames(JSContext* cx, js::InterpreterActivation* activation, bool enteringJit = false);

  size_t length() const { return stack_->frames_length; }

 private:
  // What became of a frame: the frame if text is to be written for it, and where.
  struct Added {
    StrobeFrame* frame;
    TextArea* text;
  };
  Added append(const StrobeFrame& frame, const CodePlace* code = nullptr);
  Added appendBuiltIn(const StrobeFrame& frame);
  Added appendPageFrame(const StrobeFrame& frame, size_t* realmFrames, const CodePlace* code);
  Added appendHidden(const StrobeFrame& frame, const CodePlace* code);
  // Adds a frame, if there is room.
  StrobeFrame* add(const StrobeFrame& frame);
  Added withText(StrobeFrame* frame, TextArea* text);
  // With the position of `code`, if that is wanted.
  Added described(StrobeFrame* frame, TextArea* text, const CodePlace* code);
  void locate(StrobeFrame* frame, const CodePlace& code);
  const StrobePosition* findPosition(const StrobeFrame& frame) const;
  void appendMark(const StrobeFrame& frame);
  bool isFull() const;
  void settleLeaf(uint64_t callersRealm);

  // Whether somebody who may see everything wants the frame that is being appended.
  bool isForEverything() const { return stack_->everything && total_ <= stack_->max_frames; }
  // How many frames count of the realm that a frame is of; null if no page may see it.
  size_t* realmFramesOf(const StrobeFrame& frame) const;

  uint32_t findKnown(const StrobeFunctionKey& function) const;
  bool reuseText(StrobeFrame& frame);
  void dropText(const Added& added);
  bool appendBytes(TextArea* area, const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment,
                   StrobeText* text);
  bool appendAtom(TextArea* area, JSAtom* atom, StrobeText* text);
  bool appendResource(TextArea* area, js::ScriptSource* source, StrobeText* text);
};

}  // namespace strobe

#endif  // strobe_js_profiler_stack_writer_h
