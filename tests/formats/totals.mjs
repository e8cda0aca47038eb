/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Totals of functions: maps from a function's key to its samples, in any unit.

/** What a map has for a function. */
export function entryOf(functions, key) {
  if (!functions.has(key)) {
    functions.set(key, { itself: 0, total: 0 });
  }
  return functions.get(key);
}
