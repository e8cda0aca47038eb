/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The soak: minutes of everything that makes a stack hard to walk, on the event loops of the page and of its workers.
// Each has a profiler at the base interval. Every trace is checked here, and ./mach bench gets the sums.

// One processor is left for the page: a thread that waits for a processor cannot be stopped in time.
const WORKERS = Math.max(1, navigator.hardwareConcurrency - 1);
const SESSIONS_LEAST = 3;
const LONGEST_SESSION = 20_000; // ms
// A worker lives for some whole sessions and part of another.
const WORKER_SESSIONS_PER_SESSION = 4;
const WORKER_LIFE = 2.6; // of its sessions

const milliseconds = numberFromAddress("minutes") * 60_000;
const sessionTime = Math.min(LONGEST_SESSION, milliseconds / SESSIONS_LEAST);
const workerSessionTime = sessionTime / WORKER_SESSIONS_PER_SESSION;

const sums = makeSums();
const workerSums = makeSums();
const workers = [];
let workersStarted = 0;
let rounds = 0;

function startWorker() {
    const worker = new Worker(`worker.js?session=${workerSessionTime}`);
    worker.started = performance.now();
    worker.onmessage = onWorkerMessage;
    worker.onerror = onWorkerError;
    workers.push(worker);
    workersStarted++;
}

let fail;
const failure = new Promise((_, reject) => {
    fail = reject;
});
// The promise is checked when a session ends. This prevents an unhandled rejection until then.
failure.catch(() => {});

function onWorkerMessage({ data }) {
    if (data.error) {
        fail(new Error(`in a worker: ${data.error}`));
    } else {
        addSums(workerSums, data.sums);
    }
}

function onWorkerError(event) {
    event.preventDefault();
    fail(new Error(`in a worker: ${event.message} (${event.filename}:${event.lineno})`));
}

// Ends the oldest worker in the middle of its work, and starts another one.
function replaceOldWorker() {
    if (performance.now() - workers[0].started > workerSessionTime * WORKER_LIFE) {
        workers.shift().terminate();
        startWorker();
    }
}

function pageTask() {
    runRound();
    startLater();
    replaceOldWorker();
    rounds++;
    nextTask();
}

async function soakPage() {
    await checkpoint("start");
    const end = performance.now() + milliseconds;
    let sampleInterval;
    while (workers.length < WORKERS) {
        startWorker();
    }
    while (performance.now() < end) {
        const session = await Promise.race([soakFor(sessionTime, pageTask), failure]);
        sampleInterval = session.sampleInterval;
        addSums(sums, session.sums);
        console.log(`${sums.samples} samples of the page, ${workerSums.samples} of workers, ${rounds} rounds`);
    }
    for (const worker of workers) {
        worker.terminate();
    }
    await checkpoint("end");
    return { sampleInterval, rounds, workersStarted, page: sums, workers: workerSums };
}

callGraph.add(`
    (root) > pageTask, soakPage, onWorkerMessage
    pageTask > runRound, startLater, replaceOldWorker, nextTask
    replaceOldWorker > startWorker
    soakPage > soakFor, startWorker
    onWorkerMessage > addSums`);

runMeasurement(soakPage);
