/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What a word of a frame is that may be a cell of the engine's heap.

#ifndef strobe_js_profiler_cells_h
#define strobe_js_profiler_cells_h

#include <stdint.h>

#include "jit/CalleeToken.h"

class JSScript;

namespace strobe {

// Whether a callee token may be one: no cell is in the first chunk of addresses, where numbers are.
bool IsCell(uintptr_t token);

// The script that runs in a JIT frame with this callee token; null if the token is none of a script.
JSScript* ScriptOfCalleeToken(js::jit::CalleeToken token);

}  // namespace strobe

#endif  // strobe_js_profiler_cells_h
