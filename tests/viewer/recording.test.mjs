/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/recording.js and data/functions.js: viewer data in memory.

import assert from "node:assert/strict";
import fs from "node:fs";
import test from "node:test";

import { dataOf, everything, functionsOf, nodesOf, strobe } from "./page.mjs";

const GOLDEN = new URL("../../components/profile_formats/tests/golden/page_and_worker.html", import.meta.url);
const { decode } = strobe.recording;

// What the browser writes.
function golden() {
  const [, data] = /<script type="application\/json" id="recording">(.*)<\/script>/.exec(fs.readFileSync(GOLDEN, "utf8"));
  return JSON.parse(data);
}

function idle(...times) {
  return { time: times, stack: times.map(() => -1), activity: times.map(() => 0) };
}

test("what the browser writes is read", () => {
  const recording = decode(golden(), "page and worker");
  const { functions, loops } = recording;
  assert.equal(recording.name, "page and worker");
  assert.deepEqual([recording.interval, recording.step, recording.isTimed, recording.weight], [0.5, 0.5, false, 13]);
  // The process ended after the last sample.
  assert.deepEqual([recording.start, recording.end], [100.25, 106]);
  assert.deepEqual(recording.recordedBy, ["Strobe 0.1.0", "Servo 0.7.0", "SpiderMonkey 153.6.0"]);
  assert.deepEqual(functions.labels.slice(0, functions.count), ["(anonymous)", "work", "sort", "add", "onmessage"]);
  assert.deepEqual(functions.place(1), "https://a.test/work.js:12:14");
  assert.deepEqual(loops.map(({ label, kind, isIdle }) => [label, kind, isIdle]), [["a.test", "page", false], ["worker.js", "worker", false]]);
  assert.deepEqual([...loops[0].frameOffset], [-1, -1, -1, -1, -1, -1, 499]);
  assert.match(recording.sources.get(functions.resources[1]).text, /^\/\/ "äöü" <\/script>/);

  const totals = strobe.totals.compute(recording, nodesOf(recording), everything(recording));
  const figures = functions.labels.slice(0, functions.count).map((_, id) => [totals.functionSelf[id], totals.functionTotal[id]]);
  assert.deepEqual(figures, [[1, 7], [3, 6], [2, 2], [1, 1], [3, 3]]);
  const lines = strobe.lines.ofFunction(totals, 1).map(({ label, self, total }) => [label, self, total]);
  assert.deepEqual(lines, [["14", 1, 4], ["13:18", 1, 1], ["13:31", 1, 1]]);
  const gap = strobe.gaps.at(loops[1], 102, recording.interval);
  assert.deepEqual(gap, { before: 1, after: 2, from: 101.5, to: 103, missed: [2, 1, 0, 0, 0, 0] });
});

test("a recording ends where its last sample does", () => {
  const end = (samples, data) => decode(dataOf({ samples }, { interval: 2, ...data })).end;
  assert.equal(end(idle(1000, 2000)), 5);
  assert.equal(end({ ...idle(1000, 2000), weight: [1, 4] }), 11);
  assert.equal(end({ ...idle(1000, 2000), worth: [2e6, 500e3] }), 3.5);
  // Without samples there is still something to show.
  const nothing = decode(dataOf({}, { interval: 2 }));
  assert.deepEqual([nothing.start, nothing.end], [0, 2]);
});

test("samples that are worth times of their own are counted in intervals", () => {
  const { isTimed, step, weight, loops: [loop] } = decode(dataOf({ samples: { ...idle(0, 1000, 1000), worth: [2e6, 5e5, 0] } }, { interval: 2 }));
  assert.deepEqual([isTimed, step, weight], [true, 0.01, 3]);
  assert.deepEqual([...loop.sampleWorth], [2, 0.5, 0]);
  assert.deepEqual([...loop.sampleIntervals], [1, 0.25, 0]);
});

test("a function is one in all event loops, and a script too", () => {
  const data = dataOf({ ...functionsOf("f", "g"), resources: ["a.js"] });
  const [{ eventLoops }] = data.processes;
  eventLoops[0].functions.resource = [0, -1];
  eventLoops.push({ ...eventLoops[0], ...functionsOf("g", "f"), resources: ["b.js", "a.js"] });
  eventLoops[1].functions.resource = [-1, 1];
  const { loops, functions, resources } = decode(data);
  assert.deepEqual(loops.map(({ frameFunction }) => [...frameFunction]), [[0, 1], [1, 0]]);
  assert.deepEqual([functions.count, resources], [2, ["a.js", "b.js"]]);
});

test("event loops and processes have names that people can tell apart", () => {
  const label = (eventLoop) => decode(dataOf(eventLoop)).loops[0].label;
  assert.equal(label({ name: "Page https://a.test/shop/", kind: "page" }), "a.test/shop");
  assert.equal(label({ name: "Worker https://a.test/w.js", kind: "worker" }), "a.test/w.js");
  // It is a name, and not a kind.
  assert.equal(label({ name: "Worker https://a.test/w.js", kind: "page" }), "Worker a.test/w.js");
  assert.equal(label({ documents: ["https://a.test/x/y.html?z"] }), "y.html");
  assert.deepEqual(["page", "unknown"].map((kind) => label({ kind })), ["page 1", "event loop 1"]);
  const processes = [{ name: "browser", pid: 7 }, { name: "", pid: 8 }, { name: "", pid: null }];
  const decoded = decode({ ...dataOf({}), processes: processes.map((process) => ({ ...process, eventLoops: [] })) });
  assert.deepEqual(decoded.processes.map((process) => process.label), ["browser", "process 8", "process 3"]);
});

