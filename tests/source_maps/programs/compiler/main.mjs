/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Compiles another generated program from TypeScript to JavaScript in each turn.

import ts from "typescript";

import { checksum } from "./checksum.mjs";

const OPTIONS = { target: ts.ScriptTarget.ES5, module: ts.ModuleKind.CommonJS, jsx: ts.JsxEmit.React };

let turns = 0;

/** A program with as many classes as are asked for. */
function makeProgram(classes) {
  const parts = ["export type Id<T extends object = {}> = keyof T & string;"];
  for (let index = 0; index < classes; index += 1) {
    parts.push(`
      export class Shape${index}<T extends { side: number }> {
        readonly #sides: Map<string, T> = new Map();
        constructor(public name: string, protected readonly scale = ${index}) {}
        get area(): number { return [...this.#sides.values()].reduce((sum, { side }) => sum + side ** 2, 0); }
        async add(key: Id<T>, side: T, ...more: T[]): Promise<number> {
          for (const one of [side, ...more]) { this.#sides.set(\`\${this.name}:\${key}\`, one); }
          return (await Promise.resolve(this.area)) * this.scale satisfies number;
        }
      }`);
  }
  return parts.join("\n");
}

globalThis.turn = function turn() {
  turns += 1;
  const { outputText } = ts.transpileModule(makeProgram(1 + (turns % 4)), { compilerOptions: OPTIONS });
  return checksum(outputText, 150);
};
