/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Built-in functions that are native code call these functions of the page. A stack with both was walked through native
// frames. ./mach test-package looks for them in a recording.

const ROUNDS = 120;
const COUNT = 8000;

// Set at the end: ./mach test-package records until then.
let isDone = false;

function compareNumbers(a, b) {
    return (a % 1000) - (b % 1000) || a - b;
}

function sortNumbers() {
    const numbers = Array.from({ length: COUNT }, (_, index) => (index * 7919) % 10007);
    return numbers.sort(compareNumbers);
}

function replaceValue(key, value) {
    return typeof value === "number" ? Math.sqrt(value).toFixed(3) : value;
}

function writeNumbers(numbers) {
    return JSON.stringify({ numbers }, replaceValue);
}

function round(left) {
    writeNumbers(sortNumbers());
    if (left === 1) {
        isDone = true;
    } else {
        setTimeout(round, 0, left - 1);
    }
}

round(ROUNDS);
