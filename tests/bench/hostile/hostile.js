/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Pages that try to hold up whoever profiles them, by names, URLs and stacks of any size. With `size=short` a page is the same, with
// short ones. With `profile=no` it works for a recording, until it is ended.

const parameters = new URLSearchParams(location.search);
const KIND = parameters.get("kind");
const IS_LONG = parameters.get("size") === "long";
const SECONDS = numberFromAddress("seconds");
const IS_RECORDED = parameters.get("profile") === "no";
const TASK_TIME = 50; // ms
const MEGABYTE = 1024 * 1024;
const WASM_DEPTH = 400;
const INTERPRETED_DEPTH = 45_000;
const OPTIONS = { sampleInterval: 1, maxBufferSize: 1_000_000 };

const long = (size) => (IS_LONG ? size : 8);

function spin() {
    let x = 1;
    for (let i = 0; i < 100_000; i++) {
        x = (Math.imul(x, 31) + i) | 0;
    }
    return x;
}

function leb(number) {
    const bytes = [];
    do {
        bytes.push((number & 127) | (number > 127 ? 128 : 0));
        number >>>= 7;
    } while (number !== 0);
    return bytes;
}

// A module with a function that calls itself by a table and then counts down. The name ends with `end`.
function recursion(nameLength, end) {
    const counted = (bytes) => [...leb(bytes.length), ...bytes];
    const body = [
        1, 2, 0x7f,
        0x20, 0, 0x45,
        0x04, 0x7f,
        0x41, 0xa0, 0x8d, 0x06, 0x21, 1,
        0x03, 0x40, 0x20, 1, 0x41, 1, 0x6b, 0x22, 1, 0x0d, 0, 0x0b,
        0x41, 0,
        0x05, 0x20, 0, 0x41, 1, 0x6b, 0x41, 0, 0x11, 0, 0, 0x41, 1, 0x6a,
        0x0b, 0x0b,
    ];
    const code = [
        0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
        1, ...counted([1, 0x60, 1, 0x7f, 1, 0x7f]),
        3, ...counted([1, 0]),
        4, ...counted([1, 0x70, 0, 1]),
        7, ...counted([1, 1, 0x66, 0, 0]),
        9, ...counted([1, 0, 0x41, 0, 0x0b, 1, 0]),
        10, ...counted([1, ...counted(body)]),
    ];
    const before = [1, 0, ...leb(nameLength)];
    const names = [4, 0x6e, 0x61, 0x6d, 0x65, 1, ...leb(before.length + nameLength), ...before];
    const head = [...code, 0, ...leb(names.length + nameLength), ...names];
    const bytes = new Uint8Array(head.length + nameLength).fill(0x6e);
    bytes.set(head);
    bytes[bytes.length - 1] = end.charCodeAt(0);
    return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f;
}

// Runs a data: script of some size.
function dataScript(text, size) {
    return new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = `data:text/javascript,${encodeURIComponent(text)}//${"x".repeat(long(size))}`;
        script.onload = resolve;
        script.onerror = () => reject(new Error("the script did not load"));
        document.body.append(script);
    });
}

// Each gives what is called again and again, and the number of functions.
const KINDS = {
    "long name"() {
        const call = recursion(long(64 * MEGABYTE), "a");
        return [() => call(WASM_DEPTH), 1];
    },
    "names that differ in the last byte"() {
        const calls = ["a", "b"].map((end) => recursion(long(MEGABYTE), end));
        return [() => calls.map((call) => call(WASM_DEPTH)), 2];
    },
    async "functions of a long URL"() {
        globalThis.made = [];
        const one = (i) => `made.push(function f${i}() { return spin() + ${i}; });`;
        await dataScript(Array.from({ length: 3000 }, (_, i) => one(i)).join(""), MEGABYTE);
        let next = 0;
        return [() => made[next++ % made.length](), 3000];
    },
    "functions with long names"() {
        const prefix = "n".repeat(long(MEGABYTE));
        const made = Array.from({ length: 1000 }, (_, i) => {
            // A name that is only computed is not the function's own.
            return (0, eval)(`(function ${prefix}${i}() { return spin() + ${i}; })`);
        });
        let next = 0;
        return [() => made[next++ % made.length](), 1000];
    },
    async "a stack of a long URL"() {
        globalThis.made = [];
        const one = (i) => `made.push(function f${i}(n) { return n === 0 ? spin() : made[n - 1](n - 1) + 1; });`;
        await dataScript(Array.from({ length: 50 }, (_, i) => one(i)).join(""), 1.5 * MEGABYTE);
        return [() => made[49](49), 50];
    },
    "a deep stack of the interpreter"() {
        let garbage = null;
        const down = (n) => {
            if (n > 0) {
                return down(n - 1) + 1;
            }
            for (let i = 0; i < 50_000; i++) {
                garbage = [garbage?.[1], i, {}];
            }
            return spin();
        };
        const depth = IS_LONG ? INTERPRETED_DEPTH : 100;
        return [() => down(depth), 2];
    },
};

async function run(call, milliseconds) {
    const end = performance.now() + milliseconds;
    while (performance.now() < end) {
        const endOfTask = performance.now() + TASK_TIME;
        do {
            call();
        } while (performance.now() < endOfTask);
        await nextTask();
    }
}

// How many samples until `end` have a stack, and the number of functions in them.
function summary(trace, end) {
    const samples = trace.samples.filter(({ timestamp }) => timestamp <= end);
    const stacks = samples.filter(({ stackId }) => stackId !== undefined).length;
    return { samples: samples.length, stacks, frames: trace.frames.length };
}

runMeasurement(async () => {
    const [call, functions] = await KINDS[KIND]();
    await run(call, 1000);
    if (IS_RECORDED) {
        await fetch("/ready", { method: "POST", body: "" });
        await run(call, 1e9);
    }
    await checkpoint("start");
    const profiler = new Profiler(OPTIONS);
    await run(call, SECONDS * 1000);
    const end = performance.now();
    await checkpoint("end");
    return { functions, ...summary(await profiler.stop(), end) };
});
