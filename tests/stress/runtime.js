/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Functions that the programs of generator.js use.

const hasDocument = typeof document === "object";

// The message of an error that a program throws on purpose.
const PLANNED = "planned";
const TEXT = "the quick brown fox jumps over the lazy dog with ease ".repeat(10);

// The number of calls that a program may make in one turn of the event loop, and of actions too costly for each call.
const FUEL = 150;
let fuel = 0;
let exhaustionsLeft = 0;
let compilationsLeft = 0;
let catchesLeft = 0;

function refuel() {
    fuel = FUEL;
    exhaustionsLeft = 1;
    compilationsLeft = 6;
    catchesLeft = 30;
}

function burn() {
    return --fuel > 0;
}

function mayExhaust() {
    return --exhaustionsLeft >= 0;
}

function mayCompile() {
    return --compilationsLeft >= 0;
}

function mayCatch() {
    return --catchesLeft >= 0;
}

function spin(x, n) {
    for (let i = 0; i < n; i++) {
        x = (Math.imul(x, 31) + i) | 0;
    }
    return x;
}

function spinLong(x) {
    return burn() ? spin(x, 2000) : x | 0;
}

let gathered = 0;

function gather(n) {
    gathered = (gathered + n) | 0;
}

let serial = 0;

function newSerial() {
    return ++serial;
}

// Some objects stay for a while, so that there is old garbage, too.
const MOST_KEPT = 60;
const kept = [];

function keep(value) {
    kept.push(value);
    if (kept.length > MOST_KEPT) {
        kept.splice(0, MOST_KEPT >> 1);
    }
}

// The most asynchronous operations that programs may have pending.
const MOST_WAITING = 20;
let waiting = 0;

function mayWait() {
    return waiting < MOST_WAITING && mayCompile();
}

function wait(promise) {
    waiting++;
    promise.then(endWait, endFailedWait);
}

function endWait() {
    waiting--;
}

function endFailedWait(error) {
    waiting--;
    reportUnplanned(error);
}

// Programs fail on purpose, and at the limits of the stack and of memory.
const LIMITS = /too much recursion|call stack|out of memory|allocation|Array buffer|Invalid array/i;

function isPlanned(error) {
    return (error instanceof Error && error.message.startsWith(PLANNED)) || LIMITS.test(`${error}`);
}

function reportUnplanned(error) {
    if (!isPlanned(error)) {
        reportFailure(`a program failed: ${describe(error)}`);
    }
}

// The module of soak/wasm.js, with a function to call back.
const wasmInstances = new Map();

function wasmOf(callee) {
    if (!wasmInstances.has(callee)) {
        wasmInstances.set(callee, instantiateWasm(callee));
    }
    return wasmInstances.get(callee);
}

// (module
//   (memory 1)
//   (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
//   (func (export "divide") (param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0))))
const TRAPPING = new Uint8Array([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00,
    // One type, two functions of that type, and a memory.
    0x01, 0x06, 0x01, 0x60, 0x01, 0x7f, 0x01, 0x7f,
    0x03, 0x03, 0x02, 0x00, 0x00,
    0x05, 0x03, 0x01, 0x00, 0x01,
    // Their exports.
    0x07, 0x11, 0x02,
    0x04, 0x6c, 0x6f, 0x61, 0x64, 0x00, 0x00,
    0x06, 0x64, 0x69, 0x76, 0x69, 0x64, 0x65, 0x00, 0x01,
    // Their code.
    0x0a, 0x11, 0x02,
    0x07, 0x00, 0x20, 0x00, 0x28, 0x02, 0x00, 0x0b,
    0x07, 0x00, 0x41, 0x01, 0x20, 0x00, 0x6d, 0x0b,
]);
let trappingExports;

function trapping() {
    trappingExports ??= new WebAssembly.Instance(new WebAssembly.Module(TRAPPING)).exports;
    return trappingExports;
}

