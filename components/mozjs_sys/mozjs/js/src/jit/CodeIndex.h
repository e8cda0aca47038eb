/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The entries of the table of JIT code by their addresses, for a walk that finds nothing in the processor's caches.
//
// The table's tree has one node on the heap for each entry. A search follows a dozen of them, and loads the entry of each
// node to compare its addresses. Here a search loads a few lines of memory, whatever the number of entries.
//
// The tree has every entry. The index may lack one, if memory ran out when it was added. It has none that was removed.

#ifndef jit_CodeIndex_h
#define jit_CodeIndex_h

#include "mozilla/HashFunctions.h"
#include "mozilla/HashTable.h"
#include "mozilla/MemoryReporting.h"

#include <algorithm>
#include <iterator>
#include <stddef.h>
#include <stdint.h>
#include <utility>

#include "js/AllocPolicy.h"
#include "js/UniquePtr.h"
#include "js/Vector.h"

namespace js::jit {

// `Entry` has nativeStartAddr(), nativeEndAddr() and containsPointer(). Entries do not overlap.
//
// Nobody can walk the stack while the index changes. So adding an entry must be short: it hardly ever allocates anything.
template <class Entry>
class CodeIndex {
  // The memory of code is divided into blocks of this size. A block has some dozens of small stubs at most.
  static constexpr uintptr_t BlockSize = 4096;
  // The engine allocates memory for code in pages of 64 KB.
  static constexpr uintptr_t BlocksOfPage = 16;
  // A block has memory for so many entries at first.
  static constexpr size_t FirstCapacity = 8;

  struct Slot {
    uintptr_t begin;
    Entry* entry;
  };

  // The entries of which a block has code, in the order of their addresses.
  using Block = Vector<Slot, 0, SystemAllocPolicy>;

  struct Page {
    Block blocks[BlocksOfPage];

    bool empty() const {
      return std::all_of(std::begin(blocks), std::end(blocks), [](const Block& block) { return block.empty(); });
    }
  };

  using Pages = mozilla::HashMap<uintptr_t, UniquePtr<Page>, mozilla::DefaultHasher<uintptr_t>, SystemAllocPolicy>;

  Pages pages_;
  // The page to which something was added last, as the next entry is mostly in the same one. Null if it is gone.
  Page* lastPage_ = nullptr;
  uintptr_t lastNumber_ = 0;

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

  // Null if there is no memory for it.
  Page* pageForAdd(uintptr_t number) {
    if (lastPage_ && lastNumber_ == number) {
      return lastPage_;
    }
    auto at = pages_.lookupForAdd(number);
    if (!at) {
      UniquePtr<Page> page = MakeUnique<Page>();
      if (!page || !pages_.add(at, number, std::move(page))) {
        return nullptr;
      }
    }
    lastPage_ = at->value().get();
    lastNumber_ = number;
    return lastPage_;
  }

 public:
  void add(Entry* entry) {
    for (uintptr_t number = firstBlock(entry); number <= lastBlock(entry); number++) {
      Page* page = pageForAdd(number / BlocksOfPage);
      if (!page) {
        continue;
      }
      Block& block = page->blocks[number % BlocksOfPage];
      if (!block.reserve(std::max(FirstCapacity, block.length() + 1))) {
        continue;
      }
      Slot slot = {begin(entry), entry};
      if (block.empty() || block.back().begin < slot.begin) {
        block.infallibleAppend(slot);
      } else {
        // There is memory for it.
        (void)block.insert(const_cast<Slot*>(after(block, slot.begin)), slot);
      }
    }
  }

  // Does nothing if there is no such entry.
  void remove(const Entry* entry) {
    for (uintptr_t number = firstBlock(entry); number <= lastBlock(entry); number++) {
      auto at = pages_.lookup(number / BlocksOfPage);
      if (!at) {
        continue;
      }
      Block& block = at->value()->blocks[number % BlocksOfPage];
      block.eraseIf([&](const Slot& slot) { return slot.entry == entry; });
      if (block.empty()) {
        block.clearAndFree();
        if (at->value()->empty()) {
          lastPage_ = nullptr;
          pages_.remove(at);
        }
      }
    }
  }

  // The entry that contains an address; null if there is none, or if it is missing. Changes nothing.
  Entry* find(uintptr_t address) const {
    uintptr_t number = address / BlockSize;
    auto at = pages_.readonlyThreadsafeLookup(number / BlocksOfPage);
    if (!at) {
      return nullptr;
    }
    const Block& block = at->value()->blocks[number % BlocksOfPage];
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
    forEachBlock([&](const Block& block) { count += block.length(); });
    return count;
  }

  size_t sizeOfExcludingThis(mozilla::MallocSizeOf mallocSizeOf) const {
    size_t size = pages_.shallowSizeOfExcludingThis(mallocSizeOf) + pages_.count() * sizeof(Page);
    forEachBlock([&](const Block& block) { size += block.sizeOfExcludingThis(mallocSizeOf); });
    return size;
  }

 private:
  template <class F>
  void forEachBlock(F&& f) const {
    for (auto iter = pages_.iter(); !iter.done(); iter.next()) {
      std::for_each(std::begin(iter.get().value()->blocks), std::end(iter.get().value()->blocks), f);
    }
  }
};

}  // namespace js::jit

#endif  // jit_CodeIndex_h
