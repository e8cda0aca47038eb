/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does a long trace cost? A profiler fills its buffer and is stopped, for a trace object or for gzip-compressed
// text. Measures how long stop() takes, how long it blocks the event loop, and how much the browser's memory has
// grown before.

const SAMPLES = numberFromAddress("samples");
// The trace object comes last, because collecting it would block the next measurement.
const FORMATS = ["json-gzip", "default"];
// 100,000 samples at 10 ms would take too long. So the page asks for the shortest interval. In a browser where a
// starting profiler adds a sample to those that are already running, starting many profilers adds even more samples.
const SAMPLE_INTERVAL = 0.1; // ms
const MAX_BUFFER_SIZE = 10_000_000;
// If each round starts a profiler: less than the maximum number of profilers at once.
const STARTING_ROUNDS_PER_TASK = 50;
// Otherwise more, because each task leaves garbage, whose memory would hide that of the samples.
const ROUNDS_PER_TASK = 1000;
const CALIBRATION_TASKS = 100;
// The work of the leaves of the call graph, in loop rounds.
const WORK = 10_000;
const DEPTH = 8;
const BRANCHES = 3;
// The number of different leaf stacks. With their parents the table has about 11,000 entries, far fewer than samples.
const STACKS = BRANCHES ** 7;

// A call graph with many different stacks. The digits of a number determine which function calls which.
const nodes = Array.from({ length: 40 }, (_, index) => {
    const make = new Function(
        "call",
        "work",
        `return function node${index}(digits, depth) {
            return depth === 0 ? work(${index}) : call(digits, depth - 1, ${index}) + 1;
        }`,
    );
    return make(callNext, atLeaf);
});

function callNext(digits, depth, index) {
    const next = (index * BRANCHES + (digits % BRANCHES) + 1) % nodes.length;
    return nodes[next](Math.floor(digits / BRANCHES), depth);
}

// Whether profilers start at the leaves, and the promises of their ends.
let starts = false;
let stops = [];

function atLeaf(index) {
    if (starts) {
        stops.push(new Profiler({ sampleInterval: 10, maxBufferSize: 1 }).stop());
    }
    let sum = index;
    for (let i = 0; i < WORK; i++) {
        sum = (Math.imul(sum, 31) + i) | 0;
    }
    return sum & 1;
}

let round = 0;

function runRound() {
    round++;
    return nodes[0](round % STACKS, DEPTH);
}

// Runs one task's share of the program.
async function runTask(starting) {
    starts = starting;
    const rounds = starting ? STARTING_ROUNDS_PER_TASK : ROUNDS_PER_TASK;
    for (let i = 0; i < rounds; i++) {
        runRound();
    }
    await Promise.all(stops);
    stops = [];
    await nextTask();
}

function startProfiler(format, maxBufferSize = MAX_BUFFER_SIZE) {
    return new Profiler({ sampleInterval: SAMPLE_INTERVAL, maxBufferSize, format });
}

// The number of samples per task and per ms.
async function samplingRate(starting) {
    const profiler = startProfiler("default");
    const start = performance.now();
    for (let task = 0; task < CALIBRATION_TASKS; task++) {
        await runTask(starting);
    }
    const milliseconds = performance.now() - start;
    const count = (await profiler.stop()).samples.length;
    return { starting, perTask: count / CALIBRATION_TASKS, perMillisecond: count / milliseconds };
}

// Runs the program with a profiler. Returns the profiler, and by how much the browser's memory has grown: in all, and in
// the second half, to which hardly any stack is new.
async function fill(format, maxBufferSize, tasks, starting) {
    const before = await askBench("memory");
    const profiler = startProfiler(format, maxBufferSize);
    let half;
    for (let task = 0; task < tasks; task++) {
        if (task === tasks >> 1) {
            half = await askBench("memory");
        }
        await runTask(starting);
    }
    const after = await askBench("memory");
    return { profiler, growth: after - before, secondGrowth: after - half };
}

// How long a promise takes, the longest time without another task meanwhile, and the result.
async function measureWait(makePromise) {
    let result;
    let milliseconds;
    const block = await longestBlock(async () => {
        const start = performance.now();
        result = await makePromise();
        milliseconds = performance.now() - start;
    });
    return { milliseconds, block, result };
}

function describe(result) {
    const isTrace = "samples" in result;
    return {
        form: isTrace ? "object" : "gzip",
        samples: isTrace ? result.samples.length : null,
        frames: isTrace ? result.frames.length : null,
        stacks: isTrace ? result.stacks.length : null,
        bytes: isTrace ? null : result.byteLength,
    };
}

runMeasurement(async () => {
    await samplingRate(true);
    const rates = [await samplingRate(true), await samplingRate(false)];
    const { starting, perTask } = rates.sort((a, b) => b.perMillisecond - a.perMillisecond)[0];
    const tasks = Math.ceil(SAMPLES / perTask);
    const sum = { growth: 0, controlGrowth: 0, secondGrowth: 0, controlSecondGrowth: 0 };
    const measured = [];
    for (const format of FORMATS) {
        // Everything is the same except the samples.
        const control = await fill(format, 1, tasks, starting);
        await control.profiler.stop();
        const { profiler, growth, secondGrowth } = await fill(format, MAX_BUFFER_SIZE, tasks, starting);
        sum.growth += growth;
        sum.controlGrowth += control.growth;
        sum.secondGrowth += secondGrowth;
        sum.controlSecondGrowth += control.secondGrowth;
        const { milliseconds, block, result } = await measureWait(() => profiler.stop());
        const idle = await measureWait(() => new Promise((resolve) => setTimeout(resolve, milliseconds)));
        measured.push({
            format,
            sampleInterval: profiler.sampleInterval,
            milliseconds,
            block,
            controlBlock: idle.block,
            ...describe(result),
        });
    }
    const peakMemory = await askBench("peak-memory");
    return { userAgent: navigator.userAgent, rates, tasks, ...sum, peakMemory, stops: measured };
});
