/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A worker that profiles itself, works, and ends in one of many ways, or is ended by others at any moment.
//
// Its address says what it does: `ending` is the way in which it ends, `life` is its life in ms, and `depth` is how
// many levels of workers it may start inside itself. With `profile=no` it does the same without a profiler.

importScripts("../trace.js");

const SAMPLE_INTERVAL = 5; // ms
const MAX_BUFFER_SIZE = 100_000;
const LONGEST_SESSION = 100; // ms
const NO_TRACE = { resources: [], frames: [], stacks: [], samples: [] };

const parameters = new URLSearchParams(location.search);
const ending = parameters.get("ending");
const depth = Number(parameters.get("depth"));
const profiles = parameters.get("profile") !== "no";

const endTime = performance.now() + Number(parameters.get("life"));

function random(limit) {
    return Math.floor(Math.random() * limit);
}

function churn() {
    const kept = [];
    let x = 1;
    for (let i = 0; i < 2000; i++) {
        kept.push({ i, text: `number ${i}`, list: [i] });
        x = (Math.imul(x, 31) + kept[i >> 1].i) | 0;
    }
    return kept.sort(compare)[0].i + x;
}

function compare(a, b) {
    return a.i < b.i ? 1 : a.i > b.i ? -1 : 0;
}

// Ends this worker from inside, with functions on its stack. These return or are left by an exception.
function endInside(frames) {
    if (frames > 0) {
        return endInside(frames - 1) + 1;
    }
    close();
    if (ending === "throw") {
        throw new Error("on purpose");
    }
    return churn();
}

// Never returns to the event loop, so that ending the worker interrupts it.
function runForEver() {
    for (let x = 0; ; x++) {
        churn();
    }
}

function workerTask() {
    churn();
    if (performance.now() < endTime) {
        return;
    }
    if (ending === "close") {
        endInside(10);
    } else if (ending === "throw") {
        try {
            endInside(10);
        } catch {
            churn();
        }
    } else if (ending === "run") {
        runForEver();
    }
}

// Starts a worker inside this one. It is ended at some moment by this worker, or together with this worker.
function startInner() {
    const endings = ["close", "run", "wait"];
    const inner = new URLSearchParams({
        ending: endings[random(endings.length)],
        life: random(200),
        depth: depth - 1,
        profile: parameters.get("profile"),
    });
    const worker = new Worker(`worker.js?${inner}`);
    worker.onmessage = ({ data }) => postMessage(data);
    if (random(2)) {
        setTimeout(() => worker.terminate(), random(200));
    }
}

// Endless turns of the event loop, so that ending this worker interrupts it or its loop. Servo does not end a worker
// that is waiting when it is terminated, with or without a profiler.
const { port1, port2 } = new MessageChannel();
let endOfSession = Infinity;
let endSession;

port1.onmessage = function onTurn() {
    workerTask();
    if (performance.now() > endOfSession) {
        endOfSession = Infinity;
        endSession();
    }
    port2.postMessage(null);
};
port2.postMessage(null);

async function runSession() {
    const options = { sampleInterval: SAMPLE_INTERVAL, maxBufferSize: MAX_BUFFER_SIZE };
    const profiler = profiles ? new Profiler(options) : { stop: async () => NO_TRACE };
    postMessage({ started: 1 });
    await new Promise((resolve) => {
        endOfSession = performance.now() + random(LONGEST_SESSION);
        endSession = resolve;
    });
    return profiler.stop();
}

// Code without a caller: the turns, the functions that wait, and the script itself.
const ROOTS = ["onTurn", "runSession", "runWorker", "(script)"];

async function runWorker() {
    if (depth > 0) {
        startInner();
    }
    for (;;) {
        const trace = await runSession();
        const isRight = stacksWith(trace, ROOTS);
        const stacks = trace.samples.filter(({ stackId }) => stackId !== undefined);
        const right = stacks.filter(({ stackId }) => isRight[stackId]);
        postMessage({ finished: 1, samples: trace.samples.length, stacks: stacks.length, right: right.length });
    }
}

runWorker().catch((error) => postMessage({ error: `${error}\n${error.stack}` }));
