/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

export async function afterAwait(count) {
  await null;
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return sum;
}

export function* generator(count) {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  yield sum;
}

export function outer(count) {
  function inner(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  }
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return [inner, inner].reduce((all, one) => all + one(count), sum);
}
