/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// All runtimes of the process share the table. It only grows, and entries never change except for one flag. An entry
// is complete before its address is published, so no lock is needed.

#include "vm/NativeNames.h"

#include <string.h>

#include <atomic>

#include "js/experimental/JitInfo.h"
#include "util/Text.h"
#include "vm/JSAtomUtils.h"
#include "vm/JSFunction.h"
#include "vm/StringType.h"

using namespace js;

namespace {

struct Entry : StrobeNativeName {
  std::atomic<bool> isShared{false};
};

// A power of two, some four times the number of natives of the engine and of all DOM interfaces.
constexpr size_t SlotCount = 1 << 15;

// A hash table with linear probing. A slot is written once.
std::atomic<Entry*> slots[SlotCount];
std::atomic<size_t> entryCount{0};
std::atomic<const Entry*> lastEntry{nullptr};
std::atomic<uint64_t> version{0};

// Longer names than this are cut.
constexpr size_t MaxNameLength = 256;

class Name {
  char text_[MaxNameLength];
  size_t length_ = 0;

 public:
  void append(const char* text, size_t length) {
    size_t room = MaxNameLength - length_;
    length = length < room ? length : room;
    memcpy(text_ + length_, text, length);
    length_ += length;
  }

  // Appends a built-in's name, which is ASCII. False for any other name.
  bool appendAscii(JSAtom* atom) {
    JS::AutoCheckCannotGC nogc;
    if (!atom->hasLatin1Chars()) {
      return false;
    }
    const JS::Latin1Char* characters = atom->latin1Chars(nogc);
    for (size_t i = 0; i < atom->length(); i++) {
      if (characters[i] >= 0x80) {
        return false;
      }
    }
    append(reinterpret_cast<const char*>(characters), atom->length());
    return true;
  }

  const char* text() const { return text_; }
  size_t length() const { return length_; }
};

Entry* NewEntry(const void* code, const Name& name) {
  auto* entry = js_new<Entry>();
  auto* text = js_pod_malloc<char>(name.length() ? name.length() : 1);
  if (!entry || !text) {
    js_delete(entry);
    js_free(text);
    return nullptr;
  }
  memcpy(text, name.text(), name.length());
  entry->code = code;
  entry->name = text;
  entry->length = name.length();
  return entry;
}

void DeleteEntry(Entry* entry) {
  js_free(const_cast<char*>(entry->name));
  js_delete(entry);
}

void MarkShared(Entry* entry) {
  if (!entry->isShared.exchange(true, std::memory_order_relaxed)) {
    version.fetch_add(1, std::memory_order_release);
  }
}

void Publish(Entry* entry) {
  const Entry* previous = lastEntry.load(std::memory_order_relaxed);
  do {
    entry->previous = previous;
  } while (!lastEntry.compare_exchange_weak(previous, entry, std::memory_order_release, std::memory_order_relaxed));
  version.fetch_add(1, std::memory_order_release);
}

// Adds `code` under a name. Without a name it is marked as shared.
void Note(const void* code, const Name* name) {
  if (!code) {
    return;
  }
  // The multiplier of Knuth's multiplicative hashing for 64 bits.
  constexpr uint64_t Multiplier = 0x9E3779B97F4A7C15;
  size_t slot = size_t((uint64_t(uintptr_t(code)) * Multiplier) >> 32) % SlotCount;
  for (;; slot = (slot + 1) % SlotCount) {
    Entry* found = slots[slot].load(std::memory_order_acquire);
    if (!found) {
      // A probe must always reach a free slot.
      if (entryCount.load(std::memory_order_relaxed) >= SlotCount / 2) {
        return;
      }
      Entry* entry = NewEntry(code, name ? *name : Name());
      if (!entry) {
        return;
      }
      entry->isShared.store(!name, std::memory_order_relaxed);
      if (slots[slot].compare_exchange_strong(found, entry, std::memory_order_acq_rel, std::memory_order_acquire)) {
        entryCount.fetch_add(1, std::memory_order_relaxed);
        Publish(entry);
        return;
      }
      // Another thread has taken the slot.
      DeleteEntry(entry);
    }
    if (found->code == code) {
      bool isSame = name && found->length == name->length() && memcmp(found->name, name->text(), found->length) == 0;
      if (!isSame) {
        MarkShared(found);
      }
      return;
    }
  }
}

// Finds the name of a function. False if it has no name that a profile may show.
bool NameOf(JSFunction* function, Name* name) {
  JSAtom* atom = function->rawAtom();
  if (!atom || !atom->length() || function->hasGuessedAtom()) {
    return false;
  }
  // The engine makes the name of an accessor only when a script asks for it.
  if (function->isAccessorWithLazyName()) {
    name->append(function->isGetter() ? "get " : "set ", 4);
  }
  return name->appendAscii(atom);
}

}  // namespace

void js::NoteNative(JSFunction* function) {
  if (!function->isBuiltinNative()) {
    return;
  }
  Name name;
  bool hasName = NameOf(function, &name);
  Note(reinterpret_cast<void*>(function->native()), hasName ? &name : nullptr);
}

void js::NoteNativeOperation(JSFunction* function, const JSJitInfo* info) {
  Name name;
  if (!NameOf(function, &name)) {
    return;
  }
  void* operation = nullptr;
  switch (info->type()) {
    case JSJitInfo::Getter:
      operation = reinterpret_cast<void*>(info->getter);
      break;
    case JSJitInfo::Setter:
      operation = reinterpret_cast<void*>(info->setter);
      break;
    case JSJitInfo::Method:
      operation = reinterpret_cast<void*>(info->method);
      break;
    case JSJitInfo::StaticMethod:
      operation = reinterpret_cast<void*>(info->staticMethod);
      break;
    case JSJitInfo::IgnoresReturnValueNative:
      Note(reinterpret_cast<void*>(info->ignoresReturnValueMethod), &name);
      return;
    default:
      // Other kinds are hints for the compiler, about functions with a native of their own.
      return;
  }
  auto* native = reinterpret_cast<void*>(function->native());
  if (operation != native) {
    Note(native, nullptr);
  }
  Note(operation, &name);
}

const StrobeNativeName* strobe_last_native_name() { return lastEntry.load(std::memory_order_acquire); }

bool strobe_native_is_shared(const StrobeNativeName* name) {
  return static_cast<const Entry*>(name)->isShared.load(std::memory_order_relaxed);
}

uint64_t strobe_native_names_version() { return version.load(std::memory_order_acquire); }

void strobe_note_constructor(const void* code, const char* text) {
  Name name;
  name.append(text, strlen(text));
  Note(code, &name);
}
