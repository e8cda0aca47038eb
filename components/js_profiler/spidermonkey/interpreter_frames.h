/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which frames of the C++ interpreter may be read.

#ifndef strobe_js_profiler_interpreter_frames_h
#define strobe_js_profiler_interpreter_frames_h

#include <stddef.h>

struct JSContext;
struct StrobeFramePlace;

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

// The index after the youngest of the interpreter's frames among `places` that is still there with the same script, as are
// all that are older; 0 if none is. The places go from the root to the leaf. If nothing is left of `work`, the result has no
// meaning.
size_t EndOfKeptInterpreterFrames(JSContext* cx, const StrobeFramePlace* places, size_t length, Work& work);

}  // namespace strobe

#endif  // strobe_js_profiler_interpreter_frames_h
