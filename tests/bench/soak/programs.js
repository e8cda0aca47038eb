/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The mix: programs that make a stack hard to walk. Each checks its results, and declares which of its functions calls
// which.
//
// Every function has a different name, so that a false pair of neighbours is noticed.

const callGraph = new CallGraph();

// These run in a round, one after the other.
const programs = [];
// These are started after a round. Each returns a promise.
const laterPrograms = [];

function addProgram(program, calls) {
    programs.push(program);
    callGraph.add(`runRound > ${program.name}\n${calls}`);
}

function addLaterProgram(program, calls) {
    laterPrograms.push(program);
    callGraph.add(`startLater > ${program.name}\n${calls}`);
}

// Long programs do not run in every round. Otherwise most samples would be in them.
const ROUNDS_PER_LONG_PROGRAM = 4;
let roundsRun = 0;

function runRound() {
    roundsRun++;
    for (const program of programs) {
        program();
    }
}

// The programs that have been started and have not ended.
const pending = new Set();

function startLater() {
    for (const program of laterPrograms) {
        const promise = program();
        pending.add(promise);
        promise.then(function forget() {
            pending.delete(promise);
        });
    }
}

callGraph.add("(root) > forget");

function check(isRight, what) {
    if (!isRight) {
        throw new Error(`wrong result: ${what}`);
    }
}

// Different in every round, so that the engine cannot reuse earlier results.
let serial = 0;

// Work of `n` steps, for functions that should be sampled.
function spin(x, n) {
    for (let i = 0; i < n; i++) {
        x = (Math.imul(x, 31) + i) | 0;
    }
    return x;
}

// Garbage

function makeRecord(i) {
    const text = `number ${i} of ${serial}`;
    return { text, list: [i, text.length, { i }], view: new Uint8Array(i % 64) };
}

function makeCounter(step) {
    let counted = 0;
    return function counter() {
        counted += step;
        return counted;
    };
}

function churnGarbage() {
    const kept = [];
    let counted = 0;
    for (let i = 0; i < 2000; i++) {
        kept.push(makeRecord(i));
        if (i % 500 === 499) {
            kept.splice(0, 450);
        }
        const countBy = makeCounter(i & 1);
        countBy();
        counted += countBy();
    }
    check(kept.at(-1).list[2].i === 1999 && counted === 2000, "garbage");
}

addProgram(churnGarbage, `
    churnGarbage > makeRecord, makeCounter, counter, check`);

// Compaction: many objects that are kept for some rounds and then dropped together

const keptArrays = [];

function makeCell(_, i) {
    return { i, next: null, name: "cell" + (i % 10) };
}

// Memory outside the heap that each round leaves as garbage, so that garbage is collected several times per second.
const GARBAGE = 64 * 2 ** 20; // bytes
let lastGarbage = null;

function leaveGarbage() {
    lastGarbage = new Uint8Array(GARBAGE);
    check(lastGarbage[1000] === 0, "a large array");
}

function fillAndDrop() {
    const cells = Array.from({ length: 4000 }, makeCell);
    for (let i = 1; i < cells.length; i++) {
        cells[i].next = cells[i - 1];
    }
    keptArrays.push(cells);
    if (keptArrays.length === 10) {
        keptArrays.length = 0;
    }
    check(cells[7].next.i === 6, "cells");
}

function addEntry(value, key) {
    mapSum += value + key.length;
}

let mapSum = 0;
const longLived = new Map();

function churnMaps() {
    const map = new Map();
    const set = new Set();
    const weak = new WeakMap();
    for (let i = 0; i < 2000; i++) {
        const key = `k${i}`;
        map.set(key, i);
        set.add(key).add(i);
        weak.set({ i }, key);
        longLived.set(`${serial} ${i % 50}`, i);
        if (i % 3 === 0) {
            map.delete(key);
        }
    }
    if (longLived.size > 20_000) {
        longLived.clear();
    }
    mapSum = 0;
    map.forEach(addEntry);
    check(map.size === 1333 && set.size === 4000 && mapSum > 1_332_000, "maps");
}

addProgram(leaveGarbage, `
    leaveGarbage > check`);
addProgram(fillAndDrop, `
    fillAndDrop > makeCell, check`);
addProgram(churnMaps, `
    churnMaps > addEntry, check`);

// Tier-ups: new functions that become hot

function compileNew() {
    const salt = ++serial;
    const compiled = new Function("n", `
        let x = ${salt};
        for (let i = 0; i < n; i++) {
            x = (Math.imul(x, 31) + i) | 0;
        }
        return x;`);
    check(compiled(20_000) === spin(salt, 20_000), "new Function");
}

