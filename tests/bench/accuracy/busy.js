/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Programs that keep a page busy in different ways.
//
// `run(end)` works until the time `end` of `performance.now()`. Its own frame is on the stack all the time, whatever
// it calls.

const busyPrograms = [];

function addBusyProgram(name, run) {
    busyPrograms.push({ name, run });
}

addBusyProgram("plain loop", function runLoop(end) {
    let x = 1;
    do {
        for (let i = 0; i < 1_000_000; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
    } while (performance.now() < end);
    return x;
});

{
    function innermost(x) {
        return (Math.imul(x, 31) + 7) | 0;
    }

    function inner(x) {
        return innermost(x) ^ innermost(x + 1);
    }

    function outer(x) {
        return inner(x) + inner(x >> 1);
    }

    addBusyProgram("nested small functions", function runNested(end) {
        let x = 1;
        do {
            for (let i = 0; i < 1_000_000; i++) {
                x = (x + outer(i)) | 0;
            }
        } while (performance.now() < end);
        return x;
    });
}

{
    // The engine recognises `a - b` and sorts without calling the function.
    function compare(a, b) {
        return a < b ? -1 : a > b ? 1 : 0;
    }

    const numbers = Array.from({ length: 10_000 }, (_, i) => Math.imul(i, 2654435761) | 0);

    addBusyProgram("sort with comparator", function runSort(end) {
        let first = 0;
        do {
            first = [...numbers].sort(compare)[0];
        } while (performance.now() < end);
        return first;
    });
}

{
    const records = Array.from({ length: 1000 }, (_, i) => ({ i, name: `record ${i}`, list: [i, i / 3, null, true] }));
    const text = JSON.stringify(records);

    addBusyProgram("JSON.parse", function runParse(end) {
        let length = 0;
        do {
            length += JSON.parse(text).length;
        } while (performance.now() < end);
        return length;
    });
}

{
    const text = "the quick brown fox jumps over the lazy dog ".repeat(1000);

    function replaceWord(word) {
        return word.length > 3 ? word.toUpperCase() : word;
    }

    addBusyProgram("replace with callback", function runReplace(end) {
        let length = 0;
        do {
            length += text.replace(/\b\w+\b/g, replaceWord).length;
        } while (performance.now() < end);
        return length;
    });
}

addBusyProgram("Map and Set churn", function runMaps(end) {
    let size = 0;
    do {
        const map = new Map();
        const set = new Set();
        for (let i = 0; i < 10_000; i++) {
            const key = `key ${i}`;
            map.set(key, { i, list: [i, key] });
            set.add(key);
            if (i % 2) {
                map.delete(key);
            }
        }
        size += map.size + set.size;
    } while (performance.now() < end);
    return size;
});

{
    const floats = new Float64Array(20_000);
    const bytes = new Uint8Array(floats.buffer);

    addBusyProgram("typed arrays", function runTypedArrays(end) {
        let sum = 0;
        do {
            for (let i = 0; i < floats.length; i++) {
                floats[i] = i / ((sum & 7) + 3);
            }
            for (let i = 0; i < bytes.length; i++) {
                sum = (sum + bytes[i]) | 0;
            }
            sum = (sum + floats.map(Math.sqrt).subarray(100)[7]) | 0;
        } while (performance.now() < end);
        return sum;
    });
}
