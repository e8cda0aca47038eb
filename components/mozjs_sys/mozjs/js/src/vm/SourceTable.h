/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The names of scripts and of WebAssembly modules, by their numbers.
//
// A sampler that stops a thread notes only the number of a function's source. It asks for the name when the thread runs
// again, once for each source. A source that is gone by then has left its name in a list of the sources that went last,
// if somebody profiles.
//
// What a source costs that nobody asks about: 24 bytes, and taking the lock at its beginning and at its end. Nothing is
// allocated and no text is copied: a source links itself into the table.

#ifndef vm_SourceTable_h
#define vm_SourceTable_h

#include <stddef.h>
#include <stdint.h>

namespace js {

enum class SourceKind : uint8_t { Script, Wasm };

// A member of what has a name and a number.
class ListedSource {
  friend class SourceTable;

  // Of the same slot of the table. Used under the table's lock.
  ListedSource* next_ = nullptr;
  // Lives and stays the same until this is destroyed.
  const char* name_ = nullptr;
  uint32_t number_ = 0;
  SourceKind kind_ = SourceKind::Script;
  // Whether the name says what made the source, and not where it is: "URL line 3 > eval".
  bool isIntroduced_ = false;

 public:
  ListedSource() = default;
  ~ListedSource();
  ListedSource(const ListedSource&) = delete;
  void operator=(const ListedSource&) = delete;

  // Adds the source to the table. Once at most. A source without a name need not be there. The number is unique among
  // the sources of its kind.
  void list(SourceKind kind, uint32_t number, const char* name, bool isIntroduced);
  // The same for a WebAssembly module, which gets a number. A module without a name has a number, too.
  void listModule(const char* name);

  uint32_t number() const { return number_; }
};

}  // namespace js

// For the sampler.
extern "C" {

// Says whether anybody profiles. If so, sources that go away are remembered for a while.
void strobe_remember_sources(bool remember);

// Calls `take` with the name of a source, of which at most `most` bytes are passed, and its whole length. Of a script whose
// name says what made it, no byte is passed. `kind` is a js::SourceKind. False if the source has no name, or if it is gone and
// forgotten. `take` is called under the lock, with which no thread may be stopped, so it must not stop a thread or take long.
bool strobe_read_source(uint8_t kind, uint32_t number, size_t most,
                        void (*take)(void* taker, const uint8_t* name, size_t length, size_t whole, bool isIntroduced),
                        void* taker);

}  // extern "C"

#endif  // vm_SourceTable_h
