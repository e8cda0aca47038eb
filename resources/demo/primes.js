/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The hot part of the demo. The profile should show that most of the time is in isPrime, called by nextPrimes.

// Trial division by the odd numbers up to the square root.
function isPrime(number) {
    if (number < 4) {
        return number > 1;
    }
    if (number % 2 === 0) {
        return false;
    }
    for (let divisor = 3; divisor * divisor <= number; divisor += 2) {
        if (number % divisor === 0) {
            return false;
        }
    }
    return true;
}

// The first `count` primes from `start` on.
function nextPrimes(start, count) {
    const primes = [];
    for (let candidate = start; primes.length < count; candidate++) {
        if (isPrime(candidate)) {
            primes.push(candidate);
        }
    }
    return primes;
}
