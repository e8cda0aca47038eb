/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The size of the tables that say which functions are where in JIT code. Servo without hooks does not make them.

#include "glue.h"

#include <algorithm>
#include <malloc.h>

#include "jit/JitRuntime.h"
#include "jit/JitcodeMap.h"
#include "js/AllocPolicy.h"
#include "js/Vector.h"
#include "vm/JSContext.h"
#include "vm/Runtime.h"

#include "reveal.h"

using namespace js;
using jit::JitcodeGlobalEntry;
using jit::JitcodeGlobalTable;

namespace strobe {

struct TableEntries : Private<JitcodeGlobalTable, Vector<jit::UniqueJitcodeGlobalEntry, 0, SystemAllocPolicy>> {
  friend constexpr Pointer Find(TableEntries);
};
template struct Reveal<TableEntries, &JitcodeGlobalTable::entries_>;

struct TableNodes : Private<JitcodeGlobalTable, LifoAlloc> {
  friend constexpr Pointer Find(TableNodes);
};
template struct Reveal<TableNodes, &JitcodeGlobalTable::alloc_>;

namespace {

// SpiderMonkey uses the system's heap.
size_t SizeOf(const void* block) { return malloc_usable_size(const_cast<void*>(block)); }

size_t SizeOfEntry(JitcodeGlobalEntry* entry) {
  size_t size = SizeOf(entry);
  if (entry->isIon()) {
    jit::IonEntry& ion = entry->asIon();
    size += ion.scriptList().sizeOfExcludingThis(SizeOf) + SizeOf(ion.regionTable()->payloadStart());
    for (const auto& script : ion.scriptList()) {
      size += SizeOf(script.str.get());
    }
  } else if (entry->isBaseline()) {
    size += SizeOf(entry->asBaseline().str());
  } else if (entry->isRealmIndependentShared()) {
    size += SizeOf(entry->asRealmIndependentShared().str());
  }
  return size;
}

}  // namespace

}  // namespace strobe

StrobeCodeTables strobe_measure_code_tables(JSContext* cx) {
  using namespace strobe;
  StrobeCodeTables tables = {};
  jit::JitRuntime* runtime = cx->runtime()->jitRuntime();
  if (!runtime || !runtime->hasJitcodeGlobalTable()) {
    return tables;
  }
  JitcodeGlobalTable* table = runtime->getJitcodeGlobalTable();
  const auto& entries = table->*Find(TableEntries());
  const auto& index = table->index();
  size_t slots = 0;
  for (const auto& entry : entries) {
    if (entry->hasJitcode()) {
      auto begin = reinterpret_cast<uintptr_t>(entry->nativeStartAddr());
      auto end = reinterpret_cast<uintptr_t>(entry->nativeEndAddr());
      if (index.find(begin) == entry.get() && index.find(end - 1) == entry.get()) {
        slots += index.slotsOf(entry.get());
      } else {
        tables.not_indexed++;
      }
    }
    size_t size = SizeOfEntry(entry.get());
    (entry->isIon() ? tables.ion_size : tables.other_size) += size;
    (entry->isIon() ? tables.ion_entries : tables.other_entries)++;
  }
  tables.other_size += entries.sizeOfExcludingThis(SizeOf) + (table->*Find(TableNodes())).sizeOfExcludingThis(SizeOf) +
                       index.sizeOfExcludingThis(SizeOf);
  tables.wrongly_indexed = std::max(index.slotCount(), slots) - slots;
  return tables;
}
