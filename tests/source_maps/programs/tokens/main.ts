/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Reads generated programs with a parser, and looks for places that two of them have in common.

import { parse, tokenizer, type Options } from "acorn";

import { Shingles } from "./shingles";

enum Kind {
  Loop,
  Branch,
  Call,
}

interface Program {
  readonly kind: Kind;
  readonly text: string;
}

const OPTIONS: Options = { ecmaVersion: 2022, sourceType: "module" };

let turns = 0;

function statementOf(kind: Kind, number: number): string {
  switch (kind) {
    case Kind.Loop:
      return `for (const item${number} of list${number % 5}) { total += item${number} * ${number}; }`;
    case Kind.Branch:
      return `if (a${number} > 0x${number.toString(16)}) { go(\`x\${a${number}}\`); } else { stop?.(a${number}); }`;
    case Kind.Call:
      return `const f${number} = async ({ left, right = ${number} }, ...rest) => [left, ...(await g(right, rest))];`;
  }
}

function makeProgram(seed: number): Program {
  const kinds: Kind[] = [Kind.Loop, Kind.Branch, Kind.Call];
  const kind = kinds[seed % kinds.length]!;
  const lines = Array.from({ length: 60 }, (_, index) => statementOf(kinds[(seed + index * index) % 3]!, seed + index));
  return { kind, text: lines.join("\n") };
}

function typesOfTokens<T extends Program>(program: T): number[] {
  const types = new Map<string, number>();
  const numbers: number[] = [];
  for (const { type } of tokenizer(program.text, OPTIONS)) {
    const number = types.get(type.label) ?? types.size;
    types.set(type.label, number);
    numbers.push(number);
  }
  return numbers;
}

(globalThis as unknown as { turn: () => number }).turn = function turn(): number {
  turns += 1;
  const [one, other] = [makeProgram(turns), makeProgram(turns + 1)];
  const tree = parse(one.text, OPTIONS);
  const shingles = new Shingles(12);
  shingles.add(typesOfTokens(one));
  return shingles.countOf(typesOfTokens(other)) + tree.end + one.kind;
};
