/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Workers start and end at random, each with a profiler, while the page is busy and has its own profiler. Does the
// browser survive, and does it release the memory that they used?

const WORKERS = 32;
// In ms. Some are ended before they have begun, some after they have ended themselves.
const LONGEST_LIFE = 1000;
const WARM_UP_TIME = 5000;
const PAGE_INTERVAL = 1;
const PAGE_SESSION = 5000;
const MAX_BUFFER_SIZE = 1_000_000;
// How a worker ends if it is not ended before.
const ENDINGS = ["close", "throw", "run", "wait"];
const DEEPEST = 2;

const milliseconds = numberFromAddress("seconds") * 1000;
const profiles = new URLSearchParams(location.search).get("profile") !== "no";

const sums = { started: 0, finished: 0, samples: 0, stacks: 0, right: 0 };
const running = new Set();
let workersStarted = 0;
let terminated = 0;

let fail;
const failure = new Promise((_, reject) => {
    fail = reject;
});
failure.catch(() => {});

function random(limit) {
    return Math.floor(Math.random() * limit);
}

// The document that owns the workers. If a worker is waiting in its event loop when it is terminated, Servo ends it
// only together with its document, with or without a profiler.
let owner;

function openOwner() {
    owner = document.createElement("iframe");
    owner.src = "owner.html";
    const loaded = new Promise((resolve) => {
        owner.onload = resolve;
    });
    document.body.append(owner);
    return loaded;
}

function startWorker() {
    const parameters = new URLSearchParams({
        ending: ENDINGS[random(ENDINGS.length)],
        life: random(LONGEST_LIFE),
        depth: random(4) ? 0 : 1 + random(DEEPEST),
        profile: profiles ? "yes" : "no",
    });
    const worker = new owner.contentWindow.Worker(`worker.js?${parameters}`);
    worker.onmessage = ({ data: { error, ...counts } }) => {
        if (error) {
            fail(new Error(`in a worker: ${error}`));
        }
        for (const [name, count] of Object.entries(counts)) {
            sums[name] += count;
        }
    };
    worker.onerror = (event) => {
        event.preventDefault();
        fail(new Error(`in a worker: ${event.message} (${event.filename}:${event.lineno})`));
    };
    worker.end = performance.now() + random(random(LONGEST_LIFE));
    running.add(worker);
    workersStarted++;
}

function endWorker(worker) {
    worker.terminate();
    running.delete(worker);
    terminated++;
}

// Some typical work of a page.
function work() {
    const kept = [];
    for (let i = 0; i < 5000; i++) {
        kept.push({ i, text: `number ${i}` });
    }
    return kept.length;
}

// A turn of the event loop. Workers whose time is over are ended, and others are started.
function pageTask() {
    work();
    const now = performance.now();
    for (const worker of running) {
        if (worker.end < now) {
            endWorker(worker);
        }
    }
    while (running.size < WORKERS && now < tasksEnd) {
        startWorker();
    }
    if (now < tasksEnd) {
        port2.postMessage(null);
    } else {
        endTasks();
    }
}

const { port1, port2 } = new MessageChannel();
port1.onmessage = pageTask;
let tasksEnd;
let endTasks;

function runTasks(time) {
    tasksEnd = performance.now() + time;
    const ended = new Promise((resolve) => {
        endTasks = resolve;
    });
    port2.postMessage(null);
    return Promise.race([ended, failure]);
}

async function runWorkers(time) {
    await openOwner();
    const page = { samples: 0, stacks: 0, right: 0 };
    const end = performance.now() + time;
    while (performance.now() < end) {
        const session = Math.min(PAGE_SESSION, end - performance.now());
        if (!profiles) {
            await runTasks(session);
            continue;
        }
        const profiler = new Profiler({ sampleInterval: PAGE_INTERVAL, maxBufferSize: MAX_BUFFER_SIZE });
        await runTasks(session);
        const trace = await profiler.stop();
        const isRight = stacksWith(trace, ["pageTask"]);
        const stacks = trace.samples.filter(({ stackId }) => stackId !== undefined);
        page.samples += trace.samples.length;
        page.stacks += stacks.length;
        page.right += stacks.filter(({ stackId }) => isRight[stackId]).length;
        console.log(`${workersStarted} workers, ${sums.samples} samples of theirs, ${page.samples} of the page`);
    }
    for (const worker of running) {
        endWorker(worker);
    }
    owner.remove();
    return page;
}

async function measureWorkers() {
    // Lets the browser first create everything that it creates once and keeps.
    await runWorkers(WARM_UP_TIME);
    await checkpoint("start");
    const before = { ...sums, workersStarted, terminated };
    const page = await runWorkers(milliseconds);
    await checkpoint("end");
    const workers = { ...sums, workersStarted, terminated };
    for (const [name, count] of Object.entries(before)) {
        workers[name] -= count;
    }
    return { page, workers };
}

runMeasurement(measureWorkers);
