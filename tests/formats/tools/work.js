/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What the tools profile: functions of different kinds, a native one, a collection of garbage, and a wait where there is one.

/** In milliseconds. */
const WAIT = 400;

function loop(count) {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
  }
  return sum;
}

function shape(side) {
  return {
    get area() {
      return loop(side * 1000);
    },
  };
}

function recurse(depth) {
  return depth === 0 ? loop(30000) : recurse(depth - 1);
}

function parse(times) {
  const text = JSON.stringify(Array.from({ length: 2000 }, (_, index) => ({ index })));
  let length = 0;
  for (let time = 0; time < times; time += 1) {
    length += JSON.parse(text).length;
  }
  return length;
}

function work() {
  let sum = 0;
  for (let round = 0; round < 40; round += 1) {
    sum += recurse(5) + shape(100).area + parse(2);
  }
  return sum;
}

work();
if (typeof setTimeout === "function") {
  setTimeout(() => work(), WAIT);
}
