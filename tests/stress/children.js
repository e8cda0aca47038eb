/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The workers that an event loop starts and ends.

const MOST_WORKERS = Number(parameters.get("workers") ?? 4);
const depth = Number(parameters.get("depth") ?? 0);
const DEEPEST = 2;
const workers = new Set();

// The address of a page or worker that this event loop starts: with the same mix, but another seed.
function childAddress(page, more) {
    const child = new URLSearchParams(parameters);
    child.set("seed", `${seed}.${random.below(2 ** 32)}`);
    child.set("depth", depth + 1);
    child.set("with", JSON.stringify({ ...weights, ...more.with }));
    for (const [name, value] of Object.entries(more.set ?? {})) {
        child.set(name, value);
    }
    return `${fromHome(page)}?${child}`;
}

actions.startWorker = function startWorker() {
    if (workers.size >= MOST_WORKERS || depth >= DEEPEST) {
        return;
    }
    const mix = { close: 1, throw: 1, ...(depth === 0 ? { runForEver: 1 } : {}) };
    // A worker may start its own workers.
    const address = childAddress("worker.js", { with: mix, set: { workers: 2 } });
    const worker = new Worker(address);
    worker.onmessage = onLife;
    worker.onerror = onWorkerError;
    worker.lived = -Infinity;
    workers.add(worker);
    tally("workersStarted");
    if (random.chance(0.2)) {
        // This ends the worker before it has begun.
        worker.terminate();
        workers.delete(worker);
        tally("workersTerminated");
    }
};

// For a document whose workers do all the work.
function keepWorkers() {
    while (workers.size < MOST_WORKERS && depth < DEEPEST) {
        actions.startWorker();
    }
}

actions.endWorker = function endWorker() {
    if (!workers.size) {
        return;
    }
    const worker = random.oneOf([...workers]);
    worker.terminate();
    workers.delete(worker);
    tally("workersTerminated");
};

actions.shareWorker = function shareWorker() {
    if (typeof SharedWorker !== "function" || !random.chance(0.2)) {
        return;
    }
    // It belongs to no document, so it inherits no document's policy.
    const set = { seed: `shared ${random.below(2)}`, workers: 0, refused: "yes" };
    const address = childAddress("worker.js", { set });
    const worker = new SharedWorker(address);
    worker.onerror = onWorkerError;
    tally("sharedWorkers");
    // ./mach stress must know this when it ends the browser.
    beat();
};

function onLife({ data, target }) {
    target.lived = data === "leaving" ? Infinity : performance.now();
}

// Whether each worker has given a sign of life since then, or will never give one again.
function workersLived(since) {
    return [...workers].every((worker) => worker.lived > since);
}

function onWorkerError(event) {
    event.preventDefault();
    if (event.target instanceof Worker && !workers.has(event.target)) {
        // It was terminated. If that ends a script, Servo 0.7.0 goes on with the next one of importScripts(), which
        // lacks the declarations of the one before.
        return;
    }
    if (!(event instanceof ErrorEvent)) {
        // It could not be loaded, as in a sandbox, whose scripts have no origin.
        workers.delete(event.target);
        if (parameters.get("refused") !== "yes") {
            reportFailure("a worker could not be loaded");
        }
        return;
    }
    if (!event.message?.includes(PLANNED)) {
        reportFailure(`a worker failed: ${event.message} (${event.filename}:${event.lineno})`);
    }
}

function endWorkers() {
    while (workers.size) {
        actions.endWorker();
    }
}
