/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The scripts of about:profiling in Node.js, which has no document: all of data/, in the order in which the page has them.
// The page's one global is one of this process too, so each file of tests has a process of its own, as `node --test` runs it.

import fs from "node:fs";
import vm from "node:vm";

const FOLDER = new URL("../../resources/about-profiling/", import.meta.url);
const SCRIPT = /^<script src="(.+)"><\/script>$/gm;

/** Runs a script as the page would. */
export function run(file) {
  vm.runInThisContext(fs.readFileSync(file, "utf8"), { filename: file.pathname });
}

/** Runs a script of the page that is not in data/. */
export function runPart(name) {
  run(new URL(name, FOLDER));
}

const page = fs.readFileSync(new URL("about-profiling.html", FOLDER), "utf8");
const names = [...page.matchAll(SCRIPT)].map(([, name]) => name);
for (const name of ["namespace.js", ...names.filter((one) => one.startsWith("data/"))]) {
  runPart(name);
}

export const strobe = vm.runInThisContext("strobe");

/** Viewer data of one event loop, with an interval of 1 ms unless `data` says otherwise. Tables that are not given are empty. */
export function dataOf(eventLoop, data = {}) {
  return {
    version: 2,
    interval: 1,
    timeOrigin: null,
    processes: [{ name: "", pid: null, ended: null, eventLoops: [{ ...emptyLoop(), ...eventLoop }] }],
    ...data,
  };
}

function emptyLoop() {
  return {
    name: "",
    kind: "unknown",
    documents: [],
    resources: [],
    realms: [],
    functions: { name: [], kind: [], resource: [], line: [], column: [], realm: [] },
    frames: { function: [], line: [], column: [] },
    stacks: { parent: [], frame: [] },
    samples: { time: [], stack: [], activity: [] },
  };
}

/** The tables of functions of scripts that have these names, each with one frame at an unknown place. */
export function functionsOf(...names) {
  const column = (value) => names.map(() => value);
  return {
    functions: { name: names, kind: column(0), resource: column(-1), line: column(0), column: column(0), realm: column(-1) },
    frames: { function: names.map((_, i) => i), line: column(0), column: column(0) },
  };
}

/** The filter that leaves nothing out. */
export function everything(recording) {
  return { loops: new Uint8Array(recording.loops.length).fill(1), range: null, idle: true, stackless: true, nodes: null };
}

/** The call nodes of a recording in which all frames are shown. */
export function nodesOf(recording) {
  const realms = new Uint8Array(recording.realms.length + 1).fill(1);
  return strobe.callNodes.build(recording, { kinds: strobe.recording.ALL_KINDS, realms });
}
