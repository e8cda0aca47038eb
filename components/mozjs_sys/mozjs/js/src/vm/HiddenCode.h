/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which code no page may see in a profile, because a script whose errors are muted has made it.
//
// Code knows it by a bit, which is set when the code is made: ScriptSource::isHiddenFromProfilers() and
// wasm::ScriptedCaller::isHidden. Code is made by the youngest of these two:
// - a script or a WebAssembly function on the stack, self-hosted ones excepted: what it makes is as hidden as it is;
// - what has called a function without a script, such as a promise's reaction or a timer: see AutoScheduledBy.
// If there is neither, nobody knows who makes the code. Then it is hidden if any realm of the context has ever run code
// that is hidden.
//
// The bit has nothing to do with `mutedErrors`, which pages can observe: code of the bit alone does not mute errors.

#ifndef vm_HiddenCode_h
#define vm_HiddenCode_h

#include <stdint.h>

#include "js/TypeDecls.h"
#include "js/Value.h"

namespace js {

class Activation;
class AutoScheduledBy;
class ScriptSource;

// Who has scheduled what runs now.
enum class ScheduledBy : uint8_t {
  // It is not known.
  Nobody,
  // Code that pages may see.
  Shown,
  // Code that is hidden.
  Hidden,
};

// What a context knows of hidden code. Used on its own thread only.
struct HiddenCode {
  // Whether a realm of the context has ever run hidden code. Until then nobody asks who makes code.
  bool hasRun = false;
  // The youngest one.
  const AutoScheduledBy* scheduledBy = nullptr;
};

// While this lives, functions without a script run on behalf of who has scheduled them. They are made and destroyed in
// the order of the stack.
class AutoScheduledBy {
  JSContext* cx_;
  const AutoScheduledBy* outer_;
  const Activation* activation_;
  ScheduledBy who_;

 public:
  AutoScheduledBy(JSContext* cx, ScheduledBy who);
  ~AutoScheduledBy();
  AutoScheduledBy(const AutoScheduledBy&) = delete;
  void operator=(const AutoScheduledBy&) = delete;

  ScheduledBy who() const { return who_; }
  // The youngest activation before this. Younger ones are called from here.
  const Activation* activation() const { return activation_; }
};

// Whether code that is made now is hidden.
bool IsHiddenCodeMadeNow(JSContext* cx);
// The same for a direct eval in a script.
bool IsHiddenCodeMadeBy(JSScript* caller);

// Who schedules what is scheduled now, as a value for a slot: ScheduledByOfSlot reads it.
JS::Value ScheduledByNow(JSContext* cx);
// The same for a job that calls one of these. Most jobs call functions with a script, which are on the stack themselves.
// Then nobody asks who has scheduled the job, which would take time.
JS::Value ScheduledByNow(JSContext* cx, const JS::Value& onFulfilled, const JS::Value& onRejected, JSObject* resolve,
                         JSObject* reject);
ScheduledBy ScheduledByOfSlot(const JS::Value& slot);

}  // namespace js

// For the embedder. The context is that of the calling thread. Without one, nothing is hidden and nothing happens.
extern "C" {

// A script whose errors are muted is about to run.
void strobe_note_hidden_code();
// Whether code that is made now is hidden, and so what is scheduled now.
bool strobe_is_hidden_code_made_now();

// Memory for js::AutoScheduledBy.
struct StrobeScheduledBy {
  uintptr_t words[4];
};
// `who` is a js::ScheduledBy. False if there is no context: then there is nothing to end.
bool strobe_begin_scheduled(StrobeScheduledBy* memory, uint8_t who);
void strobe_end_scheduled(StrobeScheduledBy* memory);

}  // extern "C"

#endif  // vm_HiddenCode_h