test("an event loop is idle if it did nothing that is known", () => {
  const isIdle = (activity, stack = activity.map(() => -1)) => (
    decode(dataOf({ ...functionsOf("f"), stacks: { parent: [-1], frame: [0] }, samples: { time: activity.map(() => 1), stack, activity } })).loops[0].isIdle);
  assert.equal(isIdle([0, -1]), true);
  assert.equal(isIdle([0, 4]), false);
  assert.equal(isIdle([0], [0]), false);
});

test("an error says where in the file it is, and what is wrong", () => {
  const place = "processes[0].eventLoops[0]";
  const refuses = (data, message) => assert.throws(() => decode(data), { message });
  const change = (members, message) => refuses(dataOf({ ...functionsOf("f"), stacks: { parent: [-1], frame: [0] }, ...members }), `${place}.${message}`);
  refuses([], "this is neither viewer data nor the trace of a web page");
  refuses({ ...dataOf({}), version: 1 }, "version: 1 is not 2, the version that this page reads");
  refuses({ ...dataOf({}), version: "2" }, 'version: "2" is not 2, the version that this page reads');
  refuses({ ...dataOf({}), interval: "1" }, 'interval: "1" is not a number of milliseconds above 0');
  refuses({ ...dataOf({}), processes: {} }, "processes: this is not a list");
  refuses({ ...dataOf({}), recordedBy: { name: 1 } }, "recordedBy.name: 1 is not a text");
  refuses({ ...dataOf({}), recordedBy: { name: "a", engines: ["b"] } }, "recordedBy.engines[0]: this is not a program");
  const engines = Array.from({ length: 17 }, () => ({ name: "e" }));
  refuses({ ...dataOf({}), recordedBy: { name: "a", engines } }, "recordedBy.engines: more than 16 engines");
  change({ name: null }, "name: null is not a text");
  change({ resources: undefined }, "resources: this is not a list");
  change({ functions: { ...functionsOf("f").functions, name: [7] } }, "functions.name[0]: 7 is not a text");
  change({ functions: { ...functionsOf("f").functions, resource: [0] } }, "functions.resource[0]: 0 is not one of the 0 there are");
  change({ functions: { ...functionsOf("f").functions, kind: [-1] } }, "functions.kind[0]: -1 is not a kind of function");
  change({ frames: { function: [0], line: [0.5], column: [0] } }, "frames.line[0]: 0.5 is not between 0 and 4294967295");
  change({ stacks: { parent: [0], frame: [0] } }, "stacks.parent[0]: 0 is not a stack before it");
  change({ stacks: { parent: [-1], frame: [1] } }, "stacks.frame[0]: 1 is not one of the 1 frames");
  change({ samples: { ...idle(0, 1), stack: [-1, 1] } }, "samples.stack[1]: 1 is not one of the 1 stacks");
  change({ samples: { ...idle(0, 1), activity: [0, 8] } }, "samples.activity[1]: 8 is not an activity");
  change({ samples: { ...idle(0, "x") } }, "samples.time[1]: x goes back in time");
  change({ samples: { ...idle("x") } }, "samples.time: not all entries are numbers");
  change({ samples: { ...idle(0), worth: [-1] } }, "samples.worth[0]: -1 is not a number of nanoseconds");
  change({ missed: { start: [2], end: [1], samples: [1], why: [0] } }, "missed.end[0]: 1 is before 2, its start");
});

test("the first time at or after another is found", () => {
  const { lowerBound } = strobe.recording;
  const times = [1, 2, 2, 5];
  assert.deepEqual([0, 1, 2, 3, 5, 6].map((time) => lowerBound(times, time)), [0, 0, 1, 3, 3, 4]);
  assert.equal(lowerBound(times, 2, 2), 2);
});

test("functions have the colours of their kinds and scripts", () => {
  const { functions } = decode(dataOf({
    ...functionsOf("script", "built-in", "native", "of no script"), resources: ["a.js"],
    functions: { ...functionsOf("script", "built-in", "native", "of no script").functions, kind: [0, 1, 2, 0], resource: [0, -1, -1, -1] },
  }));
  const { LIGHT, tintOf, shadeOf } = strobe.palette;
  assert.deepEqual([0, 1, 2, 3, functions.count].map((id) => functions.colour(id, LIGHT)), [
    LIGHT.scripts[tintOf("a.js")][shadeOf("script", 0)], LIGHT.builtIn, LIGHT.native, LIGHT.unknown, LIGHT.activity,
  ]);
  assert.deepEqual([0, 1, functions.count].map((id) => functions.kindName(id)), ["script", "built-in", "no stack"]);
});
