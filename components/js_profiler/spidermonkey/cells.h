/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Which words of a frame may be cells of the engine's heap, and what they stand for.

#ifndef strobe_js_profiler_cells_h
#define strobe_js_profiler_cells_h

#include <stdint.h>

#include "jit/CalleeToken.h"

class JSScript;

namespace js {
class BaseScript;
}

namespace strobe {

// Whether a callee token may be a cell. No cell is in the first chunk of addresses, where small numbers are, or where
// tagged values of JavaScript and ordinary floating-point numbers are.
bool IsCell(uintptr_t token);

// Whether a minor collection may put another cell where the cell of a callee token is.
bool IsInNursery(js::jit::CalleeToken token);

// The script of such a frame, as a cell of which nothing is read. Null if the token does not stand for a script.
js::BaseScript* ScriptCellOf(js::jit::CalleeToken token);

// The script that runs in a JIT frame with this callee token; null if the token does not stand for a script.
JSScript* ScriptOfCalleeToken(js::jit::CalleeToken token);

}  // namespace strobe

#endif  // strobe_js_profiler_cells_h
