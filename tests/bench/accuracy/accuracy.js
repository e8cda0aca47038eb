/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Are the samples right? They should have a stack with the running function on it, come when they are due, and be
// shared among functions in the same way as the time. ./mach bench judges the measurements.

const SECONDS = numberFromAddress("seconds");
// All splits together take SECONDS. Each of the other measurements takes a part of that.
const BUSY_TIME = SECONDS * 100; // ms
const CROWD_TIME = SECONDS * 300; // ms
const SPLIT_TIME = (SECONDS * 1000) / splits.length; // ms
// Long enough that all code is compiled in its final form.
const WARM_UP_TIME = 1000; // ms

const BUSY_INTERVALS = [1, 10]; // ms
const SPLIT_INTERVAL = 1; // ms
const CROWD = 50;
const CROWD_INTERVALS = [10, 20, 30, 70]; // ms
const MAX_BUFFER_SIZE = 10_000_000;

// Waits for the next task.
function task() {
    const { port1, port2 } = new MessageChannel();
    const promise = new Promise((resolve) => {
        port1.onmessage = resolve;
    });
    port2.postMessage(null);
    return promise;
}

// The samples of a trace between two times.
function samplesBetween(trace, start, end) {
    return trace.samples.filter(({ timestamp }) => start <= timestamp && timestamp <= end);
}

// Runs one program without returning to the event loop. `wrong` counts samples without the right function, by stack.
async function measureBusy({ name, run }, interval) {
    const profiler = new Profiler({ sampleInterval: interval, maxBufferSize: MAX_BUFFER_SIZE });
    const start = performance.now();
    run(start + BUSY_TIME);
    const end = performance.now();
    const trace = await profiler.stop();
    const samples = samplesBetween(trace, start, end);
    const isRight = stacksWith(trace, [run.name]);
    const wrong = samples.filter(({ stackId }) => stackId === undefined || !isRight[stackId]);
    return {
        name,
        interval: profiler.sampleInterval,
        milliseconds: end - start,
        timestamps: samples.map(({ timestamp }) => timestamp),
        wrong: tally(wrong.map(({ stackId }) => labelsOf(trace, stackId).join(" > ") || "(no stack)")),
    };
}

function runSplit(run, milliseconds) {
    const end = performance.now() + milliseconds;
    let x = 1;
    while (performance.now() < end) {
        x = run(x);
    }
    return x;
}

async function measureSplit({ name, shares, run }) {
    const profiler = new Profiler({ sampleInterval: SPLIT_INTERVAL, maxBufferSize: MAX_BUFFER_SIZE });
    runSplit(run, WARM_UP_TIME);
    const start = performance.now();
    runSplit(run, SPLIT_TIME);
    const end = performance.now();
    const trace = await profiler.stop();
    const samples = samplesBetween(trace, start, end);
    const leaves = samples.map(({ stackId }) => labelsOf(trace, stackId).at(-1) ?? "(no stack)");
    return { name, shares, samples: samples.length, leaves: tally(leaves) };
}

// Many profilers at once, which start and stop one by one.
async function measureCrowd() {
    const members = [];
    for (let index = 0; index < CROWD; index++) {
        const interval = CROWD_INTERVALS[index % CROWD_INTERVALS.length];
        const profiler = new Profiler({ sampleInterval: interval, maxBufferSize: MAX_BUFFER_SIZE });
        members.push({ profiler, start: performance.now() });
        await task();
    }
    const end = performance.now() + CROWD_TIME;
    while (performance.now() < end) {
        busyPrograms[0].run(performance.now() + 20);
        await task();
    }
    const results = [];
    for (const { profiler, start } of members) {
        const stop = performance.now();
        const trace = await profiler.stop();
        const { sampleInterval: interval } = profiler;
        const times = samplesBetween(trace, start, stop).map(({ timestamp }) => timestamp);
        const gaps = times.filter((time, index) => time - (times[index - 1] ?? start) > 1.5 * interval);
        results.push({
            interval,
            milliseconds: stop - start,
            samples: times.length,
            // The times of samples that come after a missing one, in ms since the start.
            afterGaps: gaps.map((time) => time - start),
        });
    }
    return results;
}

async function measureAccuracy() {
    const result = { busy: [], splits: [], crowd: [] };
    for (const interval of BUSY_INTERVALS) {
        for (const program of busyPrograms) {
            console.log(`${program.name} at ${interval} ms`);
            result.busy.push(await measureBusy(program, interval));
            await task();
        }
    }
    for (const split of splits) {
        console.log(split.name);
        result.splits.push(await measureSplit(split));
        await task();
    }
    console.log(`${CROWD} profilers`);
    result.crowd = await measureCrowd();
    return result;
}

runMeasurement(measureAccuracy);
