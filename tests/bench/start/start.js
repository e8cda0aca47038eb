/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does the first profiler cost a page whose functions are compiled? Measures the time of its creation, and the
// speed of the functions directly before and after. The control does the same without creating a profiler.

// ./mach bench generates hot.js, which puts the functions here.
const functions = globalThis.hotFunctions;

const LEAST_WARM_UP = 30; // sweeps
const WARM_UP_TIME = numberFromAddress("seconds") * 1000; // ms
const SWEEPS_BEFORE = 30;
const SWEEPS_AFTER = 30;
// Work that the creation leaves for later is done in the first of these tasks, if it is on this event loop at all.
const TASKS = 20;

// Calls each function once. Returns the time in ms.
function sweep() {
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < functions.length; i++) {
        sum += functions[i](i);
    }
    const time = performance.now() - start;
    if (!Number.isFinite(sum)) {
        throw new Error(`the functions gave ${sum}`);
    }
    return time;
}

function sweeps(count) {
    return Array.from({ length: count }, sweep);
}

// Sweeps, a step, and sweeps again, without returning to the event loop between the step and the sweeps.
async function measureStep(step) {
    await nextTask();
    const before = sweeps(SWEEPS_BEFORE);
    const start = performance.now();
    step();
    const milliseconds = performance.now() - start;
    const after = sweeps(SWEEPS_AFTER);
    const block = await longestBlock(() => nextTasks(TASKS));
    return { before, milliseconds, after, block, later: sweeps(SWEEPS_AFTER) };
}

async function nextTasks(count) {
    for (let i = 0; i < count; i++) {
        await nextTask();
    }
}

runMeasurement(async () => {
    const start = performance.now();
    for (let count = 0; count < LEAST_WARM_UP || performance.now() - start < WARM_UP_TIME; count++) {
        sweep();
        // Lets compilers on other threads deliver their code.
        await nextTask();
    }
    const control = await measureStep(() => {});
    let profiler;
    const measured = await measureStep(() => {
        profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 1_000_000 });
    });
    const trace = await profiler.stop();
    return {
        userAgent: navigator.userAgent,
        functions: functions.length,
        control,
        measured,
        samplesWithStack: trace.samples.filter((sample) => "stackId" in sample).length,
    };
});
