/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does profiling cost? Each kernel runs in pairs, once with a profiler on and once without, and the answer is
// the median of the pairs' ratios. The order within a pair flips every time, so that neither side always comes
// first; a pair of two runs without a profiler, measured the same way, shows how much of the answer is noise.
//
// In every round a kernel has one pair of each comparison, so that all of them meet the same drift of the machine.
// The result goes to `./mach bench`, which prints it.

const PAIRS = Number(new URLSearchParams(location.search).get("pairs") ?? 12);
// Rounds that are not counted: they warm up the kernel in both states.
const WARM_UP_PAIRS = 2;
const RUN_TIME = 50; // ms
// Untimed runs before each timed one: starting a profiler may throw compiled code away, and so may stopping one.
// With a single one n-body's next run without a profiler was still compiling, and 10 ms looked faster than off.
const SETTLE_RUNS = 2;
// Larger than any run's number of samples.
const MAX_BUFFER_SIZE = 100000;

const comparisons = [
    { name: "off/off", requestedInterval: null },
    { name: "on/off at 10 ms", requestedInterval: 10 },
    { name: "on/off at 1 ms", requestedInterval: 1 },
].map((comparison) => ({ ...comparison, sampleInterval: null, samples: 0, samplesWithStack: 0 }));

function log(text) {
    document.getElementById("log").append(`${text}\n`);
    console.log(text);
}

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
    let time = 0;
    // The first pass warms up; the second one measures.
    for (let pass = 0; pass < 2; pass++) {
        for (count = 1; (time = timeRun(kernel, count)) < RUN_TIME; ) {
            count = Math.max(count + 1, Math.ceil(count * Math.min(2, RUN_TIME / Math.max(time, 1))));
        }
    }
    return Math.max(1, Math.round((count * RUN_TIME) / time));
}

// One timed run in one state. Starting and stopping are not timed.
async function measure(kernel, comparison, on) {
    const profiler = on
        ? new Profiler({ sampleInterval: comparison.requestedInterval, maxBufferSize: MAX_BUFFER_SIZE })
        : null;
    for (let run = 0; run < SETTLE_RUNS; run++) {
        timeRun(kernel, kernel.count);
    }
    const time = timeRun(kernel, kernel.count);
    if (profiler) {
        const trace = await profiler.stop();
        comparison.sampleInterval = profiler.sampleInterval;
        comparison.samples += trace.samples.length;
        comparison.samplesWithStack += trace.samples.filter((sample) => "stackId" in sample).length;
    }
    // Tasks that wait, such as events of the profiler, are not to run in the next timed run.
    await new Promise((resolve) => setTimeout(resolve));
    return time;
}

// The two times of a pair. The second state of an off/off pair differs from the first in nothing but its name.
async function measurePair(kernel, comparison, onFirst) {
    const on = comparison.requestedInterval !== null;
    const times = {};
    for (const state of onFirst ? ["on", "off"] : ["off", "on"]) {
        times[state] = await measure(kernel, comparison, on && state === "on");
    }
    return times;
}

function median(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

function geometricMean(numbers) {
    return Math.exp(numbers.reduce((sum, number) => sum + Math.log(number), 0) / numbers.length);
}

async function measureKernel(kernel) {
    kernel.count = calibrate(kernel);
    const offTimes = [];
    const pairRatios = comparisons.map(() => []);
    for (let round = 0; round < WARM_UP_PAIRS + PAIRS; round++) {
        for (const [index, comparison] of comparisons.entries()) {
            const { on, off } = await measurePair(kernel, comparison, round % 2 === 0);
            if (round >= WARM_UP_PAIRS) {
                offTimes.push(off);
                pairRatios[index].push(on / off);
            }
        }
    }
    const ratios = pairRatios.map(median);
    log(`${kernel.name}: ${median(offTimes).toFixed(1)} ms, ${ratios.map((ratio) => ratio.toFixed(3)).join(", ")}`);
    return { name: kernel.name, unitsPerRun: kernel.count, offMs: median(offTimes), ratios, pairRatios };
}

async function measureAll() {
    if (!Number.isInteger(PAIRS) || PAIRS < 1) {
        throw new RangeError("?pairs= must be a whole number from 1");
    }
    log(`ms off, ${comparisons.map(({ name }) => name).join(", ")}`);
    const results = [];
    for (const kernel of kernels) {
        results.push(await measureKernel(kernel));
    }
    const geometricMeans = comparisons.map((_, index) => geometricMean(results.map(({ ratios }) => ratios[index])));
    return {
        pairs: PAIRS,
        warmUpPairs: WARM_UP_PAIRS,
        userAgent: navigator.userAgent,
        comparisons,
        kernels: results,
        geometricMeans,
    };
}

async function main() {
    let result;
    try {
        result = await measureAll();
    } catch (error) {
        result = { error: String(error) };
        log(result.error);
    }
    const response = await fetch("/result", { method: "POST", body: JSON.stringify(result) });
    if (response.ok) {
        window.close();
    }
}

addEventListener("load", main);
