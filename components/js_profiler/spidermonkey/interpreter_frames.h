/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames of the C++ interpreter may be read.

#ifndef strobe_js_profiler_interpreter_frames_h
#define strobe_js_profiler_interpreter_frames_h

struct JSContext;

namespace js {
class InterpreterActivation;
class InterpreterFrame;
}  // namespace js

namespace strobe {

// The youngest frame of an activation; null if it has none yet, or none any more. An activation is on the
// engine's list some instructions before its fields are filled in, until when they are what was left on the
// stack, and for some more after its frames have been released.
js::InterpreterFrame* YoungestFrame(JSContext* cx, js::InterpreterActivation* activation);

}  // namespace strobe

#endif  // strobe_js_profiler_interpreter_frames_h
