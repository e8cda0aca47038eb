/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// How many samples does a page get while other programs want the processor, and have its functions their true shares? The
// shares are those of operations, and not of a clock: the clock goes on while the page waits for a processor.

const WARM_UP_TIME = 1000; // ms
const MAX_BUFFER_SIZE = 10_000_000;

const interval = numberFromAddress("interval");
const milliseconds = numberFromAddress("seconds") * 1000;
const split = splits.find(({ name }) => name === "70/30 inlined");

let result = 0;

function work(time) {
    const begin = performance.now();
    while (performance.now() - begin < time) {
        result = split.run(result);
    }
    return { begin, end: performance.now() };
}

runMeasurement(async () => {
    work(WARM_UP_TIME);
    const before = await askBench("thread-times");
    const profiler = new Profiler({ sampleInterval: interval, maxBufferSize: MAX_BUFFER_SIZE });
    const { begin, end } = work(milliseconds);
    const trace = await profiler.stop();
    const after = await askBench("thread-times");
    const samples = trace.samples.filter(({ timestamp }) => timestamp >= begin && timestamp < end);
    const leaves = samples.map(({ stackId }) => labelsOf(trace, stackId).at(-1) ?? "(none)");
    return { interval, milliseconds: end - begin, shares: split.shares, leaves: tally(leaves), before, after };
});
