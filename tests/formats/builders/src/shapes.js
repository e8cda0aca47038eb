/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

export function declared(count) {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return sum;
}

export const arrow = (count) => {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return sum;
};

export const object = {
  method(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  },
  prop: function (count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  },
  arrowProp: (count) => {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  },
};

export class Shape {
  constructor(count) {
    this.count = count;
  }

  area(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  }

  get size() {
    const count = this.count;
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  }

  static make(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  }

  #hidden(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  }

  callHidden(count) {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum + this.#hidden(count);
  }

  field = (count) => {
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += index % 7;
      sum ^= index & 3;
    }
    return sum;
  };
}

export default function (count) {
  let sum = 0;
  for (let index = 0; index < count; index += 1) {
    sum += index % 7;
    sum ^= index & 3;
  }
  return sum;
}
