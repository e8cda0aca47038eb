/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The names of native functions by the address of their code.
//
// A sampler that finds a return address in a native frame learns from this table which built-in is running,
// without reading an object of the engine. The engine adds a native here when it makes a function of it.

#ifndef vm_NativeNames_h
#define vm_NativeNames_h

#include <stddef.h>
#include <stdint.h>

class JSFunction;
class JSJitInfo;

namespace js {

// Adds the native of a function, under the function's name. Does nothing for a function that is not a built-in
// native. If the function has no name, its native gets none either.
void NoteNative(JSFunction* function);

// Adds the operation that JIT code calls instead of the function's native. Many DOM functions share the native
// itself, so it gets no name.
void NoteNativeOperation(JSFunction* function, const JSJitInfo* info);

}  // namespace js

extern "C" {

// An entry of the table. It lives as long as the process.
struct StrobeNativeName {
  const void* code;
  // ASCII, of `length` bytes, with "get " or "set " before the name of an accessor.
  const char* name;
  size_t length;
  // The entry that was added before this one.
  const StrobeNativeName* previous;
};

// The entry that was added last. Any thread may call this, at any time.
const StrobeNativeName* strobe_last_native_name();

// Whether functions with different names share the code, so that the name does not count. This changes to true at
// most once.
bool strobe_native_is_shared(const StrobeNativeName* name);

// How often an answer of the two functions above has changed.
uint64_t strobe_native_names_version();

// Adds the constructor of a DOM interface, which is a hook of a class. `name` is ASCII and ends with a zero.
void strobe_note_constructor(const void* code, const char* name);

}  // extern "C"

#endif  // vm_NativeNames_h
