/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A calculator: expressions that are parsed, simplified and evaluated, with matrices, units and exact numbers.

import { all, create } from "mathjs";

import { checksum } from "./checksum.mjs";

const math = create(all, {});
const matrix = Array.from({ length: 6 }, (_, i) => Array.from({ length: 6 }, (_, j) => 1 / (1 + i + j) + (i === j)));
const program = math.compile("y = a x^2 + b x + c; z = sqrt(abs(y)) + sin(y) / 3; [y, z, y * z]");

export function unit() {
  const results = [
    math.evaluate("det(m) + trace(inv(m))", { m: math.matrix(matrix) }),
    math.derivative("x^3 sin(x) + log(x)", "x", { simplify: false }),
    math.simplify("2 x + 3 x"),
    math.evaluate("5.08 cm + 2 inch to mm"),
    math.evaluate("(2 + 3i) ^ 2 / (1 - i)"),
    math.add(math.fraction(1, 3), math.fraction(2, 7)),
    math.bignumber(2).pow(120).div(7),
  ];
  for (let x = 0; x < 40; x++) {
    results.push(program.evaluate({ a: 2, b: -3, c: 1, x: x / 8 }));
  }
  // Functions of the mathematical library may differ in the last digit.
  return checksum(results.map((result) => math.format(result, { precision: 9 })).join("; "));
}
