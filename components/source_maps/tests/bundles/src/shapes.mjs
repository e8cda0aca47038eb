/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Each function has a number of its own, so that a test finds it in any bundle.
export function rectangleArea(width, height = 1101) {
  return trace(width) * height;
}

const squareArea = (side = 1102) => trace(side) * side;

export const doubled = value => trace(value) * 1103;

export class Circle {
  #radius;

  constructor(radius = 1104) {
    this.#radius = trace(radius);
  }

  circumference(precision = 1105) {
    return trace(precision) + this.#secret(precision) + squareArea(this.diameter);
  }

  get diameter() {
    return trace(this.#radius) * 1106;
  }

  static unit(size = 1107) {
    return new Circle(trace(size));
  }

  async load(name = 1108) {
    await trace(name);
  }

  *points(count = 1109) {
    yield trace(count);
  }

  #secret(key = 1110) {
    return trace(key);
  }

  handler = (event = 1111) => trace(event);
}

Circle.prototype.scaled = function (factor = 1112) {
  return trace(factor);
};

export const table = {
  lookUp(key = 1113) {
    return trace(key);
  },
  sum: function (list = 1114) {
    return trace(list);
  },
  "odd-name": (first = 1115) => trace(first),
};

export function outerWork(list = 1116) {
  const helper = (left, right = 1117) => trace(left) - trace(right);
  return list.map((item = 1118) => trace(item) * 2).sort(helper);
}

export default function (seed = 1119) {
  return trace(seed);
}
