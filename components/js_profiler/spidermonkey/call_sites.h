/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What earlier walks of a thread have found where JIT code calls something.

#ifndef strobe_js_profiler_call_sites_h
#define strobe_js_profiler_call_sites_h

#include "glue.h"

namespace strobe {

// A table of the thread that is walked, which only walks of this thread use.
//
// A slot is valid while JitcodeGlobalTable::removals() is what it was when the slot was written:
// - An address of code belongs to the same entry then, because entries of living code do not overlap.
// - The script is the same, too. It was on the stack when the slot was written, so a collection frees it only if it
//   began later. Each collection calls JitcodeGlobalTable::traceWeak, which counts, before it frees or moves any cell.
// So the same return address and the same script have the same functions.
class CallSites {
  StrobeCallSite* slots_;
  size_t length_;
  uint64_t removals_;

  static constexpr size_t Ways = 2;
  StrobeCallSite* firstOf(uintptr_t returnAddress) const {
    // JIT code is aligned to 16 bytes, and calls are a few bytes apart.
    constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;
    uint64_t hash = uint64_t(returnAddress) * Multiplier;
    return slots_ + ((hash >> 32) & (length_ - 1) & ~(Ways - 1));
  }

 public:
  // `removals` is JitcodeGlobalTable::removals().
  CallSites(const StrobeKnownFunctions& known, uint64_t removals)
      : slots_(known.call_sites), length_(known.call_sites_length), removals_(removals) {}

  // The slot of a call; null if there is none. `script()` is called only if the address is that of a known call in
  // the code of a function.
  template <typename Script>
  const StrobeCallSite* find(uintptr_t returnAddress, Script script) const {
    if (!length_) {
      return nullptr;
    }
    const StrobeCallSite* first = firstOf(returnAddress);
    for (const StrobeCallSite* slot = first; slot < first + Ways; slot++) {
      if (slot->return_address == returnAddress && slot->removals == removals_ && slot->script == script()) {
        return slot;
      }
    }
    return nullptr;
  }

  // Adds a call, whose functions are in `site`.
  void put(uintptr_t returnAddress, uintptr_t script, const StrobeCallSite& site) {
    if (!length_) {
      return;
    }
    StrobeCallSite* first = firstOf(returnAddress);
    bool isSame = first->return_address == returnAddress && first->script == script;
    if (!isSame && first->removals == removals_) {
      // The older of the two others is lost.
      first[1] = first[0];
    }
    *first = site;
    first->return_address = returnAddress;
    first->script = script;
    first->removals = removals_;
  }
};

}  // namespace strobe

#endif  // strobe_js_profiler_call_sites_h
