/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

type Hash = number;

/** The runs of so many numbers in a row, by their hashes. */
export class Shingles {
  readonly #known = new Set<Hash>();

  public constructor(private readonly width: number) {}

  public add(numbers: readonly number[]): void {
    this.hashes(numbers).forEach((hash) => this.#known.add(hash));
  }

  public countOf(numbers: readonly number[]): number {
    return this.hashes(numbers).filter((hash) => this.#known.has(hash)).length;
  }

  /** Many times over, as a program would that is slow. */
  private hashes(numbers: readonly number[]): Hash[] {
    const found: Hash[] = [];
    for (let round = 0; round < 40; round += 1) {
      found.length = 0;
      for (let start = 0; start + this.width <= numbers.length; start += 1) {
        found.push(mixed(numbers, start, start + this.width));
      }
    }
    return found;
  }
}

function mixed(numbers: readonly number[], start: number, end: number): Hash {
  let hash: Hash = 17;
  for (let index = start; index < end; index += 1) {
    // The hottest line.
    hash = (Math.imul(hash, 31) ^ ((numbers[index]! << (index & 15)) >>> 0) ^ (hash >>> 13) ^ (hash << 7)) >>> 0;
  }
  return hash;
}
