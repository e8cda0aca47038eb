/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

export function packed(count) {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return sum;
}
