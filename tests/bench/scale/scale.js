/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What do many profilers cost compared to one? And how many can run at once?

const MANY = 50;
// More than any browser allows.
const TOO_MANY = 1000;

function state(profilers, sampleInterval) {
    return { profilers, sampleInterval };
}

// How many profilers can run at once, and how the next one fails.
async function countProfilers() {
    const profilers = [];
    let failure = null;
    try {
        while (profilers.length < TOO_MANY) {
            profilers.push(new Profiler({ sampleInterval: 10, maxBufferSize: MAX_BUFFER_SIZE }));
        }
    } catch (error) {
        failure = String(error);
    }
    await Promise.all(profilers.map((profiler) => profiler.stop()));
    return { count: profilers.length, failure };
}

runMeasurement(async () => {
    const comparisons = [
        makeComparison("1/1 at 10 ms", state(1, 10), state(1, 10)),
        makeComparison(`${MANY}/1 at 10 ms`, state(1, 10), state(MANY, 10)),
        makeComparison(`${MANY}/1 at 1 ms`, state(1, 1), state(MANY, 1)),
    ];
    const timed = await measureKernels(comparisons, numberFromAddress("pairs"));
    return { userAgent: navigator.userAgent, comparisons, kernels: timed, atOnce: await countProfilers() };
});
