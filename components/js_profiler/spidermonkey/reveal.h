/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Access to private fields of the engine. An explicit instantiation may name them.

#ifndef strobe_js_profiler_reveal_h
#define strobe_js_profiler_reveal_h

namespace strobe {

// The base of a tag, which declares `friend constexpr Pointer Find(Tag);`.
template <typename Class, typename Field>
struct Private {
  using Pointer = Field Class::*;
};

// `template struct Reveal<Tag, &Class::field_>;` defines `Find(Tag())`.
template <typename Tag, typename Tag::Pointer Field>
struct Reveal {
  friend constexpr typename Tag::Pointer Find(Tag) { return Field; }
};

}  // namespace strobe

#endif  // strobe_js_profiler_reveal_h
