/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What earlier walks of a thread have found where JIT code calls something.

#ifndef strobe_js_profiler_call_sites_h
#define strobe_js_profiler_call_sites_h

#include "glue.h"
#include "jit_code.h"

namespace strobe {

// A table of the thread that is walked, which only walks of this thread use.
//
// A call of JIT code is known by its return address. All frames of the Baseline interpreter share a few return addresses,
// so there the callee tells the frames apart, too. It only chooses the slot: a function that was moved is not found.
//
// A slot is valid while the code is there that was at its return address when the slot was written. So the address
// belongs to the same script, unless several scripts share the code. For such code JitcodeGlobalTable::sweeps() must be
// the same, too:
// - The script was on the stack when the slot was written, so a major collection frees it only if it began later. Each of
//   these calls JitcodeGlobalTable::traceWeak, which counts a sweep, before it frees or moves any cell.
// - A minor collection moves and frees only what is in the nursery, where no script is. So if the callee was not there
//   when the slot was written, the same callee still has the same script, and need not be read.
// So the same return address and the same callee or script have the same functions.
class CallSites {
  StrobeCallSite* slots_;
  size_t length_;
  const JitCode& code_;

 public:
  // What chooses the slot.
  struct Key {
    uintptr_t returnAddress;
    // The callee in a frame of the Baseline interpreter; 0 in other code.
    uintptr_t interpreted;
  };

 private:
  StrobeCallSite* firstOf(const Key& key) const {
    // JIT code is aligned to 16 bytes, and calls are a few bytes apart.
    constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;
    uint64_t hash = uint64_t(key.returnAddress ^ key.interpreted) * Multiplier;
    return slots_ + ((hash >> 32) & (length_ - 1) & ~(STROBE_CALL_SITE_WAYS - 1));
  }
  bool isValid(const StrobeCallSite& site) const {
    return code_.isThereSince(site.removals, site.return_address, site.return_address + 1) &&
           (!site.sweeps || site.sweeps == code_.sweeps());
  }

 public:
  CallSites(const StrobeKnownFunctions& known, const JitCode& code)
      : slots_(known.call_sites), length_(known.call_sites_length), code_(code) {}

  // The slot of a call by the frame of `callee`; null if there is none. `script()` is called only if a slot has the same
  // address and not this callee.
  template <typename Script>
  const StrobeCallSite* find(const Key& key, uintptr_t callee, Script script) const {
    if (!length_) {
      return nullptr;
    }
    StrobeCallSite* first = firstOf(key);
    for (StrobeCallSite* slot = first; slot < first + STROBE_CALL_SITE_WAYS; slot++) {
      if (slot->return_address != key.returnAddress || !isValid(*slot)) {
        continue;
      }
      slot->removals = code_.removals();
      if ((slot->callee && slot->callee == callee) || slot->script == script()) {
        return slot;
      }
    }
    return nullptr;
  }

  // Makes the processor load the slots of a call.
  void prefetch(const Key& key) const {
    if (length_) {
      const StrobeCallSite* first = firstOf(key);
      __builtin_prefetch(first);
      __builtin_prefetch(first + 1);
    }
  }
  // The first function that the first slot of a call has; 0 if it is free. The call itself may have another one.
  uint32_t firstKnown(const Key& key) const { return length_ ? firstOf(key)->known[0] : 0; }

  // Adds a call, whose functions are in `sites`. `callee` is 0 if it is in the nursery. `isOfOneScript` says that
  // no other script has the code.
  void put(const Key& key, uintptr_t callee, uintptr_t script, bool isOfOneScript,
           const StrobeCallSite (&sites)[STROBE_CALL_SITE_WAYS]) {
    if (!length_) {
      return;
    }
    StrobeCallSite* first = firstOf(key);
    bool isSame = first->return_address == key.returnAddress && first->script == script;
    if (sites[0].length > STROBE_MAX_INLINED) {
      first[1] = sites[1];
      // No call has this address.
      first[1].return_address = 0;
    } else if (!isSame && first->length <= STROBE_MAX_INLINED && isValid(*first)) {
      // The older of the two others is lost.
      first[1] = first[0];
    }
    *first = sites[0];
    first->return_address = key.returnAddress;
    first->callee = callee;
    first->script = script;
    first->removals = code_.removals();
    first->sweeps = isOfOneScript ? 0 : code_.sweeps();
  }
};

}  // namespace strobe

#endif  // strobe_js_profiler_call_sites_h
