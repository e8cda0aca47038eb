/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What both walks share: putting frames into a StrobeStack, and reading callee tokens.

#ifndef strobe_js_profiler_stack_writer_h
#define strobe_js_profiler_stack_writer_h

#include "glue.h"

#include "jit/CalleeToken.h"
#include "jit/JitcodeMap.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"

namespace js {
class InterpreterActivation;
namespace wasm {
class Code;
}
}  // namespace js

namespace strobe {

// Appends frames and their text to a StrobeStack. Used while the walked thread is stopped: what it
// reads are stack slots, malloc'd tables of the engine and GC cells of functions that are on the
// stack, and it does so only while the heap is idle.
class StackWriter {
  // Beyond so many hidden frames a stack is as good as endless: the thread must not stand still for long.
  static constexpr size_t MaxHiddenFrames = 1 << 12;

  StrobeStack* stack_;
  // How many frames count.
  size_t counted_ = 0;
  size_t hidden_ = 0;
  // What there was before the built-ins at the end, which may turn out to be called by hidden code.
  size_t framesBeforeBuiltIns_ = 0;
  size_t textBeforeBuiltIns_ = 0;

 public:
  explicit StackWriter(StrobeStack* stack);

  bool full() const { return stack_->truncated; }

  void appendScript(JSScript* script, const StrobeFramePlace& place);

  // A function that Ion inlined. Its JSScript may be gone; the table entry has what identifies it,
  // and a label "name (file:line:column)".
  void appendInlined(const js::jit::IonScriptData& data, const char* label, JS::Realm* realm,
                     const StrobeFramePlace& place);

  // A built-in, DOM function or DOM constructor. Nothing for any other object.
  void appendNative(JSObject* callee, const StrobeFramePlace& place);
  // A built-in that runs without its function.
  void appendNative(const char* name, JS::Realm* realm, const StrobeFramePlace& place);

  void appendWasm(const js::wasm::Code& code, uint32_t funcIndex, JS::Realm* realm, const StrobeFramePlace& place);

  // The functions that Ion inlined at `address` of `entry`, leaf first, without the outermost.
  void appendInlinedFunctions(const js::jit::IonEntry& entry, const void* address, JS::Realm* realm,
                              const StrobeFramePlace& place);

  // The frames of the C++ interpreter, with the built-in that the youngest of them calls. One that goes
  // on in JIT code is left out unless `enteringJit`, since it is among the frames of JIT code.
  void appendInterpreterFrames(JSContext* cx, js::InterpreterActivation* activation, const StrobeStopped& stopped,
                               bool enteringJit = false);

  size_t length() const { return stack_->frames_length; }

 private:
  // The frame that was added; null if there is none to write text for.
  StrobeFrame* append(const StrobeFrame& frame);
  uint32_t findKnown(const StrobeFunctionKey& function) const;
  bool isHidden(const StrobeFrame& frame) const;
  // Whether the oldest frame so far is that of a built-in's own JIT code, as some have.
  bool endsInJitCodeOf(JSObject* callee) const;
  void appendHidden(const StrobeFrame& frame);
  bool reuseText(StrobeFrame& frame);
  void dropText(StrobeFrame& frame);
  bool appendBytes(const void* bytes, size_t length, StrobeTextEncoding encoding, size_t alignment, StrobeText* text);
  template <typename Char>
  bool appendChars(const char* prefix, const Char* chars, size_t length, StrobeTextEncoding encoding,
                   StrobeText* text);
  bool appendAtom(JSAtom* atom, StrobeText* text, const char* prefix = "");
  bool appendResource(js::ScriptSource* source, StrobeText* text);
};

// The script that runs in a JIT frame with this callee token; null if the token is none of a script.
JSScript* ScriptOfCalleeToken(js::jit::CalleeToken token);

}  // namespace strobe

#endif  // strobe_js_profiler_stack_writer_h
