/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The page's side of a measurement: runs it, posts the result to ./mach bench, and closes the page.

let posted = false;

async function postResult(result) {
    // Only the first result counts.
    if (posted) {
        return;
    }
    posted = true;
    await fetch("/result", { method: "POST", body: JSON.stringify(result) });
    window.close();
}

// An error as text that is useful outside the page.
function description(error) {
    return error instanceof Error ? `${error}\n${error.stack}` : String(error);
}

// `measure` returns the result or a promise of it. No function calls it, so that no frame of this file is below it.
function runMeasurement(measure) {
    addEventListener("load", () => {
        Promise.resolve()
            .then(measure)
            .then(postResult, (error) => postResult({ error: description(error) }));
    });
}

addEventListener("error", (event) => {
    postResult({ error: `${event.message} (${event.filename}:${event.lineno}:${event.colno})` });
});
addEventListener("unhandledrejection", (event) => {
    postResult({ error: `unhandled rejection: ${description(event.reason)}` });
});

// Waits until ./mach bench has examined the browser.
async function checkpoint(name) {
    await fetch(`/checkpoint/${name}`, { method: "POST", body: "" });
}

// Asks ./mach bench about the browser: `processor-time` is in s, `memory` and `peak-memory` are in bytes, and `thread-times` has
// for each thread, by its number, for how long it has run and for how long it has waited for a processor, in s.
async function askBench(name) {
    const response = await fetch(`/checkpoint/${name}`, { method: "POST", body: "" });
    if (!response.ok) {
        throw new Error(`./mach bench has no ${name}: status ${response.status}`);
    }
    return response.json();
}

// One channel for all tasks, because a page may wait for thousands.
let taskPort = null;
const waiting = [];

// Waits for the next task.
function nextTask() {
    if (taskPort === null) {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => waiting.shift()();
        taskPort = port2;
    }
    return new Promise((resolve) => {
        waiting.push(resolve);
        taskPort.postMessage(null);
    });
}

// The interval of longestBlock() in ms. Each look leaves garbage, and collecting that would itself be a block.
const LOOK_INTERVAL = 0.5;

// The longest time, in ms, without another task on the event loop, from calling `work` until its promise is settled.
async function longestBlock(work) {
    let running = true;
    let longest = 0;
    await nextTask();
    let last = performance.now();
    const ended = work().finally(() => {
        running = false;
    });
    while (running) {
        await nextTask();
        const start = performance.now();
        longest = Math.max(longest, start - last);
        do {
            last = performance.now();
        } while (running && last - start < LOOK_INTERVAL);
    }
    await ended;
    return longest;
}

// The number with this name in the address of the page.
function numberFromAddress(name) {
    const number = Number(new URLSearchParams(location.search).get(name));
    if (!(number > 0)) {
        throw new RangeError(`?${name}= must be a number above 0`);
    }
    return number;
}
