/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// How long does a sample stop its thread? The sampler itself measures and logs that. This page provides stacks of known
// depth: chains of calls with a loop at their end that takes nearly all the time.

const DEPTH = numberFromAddress("depth");
const SECONDS = numberFromAddress("seconds");
const SAMPLE_INTERVAL = 1; // ms
const MAX_BUFFER_SIZE = 10_000_000;
// Long enough that all code is compiled in its final form.
const WARM_UP_TIME = 1000; // ms
const TASK_TIME = 50; // ms
// The rounds of the loop: about 2 ms.
const WORK = 1_500_000;
// A prime number, so that a chain visits all links for every step.
const LINKS = 41;

// The step determines which link calls which. Each link calls many others over time, so none of them is inlined.
const links = [];
for (let index = 0; index < LINKS; index++) {
    const make = new Function(
        "links",
        "spin",
        `return function link${index}(calls, step) {
            const callee = calls > 1 ? links[(calls * step) % ${LINKS}] : spin;
            return callee(calls - 1, step) + 1;
        }`,
    );
    links.push(make(links, spin));
}

function spin(calls, step) {
    let sum = calls + step;
    for (let i = 0; i < WORK; i++) {
        sum = (Math.imul(sum, 31) + i) | 0;
    }
    return sum & 1;
}

let round = 0;

// Runs chains with different steps, one after the other, for the time of a task.
function runTask() {
    const end = performance.now() + TASK_TIME;
    do {
        round++;
        const step = (round % (LINKS - 1)) + 1;
        links[(DEPTH * step) % LINKS](DEPTH - 1, step);
    } while (performance.now() < end);
}

async function run(milliseconds) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end) {
        runTask();
        await nextTask();
    }
}

// The number of frames of each sample's stack, in order.
function depthsOf(trace) {
    // A stack comes after its parent.
    const depths = [];
    for (const { parentId } of trace.stacks) {
        depths.push(parentId === undefined ? 1 : depths[parentId] + 1);
    }
    const withStack = trace.samples.filter(({ stackId }) => stackId !== undefined);
    return withStack.map(({ stackId }) => depths[stackId]).sort((a, b) => a - b);
}

runMeasurement(async () => {
    await run(WARM_UP_TIME);
    const profiler = new Profiler({ sampleInterval: SAMPLE_INTERVAL, maxBufferSize: MAX_BUFFER_SIZE });
    await run(SECONDS * 1000);
    const trace = await profiler.stop();
    const depths = depthsOf(trace);
    return {
        depth: DEPTH,
        seconds: SECONDS,
        samples: trace.samples.length,
        samplesWithStack: depths.length,
        medianDepth: depths[Math.floor(depths.length / 2)] ?? 0,
    };
});