// (module
//   (import "js" "wait" (func $wait (param i32) (result i32)))
//   (import "js" "callee" (func $callee (param i32) (result i32)))
//   (tag $far (param i32))
//   (func $suspending (export "suspending") (param i32) (result i32) (local $x i32)
//     (drop (call $wait (local.get 0)))
//     (drop (call $callee (local.get 0)))
//     (local.set 0 (i32.const 2000))
//     (loop
//       (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 31)) (local.get 0)))
//       (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1)))))
//     (local.get $x))
//   (func $tailFirst (export "tailFirst") (param i32) (result i32) (return_call $tailLast (local.get 0)))
//   (func $tailLast (export "tailLast") (param i32) (result i32)
//     (call $callee (i32.add (local.get 0) (i32.const 1))))
//   (func $throwing (export "throwing") (param i32) (result i32)
//     (if (i32.eqz (local.get 0)) (then (throw $far (i32.const 7))))
//     (call $throwing (i32.sub (local.get 0) (i32.const 1))))
//   (func $catching (export "catching") (param i32) (result i32)
//     (call $callee
//       (block $caught (result i32)
//         (try_table (result i32) (catch $far $caught) (call $throwing (local.get 0)))))))
const SUSPENDABLE = new Uint8Array([
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x02, 0x60, 0x01, 0x7f, 0x01, 0x7f,
    0x60, 0x01, 0x7f, 0x00, 0x02, 0x17, 0x02, 0x02, 0x6a, 0x73, 0x04, 0x77, 0x61, 0x69, 0x74, 0x00,
    0x00, 0x02, 0x6a, 0x73, 0x06, 0x63, 0x61, 0x6c, 0x6c, 0x65, 0x65, 0x00, 0x00, 0x03, 0x06, 0x05,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x0d, 0x03, 0x01, 0x00, 0x01, 0x07, 0x3b, 0x05, 0x0a, 0x73, 0x75,
    0x73, 0x70, 0x65, 0x6e, 0x64, 0x69, 0x6e, 0x67, 0x00, 0x02, 0x09, 0x74, 0x61, 0x69, 0x6c, 0x46,
    0x69, 0x72, 0x73, 0x74, 0x00, 0x03, 0x08, 0x74, 0x61, 0x69, 0x6c, 0x4c, 0x61, 0x73, 0x74, 0x00,
    0x04, 0x08, 0x74, 0x68, 0x72, 0x6f, 0x77, 0x69, 0x6e, 0x67, 0x00, 0x05, 0x08, 0x63, 0x61, 0x74,
    0x63, 0x68, 0x69, 0x6e, 0x67, 0x00, 0x06, 0x0a, 0x65, 0x05, 0x2b, 0x01, 0x01, 0x7f, 0x20, 0x00,
    0x10, 0x00, 0x1a, 0x20, 0x00, 0x10, 0x01, 0x1a, 0x41, 0xd0, 0x0f, 0x21, 0x00, 0x03, 0x40, 0x20,
    0x01, 0x41, 0x1f, 0x6c, 0x20, 0x00, 0x6a, 0x21, 0x01, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x22, 0x00,
    0x0d, 0x00, 0x0b, 0x20, 0x01, 0x0b, 0x06, 0x00, 0x20, 0x00, 0x12, 0x04, 0x0b, 0x09, 0x00, 0x20,
    0x00, 0x41, 0x01, 0x6a, 0x10, 0x01, 0x0b, 0x13, 0x00, 0x20, 0x00, 0x45, 0x04, 0x40, 0x41, 0x07,
    0x08, 0x00, 0x0b, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x10, 0x05, 0x0b, 0x12, 0x00, 0x02, 0x7f, 0x1f,
    0x7f, 0x01, 0x00, 0x00, 0x00, 0x20, 0x00, 0x10, 0x05, 0x0b, 0x0b, 0x10, 0x01, 0x0b, 0x00, 0x3d,
    0x04, 0x6e, 0x61, 0x6d, 0x65, 0x01, 0x36, 0x05, 0x02, 0x0a, 0x73, 0x75, 0x73, 0x70, 0x65, 0x6e,
    0x64, 0x69, 0x6e, 0x67, 0x03, 0x09, 0x74, 0x61, 0x69, 0x6c, 0x46, 0x69, 0x72, 0x73, 0x74, 0x04,
    0x08, 0x74, 0x61, 0x69, 0x6c, 0x4c, 0x61, 0x73, 0x74, 0x05, 0x08, 0x74, 0x68, 0x72, 0x6f, 0x77,
    0x69, 0x6e, 0x67, 0x06, 0x08, 0x63, 0x61, 0x74, 0x63, 0x68, 0x69, 0x6e, 0x67,
]);
const suspendable = new Map();

function suspendedWait(n) {
    return n & 1 ? Promise.resolve(n) : Promise.resolve(n).then((value) => value);
}

// The exports of that module, and `suspending` as a function that gives a promise.
function suspendableOf(callee) {
    if (!suspendable.has(callee)) {
        const module = new WebAssembly.Module(SUSPENDABLE);
        const js = { wait: new WebAssembly.Suspending(suspendedWait), callee };
        const { exports } = new WebAssembly.Instance(module, { js });
        suspendable.set(callee, { ...exports, promising: WebAssembly.promising(exports.suspending) });
    }
    return suspendable.get(callee);
}
