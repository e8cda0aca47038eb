/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Mistakes on purpose, which sanitizers must find in our C++. `./mach build --asan` compiles this file as a part of the glue
// (components/js_profiler/build.rs), by a flag; no other build has it. faults.rs calls the functions.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// The compiler must not know what a block is.
extern "C" __attribute__((noinline)) uint8_t* strobe_fault_block(size_t size) {
  uint8_t* volatile block = static_cast<uint8_t*>(malloc(size));
  return block;
}

extern "C" __attribute__((noinline)) void strobe_fault_write_after_free() {
  volatile uint8_t* block = strobe_fault_block(64);
  free(const_cast<uint8_t*>(block));
  block[8] = 0;
}

extern "C" __attribute__((noinline)) void strobe_fault_overflow() {
  volatile uint8_t* block = strobe_fault_block(64);
  block[64] = 0;
  free(const_cast<uint8_t*>(block));
}

extern "C" __attribute__((noinline)) void strobe_fault_leak() { strobe_fault_block(64)[0] = 1; }

extern "C" __attribute__((noinline)) int32_t strobe_fault_undefined(int32_t number) { return number + INT32_MAX; }
