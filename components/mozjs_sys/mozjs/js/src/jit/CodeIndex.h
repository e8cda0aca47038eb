/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The entries of the table of JIT code by their addresses, for a walk that finds nothing in the processor's caches.
//
// The table's tree has one node on the heap for each entry. A search follows a dozen of them, and loads the entry of each
// node to compare its addresses. Here a search loads some five lines of memory, whatever the number of entries.
//
// This is no more than an aid: when memory runs out, an entry may be missing. An entry that is removed never stays.

#ifndef jit_CodeIndex_h
#define jit_CodeIndex_h

#include "mozilla/HashFunctions.h"
#include "mozilla/HashTable.h"
#include "mozilla/MemoryReporting.h"

#include <algorithm>
#include <stddef.h>
#include <stdint.h>

#include "js/AllocPolicy.h"
#include "js/Vector.h"

namespace js::jit {

// `Entry` has nativeStartAddr(), nativeEndAddr() and containsPointer(). Entries do not overlap.
template <class Entry>
class CodeIndex {
  // The memory of code is divided into blocks of this size. A block has some dozens of small stubs at most.
  static constexpr uintptr_t BlockSize = 4096;

  struct Slot {
    uintptr_t begin;
    Entry* entry;
  };

  // The entries of which a block has code, in the order of their addresses.
  using Block = Vector<Slot, 0, SystemAllocPolicy>;
  using Blocks = mozilla::HashMap<uintptr_t, Block, mozilla::DefaultHasher<uintptr_t>, SystemAllocPolicy>;

  Blocks blocks_;

  static uintptr_t begin(const Entry* entry) { return reinterpret_cast<uintptr_t>(entry->nativeStartAddr()); }
  static uintptr_t firstBlock(const Entry* entry) { return begin(entry) / BlockSize; }
  static uintptr_t lastBlock(const Entry* entry) {
    return (reinterpret_cast<uintptr_t>(entry->nativeEndAddr()) - 1) / BlockSize;
  }

  // The first slot whose code begins after an address.
  static const Slot* after(const Block& block, uintptr_t address) {
    return std::upper_bound(block.begin(), block.end(), address,
                            [](uintptr_t address, const Slot& slot) { return address < slot.begin; });
  }

 public:
  void add(Entry* entry) {
    for (uintptr_t number = firstBlock(entry); number <= lastBlock(entry); number++) {
      auto at = blocks_.lookupForAdd(number);
      if (!at && !blocks_.add(at, number, Block())) {
        continue;
      }
      Block& block = at->value();
      Slot* place = const_cast<Slot*>(after(block, begin(entry)));
      // A block without memory for the entry may be left empty, which does no harm.
      (void)block.insert(place, Slot{begin(entry), entry});
    }
  }

  // Does nothing if there is no such entry.
  void remove(const Entry* entry) {
    for (uintptr_t number = firstBlock(entry); number <= lastBlock(entry); number++) {
      auto at = blocks_.lookup(number);
      if (!at) {
        continue;
      }
      Block& block = at->value();
      block.eraseIf([&](const Slot& slot) { return slot.entry == entry; });
      if (block.empty()) {
        blocks_.remove(at);
      }
    }
  }

  // The entry that contains an address; null if there is none, or if it is missing. Changes nothing.
  Entry* find(uintptr_t address) const {
    auto at = blocks_.readonlyThreadsafeLookup(address / BlockSize);
    if (!at) {
      return nullptr;
    }
    const Block& block = at->value();
    const Slot* next = after(block, address);
    if (next == block.begin()) {
      return nullptr;
    }
    Entry* entry = next[-1].entry;
    return entry->containsPointer(reinterpret_cast<void*>(address)) ? entry : nullptr;
  }

  // How many slots an entry has, unless it is missing.
  static size_t slotsOf(const Entry* entry) { return lastBlock(entry) - firstBlock(entry) + 1; }

  size_t slotCount() const {
    size_t count = 0;
    for (auto iter = blocks_.iter(); !iter.done(); iter.next()) {
      count += iter.get().value().length();
    }
    return count;
  }

  size_t sizeOfExcludingThis(mozilla::MallocSizeOf mallocSizeOf) const {
    size_t size = blocks_.shallowSizeOfExcludingThis(mallocSizeOf);
    for (auto iter = blocks_.iter(); !iter.done(); iter.next()) {
      size += iter.get().value().sizeOfExcludingThis(mallocSizeOf);
    }
    return size;
  }
};

}  // namespace js::jit

#endif  // jit_CodeIndex_h
