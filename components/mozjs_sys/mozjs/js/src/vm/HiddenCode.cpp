/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "vm/HiddenCode.h"

#include <new>

#include "builtin/Promise.h"
#include "vm/Activation.h"
#include "vm/FrameIter.h"
#include "vm/JSContext.h"
#include "vm/JSFunction.h"
#include "vm/JSScript.h"
#include "wasm/WasmCode.h"
#include "wasm/WasmInstance.h"

#include "vm/FrameIter-inl.h"

using namespace js;

AutoScheduledBy::AutoScheduledBy(JSContext* cx, ScheduledBy who)
    : cx_(cx), outer_(cx->hiddenCode.scheduledBy), activation_(cx->activation()), who_(who) {
  cx->hiddenCode.scheduledBy = this;
}

AutoScheduledBy::~AutoScheduledBy() {
  MOZ_ASSERT(cx_->hiddenCode.scheduledBy == this);
  cx_->hiddenCode.scheduledBy = outer_;
}

// Whether `activation` was entered after `scheduled` was made.
static bool IsYounger(JSContext* cx, const Activation* activation, const AutoScheduledBy* scheduled) {
  for (const Activation* younger = cx->activation(); younger && younger != scheduled->activation();
       younger = younger->prev()) {
    if (younger == activation) {
      return true;
    }
  }
  return false;
}

static bool IsHiddenWasm(const wasm::Code& code) {
  return code.codeMeta().scriptedCaller().isHidden;
}

bool js::IsHiddenCodeMadeBy(JSScript* caller) { return caller->scriptSource()->isHiddenFromProfilers(); }

bool js::IsHiddenCodeMadeNow(JSContext* cx) {
  const HiddenCode& hidden = cx->hiddenCode;
  if (!hidden.hasRun) {
    return false;
  }
  const AutoScheduledBy* scheduled = hidden.scheduledBy;
  if (!scheduled || cx->activation() != scheduled->activation()) {
    // All frames, whatever principals their realms have.
    FrameIter frame(cx);
    while (!frame.done() && (frame.isWasm() ? frame.wasmInstance()->code().codeMeta().isSelfHostedModule()
                                            : frame.script()->selfHosted())) {
      ++frame;
    }
    if (!frame.done() && (!scheduled || IsYounger(cx, frame.activation(), scheduled))) {
      return frame.isWasm() ? IsHiddenWasm(frame.wasmInstance()->code()) : IsHiddenCodeMadeBy(frame.script());
    }
  }
  return !scheduled || scheduled->who() != ScheduledBy::Shown;
}

// Whether what is called is on the stack as a frame with a script of its own, or runs no code of pages at all. The
// numbers are handlers of async functions and generators, which have frames, and of the two defaults. Those of
// async-from-sync iterators may call what an iterator has as its `return`.
static bool HasScript(const JS::Value& handler) {
  if (handler.isInt32()) {
    return PromiseHandler(handler.toInt32()) != PromiseHandler::AsyncFromSyncIteratorClose;
  }
  if (!handler.isObject()) {
    return true;
  }
  JSObject& object = handler.toObject();
  return object.is<JSFunction>() && object.as<JSFunction>().isInterpreted() &&
         !object.as<JSFunction>().isSelfHostedBuiltin();
}

JS::Value js::ScheduledByNow(JSContext* cx) {
  return JS::BooleanValue(IsHiddenCodeMadeNow(cx));
}

JS::Value js::ScheduledByNow(JSContext* cx, const JS::Value& onFulfilled, const JS::Value& onRejected,
                             JSObject* resolve, JSObject* reject) {
  // `resolve` and `reject` are those of a class that is not Promise. They may be anything.
  bool isAsked = !cx->hiddenCode.hasRun || resolve || reject || !HasScript(onFulfilled) || !HasScript(onRejected);
  return isAsked ? ScheduledByNow(cx) : JS::UndefinedValue();
}

ScheduledBy js::ScheduledByOfSlot(const JS::Value& slot) {
  return slot.isUndefined() ? ScheduledBy::Nobody : slot.toBoolean() ? ScheduledBy::Hidden : ScheduledBy::Shown;
}

void strobe_note_hidden_code() {
  if (JSContext* cx = TlsContext.get()) {
    cx->hiddenCode.hasRun = true;
  }
}

bool strobe_is_hidden_code_made_now() {
  JSContext* cx = TlsContext.get();
  return cx && IsHiddenCodeMadeNow(cx);
}

static_assert(sizeof(AutoScheduledBy) == sizeof(StrobeScheduledBy));
static_assert(alignof(AutoScheduledBy) == alignof(StrobeScheduledBy));

bool strobe_begin_scheduled(StrobeScheduledBy* memory, uint8_t who) {
  JSContext* cx = TlsContext.get();
  if (!cx) {
    return false;
  }
  new (memory) AutoScheduledBy(cx, ScheduledBy(who));
  return true;
}

void strobe_end_scheduled(StrobeScheduledBy* memory) { reinterpret_cast<AutoScheduledBy*>(memory)->~AutoScheduledBy(); }

