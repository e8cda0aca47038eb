/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A page that profiles its own work, shows the profile, posts it to `./mach run` and closes itself. With any other
// server it stays open. (Opened as a file it has no functions to show, because scripts of file: pages are muted.)

const WORK_TIME = 3000; // ms
const OPTIONS = { sampleInterval: 1, maxBufferSize: 20000 };
const SHOWN_FUNCTIONS = 10;

// The work. One round takes about 0.1 s.

// The numbers are the same on every machine and for every load of the page.
let seed = 20240229;

function random(limit) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed % limit;
}

function makeWord() {
    const length = 3 + random(8);
    let word = "";
    for (let i = 0; i < length; i++) {
        word += String.fromCharCode(97 + random(26));
    }
    return word;
}

function compareWords(a, b) {
    return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

function sortWords(count) {
    const words = Array.from({ length: count }, makeWord);
    return words.sort(compareWords);
}

function copyRecords(words, primes) {
    const records = words.map((word, index) => ({ word, prime: primes[index % primes.length], tags: [word[0], index] }));
    return JSON.parse(JSON.stringify(records));
}

function workRound(round) {
    const primes = nextPrimes(1e9 + round * 60000, 2000);
    const words = sortWords(10000);
    return copyRecords(words, primes).length;
}

// The event loop runs between two rounds, so the page stays responsive.
async function work() {
    const end = performance.now() + WORK_TIME;
    let rounds = 0;
    while (performance.now() < end) {
        workRound(rounds++);
        await new Promise((resolve) => setTimeout(resolve));
    }
    return rounds;
}

// Showing the profile.

// Self and total time in ms by function, the hottest first. A recursive function counts once per sample.
function functionTimes(trace, sampleInterval) {
    const times = new Map();
    for (const { stackId } of trace.samples) {
        const seen = new Set();
        for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
            const { frameId } = trace.stacks[id];
            if (!times.has(frameId)) {
                times.set(frameId, { frame: trace.frames[frameId], self: 0, total: 0 });
            }
            if (id === stackId) {
                times.get(frameId).self += sampleInterval;
            }
            if (!seen.has(frameId)) {
                seen.add(frameId);
                times.get(frameId).total += sampleInterval;
            }
        }
    }
    return [...times.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

function placeOf(frame, trace) {
    if (frame.resourceId === undefined) {
        return "built-in";
    }
    const file = trace.resources[frame.resourceId].split(/[?#]/)[0].split("/").pop();
    return [file, frame.line, frame.column].filter((part) => part !== undefined).join(":");
}

function addCell(row, className, content) {
    const cell = row.insertCell();
    cell.className = className;
    cell.append(content);
}

function show(trace, sampleInterval) {
    const times = functionTimes(trace, sampleInterval).slice(0, SHOWN_FUNCTIONS);
    const table = document.getElementById("functions");
    for (const { frame, self, total } of times) {
        const bar = document.createElement("div");
        bar.className = "bar";
        bar.style.width = `${(100 * self) / times[0].self}%`;
        const row = table.tBodies[0].insertRow();
        addCell(row, "number", `${Math.round(self)} ms`);
        addCell(row, "number", `${Math.round(total)} ms`);
        addCell(row, "share", bar);
        addCell(row, "name", frame.name || "(anonymous)");
        addCell(row, "place", placeOf(frame, trace));
    }
    table.hidden = times.length === 0;
    setStatus(`${trace.samples.length} samples, one every ${sampleInterval} ms.`);
}

function setStatus(text, failed = false) {
    const status = document.getElementById("status");
    status.textContent = text;
    status.classList.toggle("failed", failed);
}

// True if mach accepted the result.
async function post(result) {
    try {
        const response = await fetch("/trace", { method: "POST", body: JSON.stringify(result) });
        return response.ok;
    } catch {
        return false;
    }
}

async function profileWork() {
    if (!performance.profile) {
        throw new Error("this browser has no performance.profile()");
    }
    const profiler = await performance.profile(OPTIONS);
    const rounds = await work();
    const trace = await profiler.stop();
    show(trace, profiler.sampleInterval);
    return {
        trace,
        sampleInterval: profiler.sampleInterval,
        requestedInterval: OPTIONS.sampleInterval,
        rounds,
        userAgent: navigator.userAgent,
    };
}

async function main() {
    let result;
    setStatus("Working…");
    try {
        result = await profileWork();
    } catch (error) {
        result = { error: String(error) };
        setStatus(`This page could not be profiled: ${error}`, true);
    }
    if (await post(result)) {
        window.close();
    }
}

addEventListener("load", main);
