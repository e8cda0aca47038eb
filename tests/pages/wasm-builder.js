/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Writes WebAssembly modules as bytes.

const I32 = 0x7f;
const I64 = 0x7e;

function unsigned(number) {
  const bytes = [];
  do {
    bytes.push((number & 127) | (number > 127 ? 128 : 0));
    number >>>= 7;
  } while (number !== 0);
  return bytes;
}

function signed(number) {
  const bytes = [];
  for (;;) {
    const byte = number & 127;
    number >>= 7;
    if ((number === 0 && (byte & 64) === 0) || (number === -1 && (byte & 64) !== 0)) {
      return [...bytes, byte];
    }
    bytes.push(byte | 128);
  }
}

const counted = bytes => [...unsigned(bytes.length), ...bytes];
const vector = items => [...unsigned(items.length), ...items.flat()];
const name = text => counted(new TextEncoder().encode(text));

// `types` are lists of parameters and of results. `imports` are [module, name, what]. A function has a name, the number of its
// type, and instructions without the last `end`; it may have locals, all of one type each, as [count, type]. All functions are
// exported by their names. `tables`, `tags`, `elements` and `globals` are bytes of the items.
function wasmModule({ types, imports = [], functions, tables = [], tags = [], elements = [] }) {
  const imported = imports.filter(([, , [kind]]) => kind === 0).length;
  const section = (id, bytes) => [id, ...counted(bytes)];
  const listed = (id, items) => items.length === 0 ? [] : section(id, vector(items));
  return Uint8Array.from([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...listed(1, types.map(([parameters, results]) => [0x60, ...counted(parameters), ...counted(results)])),
    ...listed(2, imports.map(([from, what, bytes]) => [...name(from), ...name(what), ...bytes])),
    ...listed(3, functions.map(({ type }) => unsigned(type))),
    ...listed(4, tables),
    ...listed(13, tags),
    ...listed(7, [
      ...functions.map(({ name: text }, i) => [...name(text), 0, ...unsigned(imported + i)]),
      ...tables.map((_, i) => [...name(`table${i}`), 1, i]),
    ]),
    ...listed(9, elements),
    ...listed(10, functions.map(({ locals = [], body }) =>
      counted([...vector(locals.map(([count, type]) => [...unsigned(count), type])), ...body, 0x0b]))),
    ...section(0, [
      ...name("name"), 1,
      ...counted(vector(functions.map(({ name: text }, i) => [...unsigned(imported + i), ...name(text)]))),
    ]),
  ]);
}

// Instructions

const get = local => [0x20, local];
const set = local => [0x21, local];
const i32 = number => [0x41, ...signed(number)];
const call = target => [0x10, ...unsigned(target)];
const drop = 0x1a;

// Counts the local `count` down to 0, and works with the local `sum` in each step.
function countDown(count, sum) {
  return [
    0x03, 0x40,
    ...get(sum), ...i32(31), 0x6c, ...get(count), 0x6a, ...set(sum),
    ...get(count), ...i32(1), 0x6b, 0x22, count, 0x0d, 0,
    0x0b,
  ];
}
