/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

const PRIME = 0x01000193;

/** The FNV-1a hash of a text that is repeated. */
export const checksum = (text, times) => {
  let hash = 0x811c9dc5;
  for (let time = 0; time < times; time += 1) {
    for (let index = 0; index < text.length; index += 1) {
      // The hottest line.
      hash = Math.imul((hash ^ (text.charCodeAt(index) & 0xff)) >>> 0, PRIME) ^ (hash >>> 15) ^ (hash << 3);
    }
  }
  return hash >>> 0;
};
