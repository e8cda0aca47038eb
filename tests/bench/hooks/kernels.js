/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// What do hooks cost kernels that nobody profiles? The page is open in several browsers at once. They take turns: in
// each turn one of them runs one kernel. All run as many units of it, the numbers that the address gives; without them
// the page only says how many units make a run in this browser.

// Untimed, at the beginning of each turn: another browser has had the processor's caches.
const RUNS_BEFORE = 1;

function unitsFromAddress() {
    const text = new URLSearchParams(location.search).get("units");
    if (text === null) {
        return null;
    }
    const units = text.split(",").map(Number);
    if (units.length !== kernels.length || !units.every((count) => Number.isInteger(count) && count > 0)) {
        throw new RangeError(`?units= must be ${kernels.length} whole numbers above 0`);
    }
    return units;
}

runMeasurement(async () => {
    const units = unitsFromAddress();
    if (units === null) {
        return { units: kernels.map(calibrate) };
    }
    const pairs = numberFromAddress("pairs");
    const timed = kernels.map(({ name }, index) => ({ name, units: units[index], milliseconds: [] }));
    for (let round = 0; round < WARM_UP_PAIRS + pairs; round++) {
        for (const [index, kernel] of kernels.entries()) {
            await checkpoint("turn");
            kernel.result ??= kernel.unit();
            for (let run = 0; run < RUNS_BEFORE; run++) {
                timeRun(kernel, units[index]);
            }
            const time = timeRun(kernel, units[index]);
            if (round >= WARM_UP_PAIRS) {
                timed[index].milliseconds.push(time);
            }
        }
    }
    // When the last turn comes, all browsers have run their kernels, and this one may end.
    await checkpoint("turn");
    const memory = await askBench("memory");
    const peakMemory = await askBench("peak-memory");
    await checkpoint("turn");
    return { userAgent: navigator.userAgent, hasProfiler: "Profiler" in globalThis, kernels: timed, memory, peakMemory };
});
