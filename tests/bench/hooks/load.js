/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What do hooks cost the load of a page that nobody profiles? The page has much markup and many scripts, which
// ./mach bench makes. It loads again and again, each time with other texts of scripts, which the browser cannot have
// compiled already. The time is from leaving the page before it to the end of loading. The page is open in several
// browsers at once, which load in turns.

const LOADS = numberFromAddress("loads");
// The first one also starts the browser's processes and caches.
const WARM_UP_LOADS = 1;
// measurement.js and this file.
const OWN_SCRIPTS = 2;

function now() {
    return performance.timeOrigin + performance.now();
}

// What the loads before this one gave.
const past = JSON.parse(sessionStorage.getItem("past")) ?? { left: null, loads: [], scripts: 0 };

// Style and layout are a part of the load. They come once: had the body been shown before, it would be laid out as often
// as a frame was due meanwhile.
document.body.hidden = false;
if (!(document.body.offsetHeight > 10_000)) {
    throw new Error(`the page is ${document.body.offsetHeight} px high: its parts are missing`);
}

runMeasurement(async () => {
    const loaded = now();
    await nextTask();
    const scripts = document.scripts.length - OWN_SCRIPTS;
    if (!(scripts > 0) || globalThis.scriptsRun !== scripts) {
        throw new Error(`${globalThis.scriptsRun} scripts have run instead of ${scripts}`);
    }
    past.loads.push(past.left === null ? null : loaded - past.left);
    past.scripts += scripts;
    await checkpoint("turn");
    if (past.loads.length < WARM_UP_LOADS + LOADS) {
        past.left = now();
        sessionStorage.setItem("past", JSON.stringify(past));
        location.replace(location.href);
        // The next document goes on.
        await new Promise(() => {});
    }
    // This turn is the last one: all browsers have loaded the page as often as they should, and this one may end.
    const memory = await askBench("memory");
    const peakMemory = await askBench("peak-memory");
    await checkpoint("turn");
    return {
        userAgent: navigator.userAgent,
        hasProfiler: "Profiler" in globalThis,
        milliseconds: past.loads.slice(WARM_UP_LOADS),
        scripts: past.scripts,
        memory,
        peakMemory,
    };
});
