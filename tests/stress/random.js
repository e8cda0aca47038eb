/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Random numbers that follow from a seed, so that a page does the same when it is opened again.

class Random {
    #state = 0x811c9dc5;

    // Any text can be a seed: its FNV-1a hash is the first state.
    constructor(seed) {
        for (const character of seed) {
            this.#state = Math.imul(this.#state ^ character.codePointAt(0), 0x01000193);
        }
    }

    // mulberry32
    #next() {
        this.#state = (this.#state + 0x6d2b79f5) | 0;
        let x = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
        x = (x + Math.imul(x ^ (x >>> 7), x | 61)) ^ x;
        return (x ^ (x >>> 14)) >>> 0;
    }

    // A whole number of at least 0 and less than `limit`.
    below(limit) {
        return this.#next() % limit;
    }

    between(least, most) {
        return least + this.below(most - least + 1);
    }

    chance(share) {
        return this.#next() / 2 ** 32 < share;
    }

    oneOf(list) {
        return list[this.below(list.length)];
    }

    // One of the keys; the values are the weights.
    weighted(weights) {
        let at = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
        return Object.keys(weights).find((key) => (at -= weights[key]) < 0);
    }
}
