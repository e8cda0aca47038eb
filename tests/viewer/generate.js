/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Generates a recording as large as about:profiling must be able to show, as viewer data. Its pages and
// workers load, work, lay out, collect garbage and wait. They are in several processes, and one of these ends early.
// With `lines` its frames have lines, and it has the texts of the scripts: of 10,000 lines each, but one of a single line.
// In a page, call `generateRecording(options)`. With node, run `node generate.js [SAMPLES [EVENT_LOOPS]] > FILE`.

const DEFAULT_SAMPLES = 100000;
const DEFAULT_LOOPS = 8;
const LOOPS_PER_PROCESS = 3;
const FUNCTIONS = 900;
const FILES = 24;
const REALMS = 3;
const TASKS = 300;
const LINES = 10000;
// Lines of a function that have samples.
const LINES_OF_FUNCTION = 9;
// The script of a single line, and how many characters of it a function takes.
const MINIFIED = 3;
const CHARACTERS_OF_FUNCTION = 4000;
const [IDLE, SCRIPT, GC, STYLE, LAYOUT, PAINT, OTHER] = [0, 1, 2, 3, 4, 5, 6];
const VERBS = ["update", "render", "parse", "diff", "schedule", "resolve", "measure", "encode", "collect", "apply", "walk", "merge"];
const NOUNS = ["Tree", "Node", "Layout", "State", "Queue", "Token", "Row", "Cache", "Style", "Graph", "Message", "Buffer"];
const BUILT_INS = ["Array.prototype.sort", "Array.prototype.map", "JSON.parse", "Promise.then", "String.prototype.replace",
  "appendChild", "querySelectorAll", "getBoundingClientRect", "postMessage", "Map.prototype.get"];

function generateRecording({ samples = DEFAULT_SAMPLES, eventLoops = DEFAULT_LOOPS, lines = false } = {}) {
  // The recording is the same every time.
  let seed = 20240229;
  const random = limit => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 4294967296) * limit);
  };
  const processes = [];
  for (let loop = 0; loop < eventLoops; loop++) {
    if (loop % LOOPS_PER_PROCESS === 0) {
      const number = processes.length;
      processes.push({ name: number ? `content ${number}` : "browser", pid: 4000 + number * 17, ended: null, eventLoops: [] });
    }
    const process = processes.at(-1);
    // The last process ends after two thirds of the time.
    const isDying = loop >= LOOPS_PER_PROCESS * Math.floor((eventLoops - 1) / LOOPS_PER_PROCESS) && processes.length > 1;
    const count = isDying ? Math.floor(samples * 0.65) : samples;
    const made = generateLoop(loop, count, random);
    process.eventLoops.push(made.eventLoop);
    if (isDying) {
      process.ended = Math.max(process.ended ?? 0, made.end + 0.4);
    }
  }
  if (lines) {
    for (const loop of processes.flatMap(process => process.eventLoops)) {
      addLines(loop, random);
    }
  }
  return { version: 2, interval: 1, timeOrigin: 1789000000000, processes };
}

// Gives each frame of a stack a line of its function, and each script its text.
function addLines(loop, random) {
  const { functions, stacks } = loop;
  const frames = { function: [], line: [], column: [] };
  const ids = new Map();
  functions.name.forEach((_, i) => {
    if (functions.resource[i] === MINIFIED) {
      functions.line[i] = 1;
      functions.column[i] = 1 + i * CHARACTERS_OF_FUNCTION;
    } else if (functions.kind[i] === 0) {
      functions.line[i] *= 5;
    }
  });
  stacks.frame = stacks.frame.map(id => {
    const isScript = functions.kind[id] === 0;
    const isMinified = functions.resource[id] === MINIFIED;
    // Some lines are much hotter than others.
    const step = 1 + random(1 + random(LINES_OF_FUNCTION));
    const line = !isScript ? 0 : isMinified ? 1 : functions.line[id] + step;
    const column = !isScript ? 0 : isMinified ? functions.column[id] + 40 + step * 37 : 5 + 4 * random(2);
    const key = `${id}:${line}:${column}`;
    if (!ids.has(key)) {
      ids.set(key, frames.function.length);
      frames.function.push(id);
      frames.line.push(line);
      frames.column.push(column);
    }
    return ids.get(key);
  });
  loop.frames = frames;
  loop.sources = loop.resources.map((name, resource) => ({
    name, text: resource === MINIFIED ? minifiedText(functions) : textOf(resource, functions), line: 1, column: 1,
  }));
  functions.source = functions.resource;
}

function textOf(resource, functions) {
  const names = new Map();
  functions.name.forEach((name, i) => {
    if (functions.resource[i] === resource && functions.kind[i] === 0) {
      names.set(functions.line[i], name);
    }
  });
  return Array.from({ length: LINES }, (_, i) => (names.has(i + 1) ? `function ${names.get(i + 1)}(list) {`
    : i % 40 === 39 ? `// ${"Every forty lines there is a long comment. ".repeat(3)}`
      : `  const value${i + 1} = list[${i % 100}] * ${i} + step(list);`)).join("\n");
}

