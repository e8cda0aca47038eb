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

class Work;

// The youngest frame of an activation; null if it has no frame yet, or no longer has one. The engine lists an
// activation some instructions before its fields are filled in; until then they hold what was left on the stack. The
// activation also stays listed for some instructions after its frames have been released. Null, too, if nothing is left of
// `work`.
js::InterpreterFrame* YoungestFrame(JSContext* cx, js::InterpreterActivation* activation, Work& work);

}  // namespace strobe

#endif  // strobe_js_profiler_interpreter_frames_h
