/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// One event loop of the soak, in a document or a worker. It runs rounds of the mix, each in its own task, with a
// profiler that is stopped and started again.

// Larger than the number of samples of any session.
const MAX_BUFFER_SIZE = 10_000_000;

const { port1, port2 } = new MessageChannel();

// Runs `task` once in every turn of the event loop for some milliseconds, with a profiler. Returns the
// sums of its trace, and the actual sample interval.
async function soakFor(milliseconds, task) {
    // This gives the base interval, which is the shortest.
    const profiler = new Profiler({ sampleInterval: 0, maxBufferSize: MAX_BUFFER_SIZE });
    const end = performance.now() + milliseconds;
    await new Promise(function startTasks(resolve) {
        port1.onmessage = task;
        endTasks = resolve;
        tasksEnd = end;
        port2.postMessage(null);
    });
    await Promise.all(pending);
    const trace = await profiler.stop();
    return { sums: callGraph.check(trace), sampleInterval: profiler.sampleInterval };
}

let endTasks;
let tasksEnd;

// Must be called at the end of each task.
function nextTask() {
    if (performance.now() < tasksEnd) {
        port2.postMessage(null);
    } else {
        endTasks();
    }
}

callGraph.add(`
    (root) > soakFor
    soakFor > startTasks`);