function compileCalls() {
    const makeOuter = new Function(`
        function madeInner(x, i) {
            return (Math.imul(x, 31) + i) | 0;
        }
        return function madeOuter(x, n) {
            for (let i = 0; i < n; i++) {
                x = madeInner(x, i);
            }
            return calledByMade(x) + ${++serial};
        };`);
    const madeOuter = makeOuter();
    let x = 0;
    for (let i = 0; i < 40; i++) {
        x = madeOuter(0, 300);
    }
    check(x === spin(0, 300) + serial, "calls of what was made");
}

function calledByMade(x) {
    return x;
}

// Two kinds of objects where there was one: the optimised code bails out.
function readShape(object) {
    return object.a + (object.b ?? 0);
}

function deoptimise() {
    const readNew = (0, eval)(`(${readShape})`);
    let sum = 0;
    for (let i = 0; i < 6000; i++) {
        sum += readNew(i < 5000 ? { a: 1 } : i % 2 ? { b: 1, a: 1 } : { c: 0, a: 1.5, b: "" });
    }
    check(typeof sum === "string", "shapes");
}

addProgram(compileNew, `
    compileNew > anonymous, spin, check`);
addProgram(compileCalls, `
    compileCalls > anonymous, madeOuter, spin, check
    madeOuter > madeInner, calledByMade`);
addProgram(deoptimise, `
    deoptimise > readShape, check`);

// Exceptions

let cleanedUp = 0;

function cleanUp() {
    cleanedUp++;
}

function throwDeep(depth) {
    if (depth === 0) {
        throw new RangeError("deep");
    }
    try {
        return throwDeep(depth - 1);
    } finally {
        cleanUp();
    }
}

function rethrow(depth) {
    try {
        return throwDeep(depth);
    } catch (error) {
        throw new TypeError("again", { cause: error });
    }
}

function throwAndCatch() {
    let caught = 0;
    cleanedUp = 0;
    for (let i = 0; i < 60; i++) {
        try {
            rethrow(20);
        } catch (error) {
            caught += error.cause instanceof RangeError ? 1 : 0;
        }
    }
    check(caught === 60 && cleanedUp === 1200, "exceptions");
}

function throwingCompare(a, b) {
    if (a + b === 1) {
        throw new Error("not to be compared");
    }
    return a - b;
}

function throwingReviver(key, value) {
    if (key === "last") {
        throw new Error("not to be revived");
    }
    return value;
}

function throwingReplacement(word) {
    throw new Error(`not to be replaced: ${word}`);
}

// Throws through frames of built-ins.
function throwThroughBuiltIns() {
    let caught = 0;
    for (let i = 0; i < 20; i++) {
        for (const attempt of [attemptSort, attemptParse, attemptReplace]) {
            try {
                attempt();
            } catch (error) {
                caught += error.message.startsWith("not to be") ? 1 : 0;
            }
        }
    }
    check(caught === 60, "exceptions through built-ins");
}

function attemptSort() {
    return [5, 4, 3, 2, 1, 0].sort(throwingCompare);
}

function attemptParse() {
    return JSON.parse('{"first":[1,2,3],"last":4}', throwingReviver);
}

function attemptReplace() {
    return "some words".replace(/\w+$/, throwingReplacement);
}

addProgram(throwAndCatch, `
    throwAndCatch > rethrow, check
    rethrow > throwDeep
    throwDeep > throwDeep, cleanUp`);
addProgram(throwThroughBuiltIns, `
    throwThroughBuiltIns > attemptSort, attemptParse, attemptReplace, check
    attemptSort > throwingCompare
    attemptParse > throwingReviver
    attemptReplace > throwingReplacement`);

// Stack overflow

function endlessly(depth) {
    return endlessly(depth + 1) + 1;
}

const bottomless = {
    get depth() {
        return this.depth + 1;
    },
};

function endlessGetter() {
    return bottomless.depth;
}

function overflow() {
    if (roundsRun % ROUNDS_PER_LONG_PROGRAM !== 0) {
        return;
    }
    for (const attempt of [endlessly, endlessGetter]) {
        let name = "none";
        try {
            attempt(0);
        } catch (error) {
            name = error.name;
        }
        check(["InternalError", "RangeError"].includes(name), `stack overflow: ${name}`);
    }
}

addProgram(overflow, `
    overflow > endlessly, endlessGetter, check
    endlessly > endlessly
    endlessGetter > get depth
    get depth > get depth`);

// Deep recursion that ends: calls that are inlined into each other

