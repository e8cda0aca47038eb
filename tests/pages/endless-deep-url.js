/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The stack as text has the URL once for each function: 240 MB.
const FUNCTIONS = 60;
const URL_LENGTH = 4 * 1024 * 1024;

function spin() {
    let x = 1;
    for (let i = 0; i < 1_000_000; i++) {
        x = (Math.imul(x, 31) + i) | 0;
    }
    return x;
}

globalThis.made = [];
const one = (i) => `made.push(function f${i}(n) { return n === 0 ? spin() : made[n - 1](n - 1) + 1; });`;
const text = Array.from({ length: FUNCTIONS }, (_, i) => one(i)).join("");
const script = document.createElement("script");
script.src = `data:text/javascript,${encodeURIComponent(text)}//${"x".repeat(URL_LENGTH)}`;
document.body.append(script);

// Begins to work, in a task of its own, which tells the server and never ends.
function startWork() {
    setTimeout(() => {
        fetch("busy");
        for (;;) {
            made[FUNCTIONS - 1](FUNCTIONS - 1);
        }
    });
    return made.length;
}
