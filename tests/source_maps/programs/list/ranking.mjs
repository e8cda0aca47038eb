/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

/** How many characters have to be added, removed or replaced to make one text of the other. */
export function editDistance(one, other) {
  const row = new Uint16Array(other.length + 1).map((_, index) => index);
  for (let line = 0; line < one.length; line += 1) {
    let diagonal = row[0];
    row[0] = line + 1;
    for (let column = 0; column < other.length; column += 1) {
      // The places of all its parts are on one line, so that this is the hottest.
      const best = Math.min(row[column] + 1, row[column + 1] + 1, diagonal + (one[line] === other[column] ? 0 : 1));
      diagonal = row[column + 1];
      row[column + 1] = best;
    }
  }
  return row[other.length];
}
