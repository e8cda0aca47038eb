/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The work of each function is on the lines whose comments name it. A number is that line's share of the work, in
// percent. There is so much of it that what calls, loops and returns beside it is less than a hundredth.

function loop(n) {
  let sum = 1;
  for (let i = 0; i < n; i++) sum = (sum * 31 + i) | 0; // loop: 100
  return sum;
}

function branches(n) {
  let sum = 1;
  for (let round = 0; round < n / 1000; round++) {
    if (round & 1) {
      for (let i = 0; i < 1000; i++) sum = (sum * 31 + i) | 0; // branches: 50
    } else {
      for (let i = 0; i < 1000; i++) sum = (sum * 37 + i) | 0; // branches: 50
    }
  }
  return sum;
}

function seventy(sum) {
  for (let i = 0; i < 1400; i++) sum = ((((sum << 1) ^ i) << 2) ^ ((sum >>> 3) + i) ^ (i << 4)) | 0; // seventy: 100
  return sum;
}

function thirty(sum) {
  for (let i = 0; i < 600; i++) sum = ((((sum << 1) ^ i) << 2) ^ ((sum >>> 3) + i) ^ (i << 4)) | 0; // thirty: 100
  return sum;
}

function inlining(n) {
  let sum = 1;
  for (let round = 0; round < n / 2000; round++) {
    sum = seventy(sum); // inlining: 70
    sum = thirty(sum); // inlining: 30
  }
  return sum;
}

function* numbers() {
  let sum = 1;
  for (;;) {
    for (let i = 0; i < 2000; i++) sum = (sum * 31 + i) | 0; // numbers: 100
    yield sum;
  }
}

function generating(n) {
  const generator = numbers();
  let sum = 0;
  for (let round = 0; round < n / 2000; round++) sum ^= generator.next().value; // generating: 100
  return sum;
}

function finishing(n) {
  let sum = 1;
  for (let round = 0; round < n / 2000; round++) {
    try {
      for (let i = 0; i < 1000; i++) sum = (sum * 31 + i) | 0; // finishing: 50
    } finally {
      for (let i = 0; i < 1000; i++) sum = (sum * 37 + i) | 0; // finishing: 50
    }
  }
  return sum;
}

function catching(n) {
  let sum = 1;
  for (let round = 0; round < n / 10_000; round++) {
    try {
      throw sum;
    } catch (thrown) {
      // Throwing takes as long as some 40 rounds of this loop in Baseline code.
      for (let i = 0; i < 10_000; i++) sum = (sum * 31 + thrown + i) | 0; // catching: 100
    }
  }
  return sum;
}

const UNSORTED = Array.from({ length: 2000 }, (_, index) => (index * 7919) % 2003);

function sorting() {
  return UNSORTED.slice().sort((a, b) => a - b)[0]; // sorting: 100
}

const property = {
  get value() {
    let sum = 1;
    for (let i = 0; i < 2000; i++) sum = (sum * 31 + i) | 0; // get value: 100
    return sum;
  },
};

function reading(n) {
  let sum = 0;
  for (let round = 0; round < n / 2000; round++) {
    sum ^= property.value; // reading: 100
  }
  return sum;
}

const KINDS = [
  loop, branches, inlining, generating, finishing, catching, sorting, reading, minified,
];
const DURATION = 2000;
// For functions of which a part counts, or of which a larger part of the samples is on other lines.
const LONG_DURATION = 3000;
const LONG_KINDS = [inlining, generating, catching];
var finished = false;
var result = 0;

function run(kind) {
  const end = performance.now() + (LONG_KINDS.includes(kind) ? LONG_DURATION : DURATION);
  while (performance.now() < end) {
    result ^= kind(20_000);
  }
}

function next(index) {
  if (index === KINDS.length) {
    finished = true;
    return;
  }
  run(KINDS[index]);
  setTimeout(next, 0, index + 1);
}

setTimeout(next, 0, 0);
