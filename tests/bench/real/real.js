/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does profiling cost a library at work? The page does the same work in four states: off, off again, 10 ms and
// 1 ms. It does so in long sessions and in short ones, in sets with one session of each state. A session is a number of
// slices of about 10 ms, each in its own task. Only the slices are timed. ./mach bench calculates the ratios.
//
// With ?interval=N&seconds=S the page has one session only, in which the sampler measures its stops.

// ./mach bench generates library.js, which makes this object from the exports of LIBRARY.mjs. `unit()` is one portion
// of work. It returns a number that depends on all of the work and is the same every time.
const work = globalThis.library;

const SLICE_TIME = 10; // ms
const LONG_TIME = 1000; // ms
const SHORT_TIME = 150; // ms
const WARM_UP_TIME = 3000; // ms
const STATES = [
    { name: "off", sampleInterval: null },
    { name: "off again", sampleInterval: null },
    { name: "10 ms", sampleInterval: 10 },
    { name: "1 ms", sampleInterval: 1 },
];
// In four sets, each state comes once at each place, and once after each of the others.
const ORDERS = [
    [0, 1, 3, 2],
    [1, 2, 0, 3],
    [2, 3, 1, 0],
    [3, 0, 2, 1],
];

async function runSlices(kernel, count) {
    const slices = [];
    for (let i = 0; i < count; i++) {
        if (i > 0) {
            await nextTask();
        }
        const start = performance.now();
        const milliseconds = timeRun(kernel, kernel.count);
        slices.push({ start, milliseconds });
    }
    return slices;
}

function sum(numbers) {
    return numbers.reduce((total, number) => total + number, 0);
}

// The samples that were taken during the slices. Others have no stack, because no function of the page was running.
function samplesWithin(samples, slices) {
    let index = 0;
    return samples.filter(({ timestamp }) => {
        while (index < slices.length && timestamp > slices[index].start + slices[index].milliseconds) {
            index++;
        }
        return index < slices.length && timestamp >= slices[index].start;
    });
}

// A session of `count` slices. The slices begin in the task in which the profiler is made.
async function runSession(kernel, count, { sampleInterval }) {
    let profiler = null;
    const before = performance.now();
    if (sampleInterval !== null) {
        profiler = new Profiler({ sampleInterval, maxBufferSize: MAX_BUFFER_SIZE });
    }
    const creation = performance.now() - before;
    const slices = await runSlices(kernel, count);
    const trace = profiler && (await profiler.stop());
    // Waiting tasks must not run during the next session.
    await new Promise((resolve) => setTimeout(resolve));
    const milliseconds = sum(slices.map((slice) => slice.milliseconds));
    const session = { creation, first: slices[0].milliseconds, milliseconds, slices: count };
    if (profiler === null) {
        return session;
    }
    const samples = samplesWithin(trace.samples, slices);
    return {
        ...session,
        interval: profiler.sampleInterval,
        samples: samples.length,
        samplesWithStack: samples.filter(({ stackId }) => stackId !== undefined).length,
    };
}

async function runSets(kernel, time, count) {
    const slices = slicesFor(kernel, time);
    const sets = [];
    for (let set = 0; set < count; set++) {
        const sessions = {};
        for (const index of ORDERS[set % ORDERS.length]) {
            sessions[STATES[index].name] = await runSession(kernel, slices, STATES[index]);
        }
        sets.push(sessions);
    }
    return sets;
}

// At least two, because the first one is compared with the others.
function slicesFor(kernel, time) {
    return Math.max(2, Math.round(time / kernel.sliceTime));
}

async function warmUp(kernel) {
    kernel.count = Math.max(1, Math.round((calibrate(kernel) * SLICE_TIME) / RUN_TIME));
    const times = [];
    for (const end = performance.now() + WARM_UP_TIME; performance.now() < end; ) {
        const [slice] = await runSlices(kernel, 1);
        times.push(slice.milliseconds);
        // Lets compilers on other threads deliver their code.
        await nextTask();
    }
    kernel.sliceTime = times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
}

runMeasurement(async () => {
    const kernel = { name: document.title, unit: work.unit };
    await warmUp(kernel);
    const described = {
        userAgent: navigator.userAgent,
        checksum: kernel.result,
        unitsPerSlice: kernel.count,
        sliceTime: kernel.sliceTime,
    };
    if (new URLSearchParams(location.search).has("interval")) {
        // There is no other session before, because the sampler measures all stops of the event loop.
        const count = slicesFor(kernel, numberFromAddress("seconds") * 1000);
        const session = await runSession(kernel, count, { sampleInterval: numberFromAddress("interval") });
        return { ...described, ...session };
    }
    // Sampling warms up, too.
    await runSets(kernel, SHORT_TIME, 1);
    return {
        ...described,
        long: await runSets(kernel, LONG_TIME, numberFromAddress("long")),
        short: await runSets(kernel, SHORT_TIME, numberFromAddress("short")),
    };
});