function fibonacci(n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function recurse() {
    check(fibonacci(19) === 4181, "recursion");
}

addProgram(recurse, `
    recurse > fibonacci, check
    fibonacci > fibonacci`);

// Generators

function* countUp(n) {
    try {
        for (let i = 0; i < n; i++) {
            yield i;
        }
    } finally {
        endCount();
    }
}

function* countTwice(n) {
    yield* countUp(n);
    yield* countUp(n);
}

let endedCounts = 0;

function endCount() {
    endedCounts++;
}

function runGenerators() {
    endedCounts = 0;
    let sum = 0;
    for (const n of countTwice(1500)) {
        sum += n;
    }
    for (let i = 0; i < 100; i++) {
        for (const n of countUp(100)) {
            if (n === 5) {
                break;
            }
        }
    }
    const spread = [...countUp(500), ...countUp(500)];
    check(sum === 1500 * 1499 && spread.length === 1000 && endedCounts === 104, "generators");
}

addProgram(runGenerators, `
    runGenerators > countUp, countTwice, check
    countTwice > countUp
    countUp > endCount`);

// Regular expressions

const TEXT = "the quick brown fox jumps over the lazy dog ".repeat(100);

function replaceWord(word) {
    return word.toUpperCase();
}

function replaceGroups(_, first, second) {
    return `${second} ${first}`;
}

function matchText() {
    check(TEXT.match(/(?:q|l)\w*\s+\w+/g).length === 200, "match");
    check(TEXT.replace(/\b(?:fox|dog)\b/g, replaceWord).endsWith("DOG "), "replace");
    check(TEXT.replace(/(?<first>\w+) (\w+)/g, replaceGroups).startsWith("quick the"), "groups");
    check(!/^(?:a|aa)+$/.test("a".repeat(18) + "b"), "backtracking");
    check(TEXT.split(/\s+/).length === 901, "split");
    const words = /(\w)\w*/y;
    let found = 0;
    while (words.exec(TEXT)) {
        words.lastIndex++;
        found++;
    }
    check(found === 900, "sticky");
    check([...TEXT.matchAll(/(?<=the )\w+/g)].length === 200, "matchAll");
}

addProgram(matchText, `
    matchText > replaceWord, replaceGroups, check`);

// Callbacks of built-ins

// The engine recognises `a - b` and sorts without calling the function.
function compareNumbers(a, b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

function compareFloats(a, b) {
    return a > b ? 1 : a < b ? -1 : 0;
}

function isNotBefore(number, i, numbers) {
    return i === 0 || numbers[i - 1] <= number;
}

function scramble(_, i) {
    return Math.imul(i, 2654435761) | 0;
}

function sortNumbers() {
    const numbers = Array.from({ length: 1500 }, scramble);
    numbers.sort(compareNumbers);
    check(numbers.every(isNotBefore), "sort");
    const floats = Float64Array.from(numbers).reverse();
    floats.sort(compareFloats);
    check(floats.every(isNotBefore), "sort of a typed array");
}

function triple(n) {
    return spin(n, 3);
}

function isEven(n) {
    return n % 2 === 0;
}

function addUp(sum, n) {
    return sum + n;
}

function keepOdd(n) {
    if (!isEven(n)) {
        mapSum += n;
    }
}

function iterate() {
    const numbers = Array.from({ length: 1000 }, scramble);
    mapSum = 0;
    numbers.forEach(keepOdd);
    const sum = numbers.map(triple).filter(isEven).reduce(addUp, 0);
    check(Number.isInteger(sum) && Number.isInteger(mapSum), "iteration");
}

addProgram(sortNumbers, `
    sortNumbers > scramble, compareNumbers, compareFloats, isNotBefore, check`);
addProgram(iterate, `
    iterate > scramble, keepOdd, triple, isEven, addUp, check
    keepOdd > isEven
    triple > spin`);

// JSON

function reviveDate(key, value) {
    return key === "date" ? new Date(value) : value;
}

function replaceValue(key, value) {
    return key === "secret" ? undefined : value;
}

function asPoint() {
    return [this.x, this.y];
}

function runJSON() {
    const point = { x: 1, y: 2, toJSON: asPoint };
    const entry = { date: "2000-01-01", n: 1, secret: "s", point };
    const text = JSON.stringify({ list: Array(200).fill(entry) }, replaceValue);
    const { list } = JSON.parse(text, reviveDate);
    check(list[199].date.getTime() === 946684800000 && list[199].point[1] === 2 && !list[0].secret, "JSON");
}

addProgram(runJSON, `
    runJSON > replaceValue, asPoint, reviveDate, check`);

// wasm

let wasm;

function calledByWasm(n) {
    if (n < 0) {
        throw new Error("not through wasm");
    }
    return spin(n, 30) & 1;
}

function throwFromWasm() {
    throw new Error("through wasm");
}

function throwThroughWasm() {
    let caught = 0;
    for (let i = 0; i < 20; i++) {
        try {
            throwingWasm.recurse(20);
        } catch (error) {
            caught += error.message === "through wasm" ? 1 : 0;
        }
    }
    check(caught === 20, "exceptions through wasm");
}

let throwingWasm;

function runWasm() {
    wasm.callBack(300);
    check(wasm.spin(30_000) === WASM_SPIN, "wasm");
    for (let i = 0; i < 100; i++) {
        check(wasm.recurse(30) >= 30, "recursion in wasm");
    }
    throwThroughWasm();
}

const WASM_SPIN = spinLikeWasm(30_000);
wasm = instantiateWasm(calledByWasm);
throwingWasm = instantiateWasm(throwFromWasm);

addProgram(runWasm, `
    runWasm > wasm-function[1], wasm-function[2], wasm-function[3], throwThroughWasm, check
    wasm-function[1] > calledByWasm
    wasm-function[3] > wasm-function[3], calledByWasm, throwFromWasm
    throwThroughWasm > wasm-function[3], check
    calledByWasm > spin`);

// Accessors, proxies and conversions. The function that initialises the fields of a class has no name.

class Box {
    #breadth = 1;

    constructor(breadth) {
        this.#breadth = breadth;
    }

    get breadth() {
        return spin(this.#breadth, 2) | 1;
    }

    set breadth(value) {
        this.#breadth = limit(value);
    }
}

class NamedBox extends Box {
    constructor(breadth, name) {
        super(breadth);
        this.name = name;
    }
}

function limit(value) {
    return value & 0xff;
}

function useAccessors() {
    let sum = 0;
    for (let i = 0; i < 1500; i++) {
        const box = new NamedBox(i, "box");
        box.breadth = i;
        sum += box.breadth;
    }
    check(Number.isInteger(sum), "accessors");
}

function getTrap(target, key, receiver) {
    return Reflect.get(target, key, receiver);
}

function setTrap(target, key, value, receiver) {
    return Reflect.set(target, key, limit(value), receiver);
}

function hasTrap(target, key) {
    return key in target;
}

function applyTrap(target, self, list) {
    return Reflect.apply(target, self, list);
}

function constructTrap(target, list) {
    return Reflect.construct(target, list);
}

function proxied(n) {
    return n + 1;
}

const handler = { get: getTrap, set: setTrap, has: hasTrap, apply: applyTrap, construct: constructTrap };
const objectProxy = new Proxy({ n: 0 }, handler);
const functionProxy = new Proxy(proxied, handler);
const classProxy = new Proxy(NamedBox, handler);

function useProxies() {
    let sum = 0;
    for (let i = 0; i < 600; i++) {
        objectProxy.n = i;
        sum += objectProxy.n + ("n" in objectProxy ? 1 : 0) + functionProxy(i) + new classProxy(i, "p").name.length;
    }
    check(Number.isInteger(sum), "proxies");
}

function toPlainNumber() {
    return 7;
}

function toPlainString() {
    return "seven";
}

const convertible = { valueOf: toPlainNumber, toString: toPlainString };

function convert() {
    let sum = 0;
    let text = "";
    for (let i = 0; i < 1000; i++) {
        sum += convertible * 2;
        text = `${convertible}${i}`;
    }
    check(sum === 14000 && text === "seven999", "conversions");
}

addProgram(useAccessors, `
    useAccessors > NamedBox, get breadth, set breadth, check
    NamedBox > Box
    Box > (anonymous)
    get breadth > spin
    set breadth > limit`);
addProgram(useProxies, `
    useProxies > getTrap, setTrap, hasTrap, applyTrap, constructTrap, check
    setTrap > limit
    applyTrap > proxied
    constructTrap > NamedBox`);
addProgram(convert, `
    convert > toPlainNumber, toPlainString, check`);

// Calls of every kind

function target(a, b, c) {
    return spin(a, 4) + b + c;
}

const boundTarget = target.bind(null, 1);

function rest(...list) {
    return target(...list);
}

function callVariously() {
    let sum = 0;
    const list = [1, 2, 3];
    for (let i = 0; i < 1000; i++) {
        sum += target.call(null, 1, 2, 3);
        sum -= target.apply(null, list);
        sum += boundTarget(2, 3);
        sum -= rest(...list);
    }
    check(sum === 0, "calls");
}

addProgram(callVariously, `
    callVariously > target, rest, check
    rest > target
    target > spin`);

// Typed arrays

function fillViews(buffer) {
    const view = new DataView(buffer);
    for (let i = 0; i + 8 <= buffer.byteLength; i += 8) {
        view.setFloat64(i, i / 3, true);
    }
    return new Float64Array(buffer);
}

function useTypedArrays() {
    const floats = fillViews(new ArrayBuffer(32_768));
    const bytes = new Uint8Array(floats.buffer);
    let sum = 0;
    for (let i = 0; i < bytes.length; i++) {
        sum = (sum + bytes[i]) | 0;
    }
    const copy = new Int32Array(floats.subarray(8)).map(halve);
    check(sum > 0 && copy.length === 4088, "typed arrays");
}

function halve(n) {
    return n >> 1;
}

addProgram(useTypedArrays, `
    useTypedArrays > fillViews, halve, check`);

// eval

function evaluate() {
    const salt = ++serial;
    const direct = eval(`
        function evaluated(x) {
            return spin(x, 50) + ${salt};
        }
        let sum = 0;
        for (let i = 0; i < 200; i++) {
            sum += evaluated(i) - evaluated(i);
        }
        sum;`);
    const indirect = (0, eval)(`spin(${salt}, 500)`);
    check(direct === 0 && indirect === spin(salt, 500), "eval");
}

addProgram(evaluate, `
    evaluate > evaluated, spin, check
    evaluated > spin`);

// Strings

function buildText() {
    let text = "";
    for (let i = 0; i < 3000; i++) {
        text += `${i},`;
    }
    const flat = text.indexOf("2999,");
    const parts = text.split(",");
    check(flat === text.length - 5 && parts.join("-").length === text.length, "strings");
}

addProgram(buildText, `
    buildText > check`);

// Promises and async functions. After the first await they have no caller on the stack.

function beforeWait(n) {
    return spin(n, 500);
}

function afterWait(n) {
    return spin(n, 500);
}

async function waitInside(n) {
    await null;
    return afterWait(n);
}

async function waitTwice() {
    let n = beforeWait(1);
    await null;
    n = afterWait(n);
    n = await waitInside(n);
    try {
        await rejectLater();
    } catch (error) {
        check(error.message === "later", "rejection");
    }
    check(Number.isInteger(n), "async functions");
}

async function rejectLater() {
    await null;
    throw new Error("later");
}

addLaterProgram(waitTwice, `
    (root) > waitTwice, waitInside, rejectLater
    waitTwice > beforeWait, afterWait, waitInside, rejectLater, check
    waitInside > afterWait
    beforeWait > spin
    afterWait > spin`);

async function* numbersLater(n) {
    for (let i = 0; i < n; i++) {
        await null;
        yield perNumber(i);
    }
}

function perNumber(n) {
    return spin(n, 100);
}

async function consumeLater() {
    let count = 0;
    for await (const n of numbersLater(50)) {
        count += Number.isInteger(n) ? 1 : 0;
    }
    check(count === 50, "async generators");
}

addLaterProgram(consumeLater, `
    (root) > consumeLater, numbersLater
    consumeLater > numbersLater, check
    numbersLater > perNumber
    perNumber > spin`);

function executor(resolve) {
    resolve(spin(1, 200));
}

function reaction(n) {
    return spin(n, 200);
}

function throwInReaction() {
    throw new Error("in a reaction");
}

function recover(error) {
    return error.message.length;
}

function lastReaction(n) {
    check(n === 13, "promises");
}

const thenable = {
    then: function thenLater(resolve) {
        resolve(spin(2, 200));
    },
};

function resolveThenable() {
    return thenable;
}

function chainPromises() {
    let promise = new Promise(executor);
    for (let i = 0; i < 20; i++) {
        promise = promise.then(reaction);
    }
    return promise.then(resolveThenable).then(throwInReaction).catch(recover).then(lastReaction);
}

addLaterProgram(chainPromises, `
    chainPromises > executor
    executor > spin
    (root) > reaction, throwInReaction, recover, lastReaction, resolveThenable, thenLater
    reaction > spin
    thenLater > spin
    lastReaction > check`);

function startMicrotasksAndTimers() {
    return new Promise(function startBoth(resolve) {
        queueMicrotask(function onMicrotask() {
            spin(1, 500);
        });
        setTimeout(function onTimer() {
            spin(1, 500);
            resolve();
        });
    });
}

addLaterProgram(startMicrotasksAndTimers, `
    startMicrotasksAndTimers > startBoth
    (root) > onMicrotask, onTimer
    onMicrotask > spin
    onTimer > spin`);
