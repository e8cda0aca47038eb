/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs kernels in pairs, once in each of two states with different profilers. The order within a pair alternates, so
// that neither state always comes first. In every round a kernel runs one pair of each comparison, so that the drift
// of the machine affects all comparisons in the same way. ./mach bench calculates the ratios of the times.
//
// A state is { profilers, sampleInterval }: the number of profilers, and the interval that they ask for. A comparison
// is { name, reference, measured } with two states. In a control both states are the same.

// Rounds that are not counted: they warm up the kernel in all states.
const WARM_UP_PAIRS = 1;
const RUN_TIME = 50; // ms
const CALIBRATION_RUNS = 3;
// Untimed runs before each timed one. Starting or stopping a profiler may discard compiled code. With a single untimed
// run, n-body was still being compiled in the next run without a profiler, and 10 ms looked faster than off.
const SETTLE_RUNS = 2;
// Larger than the number of samples of any run.
const MAX_BUFFER_SIZE = 100_000;

// Runs `count` units, checks their results, and returns the time in ms.
function timeRun(kernel, count) {
    const start = performance.now();
    for (let i = 0; i < count; i++) {
        const result = kernel.unit();
        if (result !== kernel.result) {
            throw new Error(`${kernel.name} gave ${result} instead of ${kernel.result}`);
        }
    }
    return performance.now() - start;
}

// How many units make a run of RUN_TIME, once the engine has optimised the kernel.
function calibrate(kernel) {
    kernel.result = kernel.unit();
    let count = 1;
    // The first pass warms up; the second one measures.
    for (let pass = 0; pass < 2; pass++) {
        let time = 0;
        for (count = 1; (time = timeRun(kernel, count)) < RUN_TIME; ) {
            count = Math.max(count + 1, Math.ceil(count * Math.min(2, RUN_TIME / Math.max(time, 1))));
        }
    }
    // A run that had to wait for a processor says nothing. The quickest run did not have to wait.
    const times = Array.from({ length: CALIBRATION_RUNS }, () => timeRun(kernel, count));
    return Math.max(1, Math.round((count * RUN_TIME) / Math.max(Math.min(...times), 0.1)));
}

// Calls `work` while the profilers of a state are running, and returns its result. The counts of their traces are added
// to `traces`. Starting and stopping are not part of the work.
async function inState({ profilers: count, sampleInterval }, traces, work) {
    const profilers = [];
    for (let i = 0; i < count; i++) {
        profilers.push(new Profiler({ sampleInterval, maxBufferSize: MAX_BUFFER_SIZE }));
    }
    const result = await work();
    for (const profiler of profilers) {
        const trace = await profiler.stop();
        traces.sampleInterval = profiler.sampleInterval;
        traces.samples += trace.samples.length;
        traces.samplesWithStack += trace.samples.filter((sample) => "stackId" in sample).length;
    }
    // Waiting tasks, such as events of the profilers, must not run during the next timed run.
    await new Promise((resolve) => setTimeout(resolve));
    return result;
}

// The two results of a pair.
async function measurePair(comparison, measuredFirst, work) {
    const results = {};
    for (const state of measuredFirst ? ["measured", "reference"] : ["reference", "measured"]) {
        results[state] = await inState(comparison[state], comparison.traces[state], work);
    }
    return results;
}

async function measureKernel(kernel, comparisons, pairs) {
    kernel.count = calibrate(kernel);
    const work = () => {
        for (let run = 0; run < SETTLE_RUNS; run++) {
            timeRun(kernel, kernel.count);
        }
        return timeRun(kernel, kernel.count);
    };
    const times = comparisons.map(({ name }) => ({ name, pairs: [] }));
    for (let round = 0; round < WARM_UP_PAIRS + pairs; round++) {
        for (const [index, comparison] of comparisons.entries()) {
            const pair = await measurePair(comparison, round % 2 === 0, work);
            if (round >= WARM_UP_PAIRS) {
                times[index].pairs.push(pair);
            }
        }
    }
    return { name: kernel.name, unitsPerRun: kernel.count, comparisons: times };
}

function makeComparison(name, reference, measured) {
    const none = { sampleInterval: null, samples: 0, samplesWithStack: 0 };
    return { name, reference, measured, traces: { reference: { ...none }, measured: { ...none } } };
}

// The times of all kernels, in ms.
async function measureKernels(comparisons, pairs) {
    const results = [];
    for (const kernel of kernels) {
        results.push(await measureKernel(kernel, comparisons, pairs));
    }
    return results;
}
