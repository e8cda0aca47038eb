/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The texts of scripts. Called on the context's own thread, never during a walk: it allocates, and may finish a collection
// of garbage.

#include "glue.h"

#include <algorithm>
#include <string>

#include "mozilla/HashTable.h"
#include "mozilla/RefPtr.h"

#include "gc/GC.h"
#include "js/AllocPolicy.h"
#include "js/RootingAPI.h"
#include "js/Vector.h"
#include "vm/JSContext.h"
#include "vm/JSScript.h"

#include "vm/JSScript-inl.h"
#include "vm/Realm-inl.h"

using namespace js;

namespace {

// The scripts that were asked for, each once.
struct Found {
  const uint32_t* ids;
  size_t idsLength;
  mozilla::HashSet<uint32_t, mozilla::DefaultHasher<uint32_t>, SystemAllocPolicy> seen;
  // The sources outlive the iteration, during which the heap must not be changed.
  Vector<RefPtr<ScriptSource>, 0, SystemAllocPolicy> sources;
  // The global object of each, which keeps its realm alive.
  JS::RootedVector<JSObject*> globals;

  Found(JSContext* cx, const uint32_t* ids, size_t length) : ids(ids), idsLength(length), globals(cx) {}

  void consider(BaseScript* script) {
    ScriptSource* source = script->scriptSource();
    if (!source || !std::binary_search(ids, ids + idsLength, source->id()) || seen.has(source->id())) {
      return;
    }
    // If there is no memory, the script counts as gone.
    if (!sources.append(source)) {
      return;
    }
    if (!globals.append(script->realm()->maybeGlobal())) {
      sources.popBack();
      return;
    }
    (void)seen.put(source->id());
  }
};

void TakeScript(JSRuntime*, void* data, BaseScript* script, const JS::AutoRequireNoGC&) {
  static_cast<Found*>(data)->consider(script);
}

}  // namespace

void strobe_each_source(JSContext* cx, const uint32_t* ids, size_t ids_length, StrobeWantsText wants, StrobeTakeText take,
                        void* taker) {
  Found found(cx, ids, ids_length);
  IterateScripts(cx, nullptr, &found, TakeScript);
  for (size_t i = 0; i < found.sources.length(); i++) {
    ScriptSource* source = found.sources[i];
    StrobeSource facts = {};
    if (JSObject* global = found.globals[i]) {
      facts.realm = reinterpret_cast<uintptr_t>(global->nonCCWRealm());
    }
    facts.id = source->id();
    facts.line = source->startLine();
    facts.column = source->startColumn().oneOriginValue();
    if (const char* name = source->filename()) {
      facts.name = reinterpret_cast<const uint8_t*>(name);
      facts.name_length = strlen(name);
    }
    if (source->hasSourceMapURL()) {
      facts.map_url = source->sourceMapURL();
      facts.map_url_length = std::char_traits<char16_t>::length(facts.map_url);
    }
    ScriptSource::DataReader reader(source);
    facts.has_text = reader.hasSourceText();
    facts.length = facts.has_text ? reader->length() : 0;
    if (!wants(taker, &facts) || !facts.length) {
      continue;
    }
    // A copy, so that nothing is kept in the engine's cache.
    SubstringCharsResult text = reader->substringChars(0, facts.length);
    if (text.is<JS::UniqueTwoByteChars>()) {
      if (const auto& units = text.as<JS::UniqueTwoByteChars>()) {
        take(taker, reinterpret_cast<const uint8_t*>(units.get()), facts.length * sizeof(char16_t), STROBE_TEXT_UTF16);
      }
    } else if (const auto& units = text.as<JS::UniqueChars>()) {
      take(taker, reinterpret_cast<const uint8_t*>(units.get()), facts.length, STROBE_TEXT_UTF8);
    }
  }
}
