/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What was written in the files that the programs are made of.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { TraceMap, originalPositionFor } from "@jridgewell/trace-mapping";

import { ROOT, scriptOf } from "./programs.mjs";

const linesOfFiles = new Map();

/** The lines of a file, or null if there is none. */
function linesOf(file) {
  if (!linesOfFiles.has(file)) {
    let lines = null;
    try {
      lines = readFileSync(join(ROOT, file), "utf8").split(/\r\n|\n/u);
    } catch (error) {
      if (error.code !== "ENOENT") {
        throw error;
      }
    }
    linesOfFiles.set(file, lines);
  }
  return linesOfFiles.get(file);
}

/** The number of the only line with a text. */
export function lineWith(file, text) {
  const lines = linesOf(file) ?? [];
  const index = lines.findIndex((line) => line.includes(text));
  if (index === -1 || lines.findLastIndex((line) => line.includes(text)) !== index) {
    throw new Error(`${file}: ${JSON.stringify(text)} is not on one line`);
  }
  return index + 1;
}

// How many lines before a definition its name may be.
const NEAR = 3;

/** Why a function cannot have been written so, or null. A function without a name may be anywhere. */
export function problemOf({ name, file, line }) {
  const lines = linesOf(file);
  if (lines === null) {
    return "there is no such file";
  }
  if (line > lines.length) {
    return `the file has ${lines.length} lines`;
  }
  if (name === "") {
    return null;
  }
  // `outer/<` is a function without a name in `outer`. `get size` is an accessor.
  const isWithin = name.endsWith("/<");
  const last = name.replace(/\/<$/u, "").replace(/^[gs]et /u, "").split(".").at(-1);
  const escaped = last.replace(/[$()*+./?[\\\]^{|}]/gu, "\\$&");
  // A constructor is called as its class, and code that was inlined has no line.
  const isAnywhere = isWithin || line === 0;
  const near = isAnywhere ? lines : lines.slice(Math.max(0, line - 1 - NEAR), line);
  const written = new RegExp(`(?<![\\w$])${escaped}["']?\\]?\\s*(?:[:(<=?]|$)`, "mu");
  const ofClass = new RegExp(`(?<![\\w$])(?:class\\s+${escaped}(?![\\w$])|${escaped}\\s*=\\s*class)`, "u");
  const before = lines.slice(0, line || undefined);
  const isWritten = near.some((text) => written.test(text)) || before.some((text) => ofClass.test(text));
  return isWritten ? null : "the name is not written there";
}

/** Finds where the function at a place of a program's script was written, as another reader of maps says it. */
export function oracleOf(program) {
  const file = `${scriptOf(program)}.map`;
  const map = new TraceMap(readFileSync(join(ROOT, file), "utf8"), `https://a.test/${file}`);
  return ({ line, column }) => {
    const original = originalPositionFor(map, { line, column: column - 1 });
    return original.source === null
      ? null
      : { file: new URL(original.source).pathname.slice(1), line: original.line };
  };
}