function minifiedText(functions) {
  return functions.name.map((name, i) => (
    `function f${i}(a,b){${"a+=b[a&7]^(a>>>3);".repeat(CHARACTERS_OF_FUNCTION / 18 + 1)}`.slice(0, CHARACTERS_OF_FUNCTION - 1) + "}"
  )).join("");
}

function generateLoop(number, count, random) {
  const site = `https://${["shop", "news", "maps"][number % 3]}.example`;
  const isWorker = number % 3 === 2;
  const resources = Array.from({ length: FILES }, (_, i) => `${i % 5 === 0 ? "https://cdn.example" : site}/js/${
    ["app", "view", "model", "vendor", "router", "worker"][i % 6]}-${i}.js`);
  const realms = Array.from({ length: REALMS }, (_, i) => ({
    url: `${i === 2 ? "https://ads.example" : site}/${["", "frame", "ad"][i]}`, origin: i === 2 ? "https://ads.example" : site,
  }));
  const functions = { name: [], kind: [], resource: [], line: [], column: [], realm: [] };
  // Each function has one frame, and it is not known where in the function it is.
  const frames = { function: [], line: [], column: [] };
  for (let i = 0; i < FUNCTIONS; i++) {
    const isBuiltIn = i % 12 === 11;
    functions.name.push(isBuiltIn ? BUILT_INS[(i / 12 | 0) % BUILT_INS.length]
      : i % 17 === 5 ? "" : `${VERBS[i % VERBS.length]}${NOUNS[(i / VERBS.length | 0) % NOUNS.length]}${i > 143 ? i : ""}`);
    functions.kind.push(isBuiltIn ? 1 : 0);
    functions.resource.push(isBuiltIn ? -1 : i % FILES);
    functions.line.push(isBuiltIn ? 0 : 1 + (i * 37) % 1900);
    functions.column.push(isBuiltIn ? 0 : 1 + (i * 11) % 80);
    functions.realm.push(i % 9 === 8 ? 2 : i % 5 === 4 ? 1 : 0);
    frames.function.push(i);
    frames.line.push(0);
    frames.column.push(0);
  }
  const stacks = { parent: [], frame: [] };
  const ids = new Map();
  const stackOf = (parent, frame) => {
    const key = parent * FUNCTIONS + frame;
    if (!ids.has(key)) {
      ids.set(key, stacks.frame.length);
      stacks.parent.push(parent);
      stacks.frame.push(frame);
    }
    return ids.get(key);
  };
  const data = { time: [], stack: [], activity: [] };
  const path = [];
  let activity = IDLE;
  let left = 0;
  let taskDepth = 0;
  let clock = 0;
  for (let i = 0; i < count; i++) {
    if (left-- <= 0) {
      activity = nextActivity(activity, isWorker, random);
      left = activity === IDLE ? 3 + random(60) : activity === SCRIPT ? 20 + random(220) : 2 + random(14);
      path.length = 0;
    }
    let stack = -1;
    if (activity === SCRIPT || (activity === GC && path.length)) {
      if (!path.length) {
        // A task is one of some hundred paths down from the event loop. Some are much more frequent than others.
        const task = random(1 + random(TASKS));
        const depth = 4 + (task % 7 === 0 ? 26 : task % 11);
        for (let caller = number * 31 + task; path.length < depth; caller = path.at(-1)) {
          path.push((caller * 7 + 13 * (1 + (task + path.length) % 5)) % FUNCTIONS);
        }
        taskDepth = path.length;
      }
      // The stack changes at its leaf end.
      path.length = Math.max(taskDepth, path.length - random(3));
      for (let more = random(4); more > 0 && path.length < taskDepth + 6; more--) {
        path.push((path.at(-1) * 7 + [1, 1, 1, 2, 3][random(5)] * 13) % FUNCTIONS);
      }
      for (const frame of path) {
        stack = stackOf(stack, frame);
      }
    }
    const jitter = 960 + random(80);
    clock += i === 0 ? 2500 : jitter;
    data.time.push(i === 0 ? 2500 : jitter);
    data.stack.push(stack);
    data.activity.push(activity);
  }
  return {
    end: clock / 1000,
    eventLoop: {
      name: isWorker ? `Worker ${site}/js/worker-5.js` : `${site}/`, kind: isWorker ? "worker" : "page",
      documents: isWorker ? [] : realms.map(({ url }) => url), resources, realms, functions, frames, stacks,
      samples: data,
    },
  };
}

function nextActivity(activity, isWorker, random) {
  const chance = random(100);
  if (activity === IDLE) {
    return chance < 80 ? SCRIPT : OTHER;
  }
  if (activity === SCRIPT) {
    return chance < 25 ? GC : chance < 55 && !isWorker ? STYLE : chance < 90 ? IDLE : SCRIPT;
  }
  if (activity === GC) {
    return SCRIPT;
  }
  return { [STYLE]: LAYOUT, [LAYOUT]: PAINT, [PAINT]: chance < 60 ? IDLE : SCRIPT, [OTHER]: SCRIPT }[activity];
}

if (typeof require === "function" && require.main === module) {
  const [samples, eventLoops] = process.argv.slice(2).map(Number);
  process.stdout.write(JSON.stringify(generateRecording({ samples, eventLoops })));
}
