/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The soak: minutes of everything that makes a stack hard to walk, on the page's event loop and on its workers', with
// a profiler at the base interval on each. Every trace is checked here, and ./mach bench gets the sums.

// One processor for the page: a thread that waits for its turn to run cannot be stopped in time.
const WORKERS = Math.max(1, navigator.hardwareConcurrency - 1);
const SESSIONS_LEAST = 3;
const LONGEST_SESSION = 20_000; // ms
// A worker lives for some of its sessions, and for a part of one.
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
// Looked at when a session ends; until then nobody needs to.
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

// The oldest goes, in the middle of what it does, and another comes.
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
