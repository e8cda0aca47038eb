/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

import { packed } from "kinds-pack";
import byDefault, { Shape, arrow, declared, object } from "./shapes.js";
import { afterAwait, generator, outer } from "./tasks.js";

const COUNT = 200000;
// Firefox has most samples of its baseline code at the beginning of a function, so there must be many for one in its loop.
const ROUNDS = 80;

async function main(count) {
  const shape = new Shape(count);
  const all = [
    declared,
    arrow,
    object.method,
    object.prop,
    object.arrowProp,
    (count) => shape.area(count),
    () => shape.size,
    Shape.make,
    (count) => shape.callHidden(count),
    shape.field,
    byDefault,
    afterAwait,
    (count) => generator(count).next().value,
    outer,
    packed,
  ];
  let sum = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const one of all) {
      sum += await one(count);
    }
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
  }
  return sum;
}

globalThis.kinds = main(COUNT);
