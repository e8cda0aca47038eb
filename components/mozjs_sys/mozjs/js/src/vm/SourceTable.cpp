/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#include "vm/SourceTable.h"

#include <string.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "js/Utility.h"

using namespace js;

namespace {

// A power of two. A page has some hundred sources, a heavy one some ten thousand.
constexpr size_t SlotCount = 1 << 12;
// How many of the sources that went last are remembered, and how many bytes of their names. Samples are collected within
// some 25 ms, so that those of a sample are among them unless a page makes and drops sources on purpose.
constexpr size_t MostGone = 1024;
constexpr size_t MostGoneBytes = 4 << 20;
// As the sampler asks for: a longer name is cut.
constexpr size_t LongestName = 64 << 10;

// What made a script from text is not shown. Of what made a module, the URL is shown.
bool HasShownName(SourceKind kind, bool isIntroduced) { return kind == SourceKind::Wasm || !isIntroduced; }

struct Gone {
  JS::UniqueChars name;
  size_t length = 0;
  size_t whole = 0;
  uint32_t number = 0;
  SourceKind kind = SourceKind::Script;
  bool isIntroduced = false;
};

}  // namespace

namespace js {

class SourceTable {
 public:
  // Never destroyed: a source may outlive the end of main().
  static SourceTable& get() {
    static SourceTable* table = new SourceTable();
    return *table;
  }

  void add(ListedSource* source) {
    std::lock_guard<std::mutex> lock(mutex_);
    ListedSource** slot = slotOf(source->kind_, source->number_);
    source->next_ = *slot;
    *slot = source;
  }

  void remove(ListedSource* source) {
    std::lock_guard<std::mutex> lock(mutex_);
    ListedSource** at = slotOf(source->kind_, source->number_);
    while (*at != source) {
      at = &(*at)->next_;
    }
    *at = source->next_;
    if (remembers_) {
      remember(*source);
    }
  }

  void setRemembers(bool remembers) {
    std::lock_guard<std::mutex> lock(mutex_);
    remembers_ = remembers;
    if (!remembers) {
      for (Gone& gone : gone_) {
        gone = Gone();
      }
      goneBytes_ = 0;
    }
  }

  template <typename Take>
  bool find(SourceKind kind, uint32_t number, Take take) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (ListedSource* source = *slotOf(kind, number); source; source = source->next_) {
      if (source->kind_ == kind && source->number_ == number) {
        take(source->name_, strnlen(source->name_, LongestName + 1), source->isIntroduced_);
        return true;
      }
    }
    for (const Gone& gone : gone_) {
      if (gone.name && gone.kind == kind && gone.number == number) {
        take(gone.name.get(), gone.whole, gone.isIntroduced);
        return true;
      }
    }
    return false;
  }

 private:
  ListedSource** slotOf(SourceKind kind, uint32_t number) {
    return &slots_[(number * 2 + size_t(kind)) % SlotCount];
  }

  void remember(const ListedSource& source) {
    size_t whole = HasShownName(source.kind_, source.isIntroduced_) ? strnlen(source.name_, LongestName + 1) : 0;
    size_t length = std::min(whole, LongestName);
    while (goneBytes_ + length > MostGoneBytes || gone_[next_].name) {
      // The oldest one.
      goneBytes_ -= gone_[next_].length;
      gone_[next_] = Gone();
      if (goneBytes_ + length <= MostGoneBytes) {
        break;
      }
      next_ = (next_ + 1) % MostGone;
    }
    JS::UniqueChars name(js_pod_malloc<char>(length + 1));
    if (!name) {
      return;
    }
    memcpy(name.get(), source.name_, length);
    name[length] = 0;
    goneBytes_ += length;
    gone_[next_] = {std::move(name), length, whole, source.number_, source.kind_, source.isIntroduced_};
    next_ = (next_ + 1) % MostGone;
  }

  std::mutex mutex_;
  ListedSource* slots_[SlotCount] = {};
  bool remembers_ = false;
  Gone gone_[MostGone];
  // The oldest of them, or a free one.
  size_t next_ = 0;
  size_t goneBytes_ = 0;
};

}  // namespace js

void ListedSource::list(SourceKind kind, uint32_t number, const char* name, bool isIntroduced) {
  MOZ_ASSERT(!name_);
  if (!name) {
    return;
  }
  kind_ = kind;
  number_ = number;
  name_ = name;
  isIntroduced_ = isIntroduced;
  SourceTable::get().add(this);
}

ListedSource::~ListedSource() {
  if (name_) {
    SourceTable::get().remove(this);
  }
}

void ListedSource::listModule(const char* name) {
  static std::atomic<uint32_t> last{0};
  number_ = last.fetch_add(1, std::memory_order_relaxed) + 1;
  list(SourceKind::Wasm, number_, name, false);
}

void strobe_remember_sources(bool remember) { SourceTable::get().setRemembers(remember); }

bool strobe_read_source(uint8_t kind, uint32_t number, size_t most,
                        void (*take)(void* taker, const uint8_t* name, size_t length, size_t whole, bool isIntroduced),
                        void* taker) {
  return SourceTable::get().find(SourceKind(kind), number, [&](const char* name, size_t whole, bool isIntroduced) {
    size_t length = HasShownName(SourceKind(kind), isIntroduced) ? std::min({whole, most, LongestName}) : 0;
    take(taker, reinterpret_cast<const uint8_t*>(name), length, whole, isIntroduced);
  });
}
