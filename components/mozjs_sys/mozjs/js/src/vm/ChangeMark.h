/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A mark that something is being changed, for a signal handler of the same thread.

#ifndef vm_ChangeMark_h
#define vm_ChangeMark_h

#include <atomic>

namespace js {

class ChangeMark {
  std::atomic<bool> isOn_{false};

 public:
  bool isOn() const { return isOn_.load(std::memory_order_relaxed); }

  // Set while this lives. Nothing that is written meanwhile is moved across its ends.
  class Auto {
    ChangeMark& mark_;

   public:
    explicit Auto(ChangeMark& mark) : mark_(mark) {
      mark_.isOn_.store(true, std::memory_order_relaxed);
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Auto() {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      mark_.isOn_.store(false, std::memory_order_relaxed);
    }
    Auto(const Auto&) = delete;
    void operator=(const Auto&) = delete;
  };
};

}  // namespace js

#endif  // vm_ChangeMark_h
