/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// How much a walk may do. It is counted and not timed, so that the same stack is always walked or always missed.

#ifndef strobe_js_profiler_work_h
#define strobe_js_profiler_work_h

#include <stdint.h>

namespace strobe {

// What a step costs, in units of some 10 ns on an idle machine when the processor's caches have nothing of it.
enum class Cost : uint32_t {
  // One word or pointer is compared: a frame in a list, a frame that is the same as before.
  Look = 1,
  // A frame whose functions earlier walks have found, or a frame of the C++ interpreter.
  Known = 8,
  // A frame of WebAssembly: two searches.
  Wasm = 15,
  // A frame of native code: a table for unwinding.
  Native = 30,
  // The first frame of JIT code with a return address that no walk knows.
  New = 40,
};

// What is left of STROBE_MOST_WORK.
class Work {
  uint32_t* left_;

 public:
  explicit Work(uint32_t* left) : left_(left) {}

  // False if too little is left. Then nothing is left.
  bool take(Cost cost, uint32_t count = 1) {
    uint64_t units = uint64_t(cost) * count;
    if (units > *left_) {
      *left_ = 0;
      return false;
    }
    *left_ -= uint32_t(units);
    return true;
  }
  bool isDone() const { return !*left_; }
};

}  // namespace strobe

#endif  // strobe_js_profiler_work_h
