/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Programs that allocate so much that a good part of their time is that of collections of garbage. Each takes some
// milliseconds a call.

// The engine has to mark these in each collection of the whole heap.
const live = Array.from({ length: 200_000 }, (_, i) => ({ i, next: { i } }));

function tree(depth) {
  return depth === 0 ? { value: depth } : { left: tree(depth - 1), right: tree(depth - 1) };
}

function* numbers(count) {
  for (let i = 0; i < count; i++) {
    yield { i };
  }
}

function counter(start) {
  let count = start;
  return () => ++count;
}

const text = JSON.stringify(live.slice(0, 2000));

// (import "a" "b" (func (param i32)))
// (func (export "call") (param i32) (loop (call 0 (local.get 0)) (local.set 0 (i32.sub (local.get 0) (i32.const 1)))
//   (br_if 0 (local.get 0)))):
const CALLS = new Uint8Array([
  0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x01, 0x7f, 0x00, 0x02, 0x07, 0x01, 0x01,
  0x61, 0x01, 0x62, 0x00, 0x00, 0x03, 0x02, 0x01, 0x00, 0x07, 0x08, 0x01, 0x04, 0x63, 0x61, 0x6c, 0x6c, 0x00, 0x01,
  0x0a, 0x16, 0x01, 0x14, 0x00, 0x03, 0x40, 0x20, 0x00, 0x10, 0x00, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x21, 0x00, 0x20,
  0x00, 0x0d, 0x00, 0x0b, 0x0b,
]);
const made = [];
const { call } = new WebAssembly.Instance(new WebAssembly.Module(CALLS), {
  a: { b: i => { made[i & 1023] = { i, next: [i] }; } },
}).exports;

const programs = {
  trees() {
    tree(13);
  },
  strings() {
    let built = "";
    for (let i = 0; i < 20_000; i++) {
      built += `${i},`;
    }
    return built.split(",").map(part => part.concat("x")).join("");
  },
  typedArrays() {
    for (let i = 0; i < 3000; i++) {
      made[i & 1023] = new Float64Array(64 + (i & 63));
    }
  },
  closures() {
    for (let i = 0; i < 60_000; i++) {
      made[i & 1023] = counter(i);
      made[i & 1023]();
    }
  },
  maps() {
    const map = new Map();
    for (let i = 0; i < 20_000; i++) {
      map.set(`key${i}`, { i });
      map.delete(`key${i - 100}`);
    }
  },
  expressions() {
    for (let i = 0; i < 10_000; i++) {
      made[i & 1023] = `a${i}-b${i}`.match(/(\w+)-(\w+)/);
    }
  },
  json() {
    made[0] = JSON.parse(text);
    made[1] = JSON.stringify(made[0]);
  },
  calls() {
    call(40_000);
  },
  generators() {
    for (const each of numbers(30_000)) {
      made[each.i & 1023] = each;
    }
  },
  sorts() {
    const rows = Array.from({ length: 8000 }, (_, i) => ({ key: (i * 7919) % 8009 }));
    rows.sort((a, b) => [a.key][0] - [b.key][0]);
  },
  spreads() {
    for (let i = 0; i < 20_000; i++) {
      made[i & 1023] = { ...live[i], list: [...[i, i + 1]] };
    }
  },
};

if (self.document) {
  Object.assign(programs, {
    markup() {
      const parent = document.createElement("div");
      parent.innerHTML = "<ul>" + "<li class=a>one<b>two</b></li>".repeat(300) + "</ul>";
    },
  });
}

// What each call of the programs has taken, in milliseconds, and of what they take turns with.
const times = {};

function burn() {
  const begin = performance.now();
  let sum = 0;
  while (performance.now() - begin < 3) {
    for (let i = 0; i < 1000; i++) {
      sum += Math.sqrt(i);
    }
  }
  times[current].burn.push(performance.now() - begin);
  return sum;
}

let current;

function allocate() {
  const begin = performance.now();
  programs[current]();
  times[current].allocate.push(performance.now() - begin);
}

// Does nothing but call the two.
function turns(count) {
  for (let i = 0; i < count; i++) {
    allocate();
    burn();
  }
}

// Runs each program for so many milliseconds.
function runAll(milliseconds) {
  for (current of Object.keys(programs)) {
    times[current] = { allocate: [], burn: [] };
    const end = performance.now() + milliseconds;
    while (performance.now() < end) {
      turns(20);
    }
  }
  return times;
}
