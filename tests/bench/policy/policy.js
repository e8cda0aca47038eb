/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What does it cost to allow profiling if nobody profiles? The page loads 5 MB of script again and again, without a
// policy header or with the one that the address names. Each load measures the time from leaving the previous page
// to the end of loading, and how long the same amount of script takes to compile and run once it has arrived. Every
// text is new, so that no browser has already compiled it. Before each load the page waits for its turn: pages with
// different headers are in different browsers, and load one after the other.

const PARTS = numberFromAddress("parts");
const LOADS = numberFromAddress("loads");
// The first one also starts the browser's processes and caches.
const WARM_UP_LOADS = 1;

function now() {
    return performance.timeOrigin + performance.now();
}

// The results of the previous loads.
const past = JSON.parse(sessionStorage.getItem("past")) ?? { left: null, loads: [] };

async function measureScript() {
    const texts = [];
    for (let part = 0; part < PARTS; part++) {
        texts.push(await (await fetch("/generated/policy.js")).text());
    }
    await nextTask();
    let milliseconds = 0;
    for (const text of texts) {
        const script = document.createElement("script");
        script.textContent = text;
        const start = performance.now();
        document.head.append(script);
        milliseconds += performance.now() - start;
    }
    return { milliseconds, bytes: texts.reduce((sum, text) => sum + text.length, 0) };
}

runMeasurement(async () => {
    const loaded = now();
    await nextTask();
    const script = await measureScript();
    if (globalThis.scriptsRun !== 2 * PARTS) {
        throw new Error(`${globalThis.scriptsRun} scripts have run instead of ${2 * PARTS}`);
    }
    past.loads.push({ loadMs: past.left === null ? null : loaded - past.left, scriptMs: script.milliseconds });
    await checkpoint("turn");
    if (past.loads.length < WARM_UP_LOADS + LOADS) {
        past.left = now();
        sessionStorage.setItem("past", JSON.stringify(past));
        location.replace(location.href);
        // The next document continues.
        await new Promise(() => {});
    }
    return { userAgent: navigator.userAgent, bytes: script.bytes, loads: past.loads.slice(WARM_UP_LOADS) };
});
