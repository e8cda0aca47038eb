/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The page's side of a measurement: runs it, posts what it gives to ./mach bench, and closes the page.

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

// What one sees of it who was not there.
function description(error) {
    return error instanceof Error ? `${error}\n${error.stack}` : String(error);
}

// `measure` gives the result, or a promise of it. Called from no function, so that no frame of this file is below it.
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

// Waits until ./mach bench has looked at the browser.
async function checkpoint(name) {
    await fetch(`/checkpoint/${name}`, { method: "POST", body: "" });
}

// The number that the address of the page gives by this name.
function numberFromAddress(name) {
    const number = Number(new URLSearchParams(location.search).get(name));
    if (!(number > 0)) {
        throw new RangeError(`?${name}= must be a number above 0`);
    }
    return number;
}
