/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does profiling cost? Measures kernels and the processor time of the whole browser, with and without a profiler.
// The control compares runs without a profiler to each other, and so shows how much of an answer is noise.

// Runs of all kernels between two readings of the processor time, whose unit is a hundredth of a second.
const ROUNDS_PER_BLOCK = 4;

const OFF = { profilers: 0 };
const AT_10 = { profilers: 1, sampleInterval: 10 };
const AT_1 = { profilers: 1, sampleInterval: 1 };

function makeRounds(count) {
    return () => {
        for (let round = 0; round < count; round++) {
            for (const kernel of kernels) {
                timeRun(kernel, kernel.count);
            }
        }
    };
}

// The browser's processor time for a block of work, in s.
async function measureBlock() {
    makeRounds(1)();
    const before = await askBench("processor-time");
    makeRounds(ROUNDS_PER_BLOCK)();
    return (await askBench("processor-time")) - before;
}

async function measureProcessorTime(comparisons, pairs) {
    const times = comparisons.map(({ name }) => ({ name, pairs: [] }));
    for (let round = 0; round < pairs; round++) {
        for (const [index, comparison] of comparisons.entries()) {
            times[index].pairs.push(await measurePair(comparison, round % 2 === 0, measureBlock));
        }
    }
    return times;
}

runMeasurement(async () => {
    const comparisons = [
        makeComparison("off/off", OFF, OFF),
        makeComparison("10 ms/off", OFF, AT_10),
        makeComparison("1 ms/off", OFF, AT_1),
    ];
    const timed = await measureKernels(comparisons, numberFromAddress("pairs"));
    const processor = [makeComparison("off/off", OFF, OFF), makeComparison("1 ms/off", OFF, AT_1)];
    const processorTime = await measureProcessorTime(processor, numberFromAddress("blocks"));
    return { userAgent: navigator.userAgent, comparisons, kernels: timed, processorTime };
});
