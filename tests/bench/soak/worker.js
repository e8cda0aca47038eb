/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A dedicated worker that soaks until it is terminated. After each session it reports the sums.

importScripts("../trace.js", "callgraph.js", "wasm.js", "programs.js", "loop.js");

function workerTask() {
    runRound();
    startLater();
    nextTask();
}

async function soakWorker() {
    const milliseconds = Number(new URLSearchParams(location.search).get("session"));
    for (;;) {
        postMessage(await soakFor(milliseconds, workerTask));
    }
}

callGraph.add(`
    (root) > workerTask, soakWorker, (script)
    (script) > soakWorker
    workerTask > runRound, startLater, nextTask
    soakWorker > soakFor`);

soakWorker().catch((error) => postMessage({ error: `${error}\n${error.stack}` }));
