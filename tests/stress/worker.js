/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A stressed worker, dedicated or shared, which runs until it is ended or ends itself.

importScripts(
    "../bench/trace.js",
    "../bench/soak/callgraph.js",
    "../bench/soak/wasm.js",
    "random.js",
    "generator.js",
    "runtime.js",
    "loop.js",
    "engine_changes.js",
    "children.js",
);

const role = "worker";
const LIFE_INTERVAL = 200; // ms

// A sign of life for the page or worker that started this worker. A shared worker has none.
function tellOwner(what) {
    globalThis.postMessage?.(what);
}

setInterval(tellOwner, LIFE_INTERVAL, "alive");

actions.close = function closeWorker() {
    if (random.chance(0.1)) {
        tally("workersClosed");
        tellOwner("leaving");
        close();
        runForSomeTime();
    }
};

actions.throw = function throwUncaught() {
    if (random.chance(0.1)) {
        setTimeout(() => {
            throw new Error(PLANNED);
        });
    }
};

actions.runForEver = function runForEver() {
    if (random.chance(0.02)) {
        tellOwner("leaving");
        beat();
        for (;;) {
            runForSomeTime();
        }
    }
};

function runForSomeTime() {
    if (changesEngine) {
        runChanges();
    }
    for (let i = 0; i < 20 && programs.length; i++) {
        runProgram(random.oneOf(programs));
    }
}

function onOrders() {}

startTurns();
