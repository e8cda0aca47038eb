/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The kinds of functions in the program, and what the maps of some builders lack.

import { readFileSync } from "node:fs";
import { join } from "node:path";

const SRC = join(import.meta.dirname, "src");

/** Each kind: its name, its file, and the text with which it begins. Metro has names of its own for some. */
const KINDS = [
  ["declared", "shapes", "export function declared("],
  ["arrow", "shapes", "export const arrow ="],
  ["method", "shapes", "  method(count)", "object.method"],
  ["prop", "shapes", "  prop: function", "object.prop"],
  ["arrowProp", "shapes", "  arrowProp:", "object.arrowProp"],
  ["area", "shapes", "  area(count)", "Shape#area"],
  ["get size", "shapes", "  get size()", "Shape#get__size"],
  ["make", "shapes", "  static make(count)", "Shape.make"],
  ["#hidden", "shapes", "  #hidden(count)"],
  ["callHidden", "shapes", "  callHidden(count)", "Shape#callHidden"],
  ["field", "shapes", "  field =", "Shape#field"],
  ["default", "shapes", "export default function"],
  ["afterAwait", "tasks", "export async function afterAwait("],
  ["generator", "tasks", "export function* generator("],
  ["outer", "tasks", "export function outer("],
  ["inner", "tasks", "  function inner("],
  ["main", "main", "async function main("],
  ["packed", "index", "export function packed("],
];

/** What is not right, by the map's own lack: docs/formats.md has it. */
export const LACKS = {
  "rspack-eval": { kinds: "all" },
  "webpack-eval": { kinds: "all" },
  "typescript-es2015": { kinds: ["#hidden", "afterAwait", "main"] },
};

/** The kinds, with the lines of their definition and of their loop. */
export const kinds = KINDS.map(([name, stem, text, ofMetro]) => {
  const file = stem === "index" ? "pack/index.js" : `${stem}.js`;
  const lines = readFileSync(join(SRC, file), "utf8").split("\n");
  const line = lines.findIndex((one) => one.startsWith(text)) + 1;
  const indent = /^ */.exec(lines[line - 1])[0];
  const isWithin = (one) => one.startsWith(`${indent}  for (let index`) || one.startsWith(`${indent}    for (let index`);
  // That of `outer` comes after the function within it.
  const start = text.includes("outer") ? lines.findLastIndex((one) => one.startsWith("  for (let index")) : lines.findIndex((one, index) => index >= line && isWithin(one));
  const end = lines.findIndex((one, index) => index >= line && (one === `${indent}}` || one === `${indent}};` || one === `${indent}},`));
  return { name, names: ofMetro ? [name, ofMetro] : [name], stem, line, loop: [start + 1, start + 4], end: end + 1 };
});
