/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Checks that other tools read our files and find everything in them:
// `node check.mjs FOLDER`, where FOLDER has the output of the example every_format.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as devtools from "./devtools.mjs";
import * as firefox from "./firefox.mjs";
import { functionKey, isStackless, lineKey, readLabel, withoutPlace } from "./labels.mjs";
import * as profilerCli from "./profiler-cli.mjs";
import * as speedscope from "./speedscope.mjs";
import { entryOf } from "./totals.mjs";

const importProfiles = await speedscope.loadImporter();
const CPUProfileDataModel = await devtools.loadModel();

// For each tool a check of each format that it reads.
const CHECKS = [
  [`speedscope ${speedscope.version}`, "speedscope", checkSpeedscope],
  [`speedscope ${speedscope.version}`, "speedscope-lines", checkSpeedscopeLines],
  [`speedscope ${speedscope.version}`, "cpuprofile", checkCpuprofileInSpeedscope],
  [`speedscope ${speedscope.version}`, "collapsed", checkCollapsed],
  [`speedscope ${speedscope.version}`, "collapsed-lines", checkCollapsedLines],
  [`DevTools ${devtools.version}`, "cpuprofile", checkCpuprofileInDevTools],
  ["the Firefox Profiler's format", "firefox", checkFirefox],
  [`profiler-cli ${profilerCli.version}`, "firefox", checkFirefoxByItsOwnCode],
];

const folder = process.argv[2];
const files = JSON.parse(readFileSync(join(folder, "expected.json"), "utf8"));
let passed = 0;
let failed = 0;
for (const [tool, format, check] of CHECKS) {
  const ofFormat = files.filter((file) => file.format === format);
  let right = 0;
  let samples = 0;
  for (const expected of ofFormat) {
    const text = readFileSync(join(folder, expected.file), "utf8");
    try {
      await check(text, expected);
      right += 1;
      samples += expected.totals.samples;
    } catch (error) {
      console.log(`${tool}: ${expected.file}: ${error.message}`);
    }
  }
  passed += right;
  failed += ofFormat.length - right;
  console.log(`${tool}: ${format}: ${right} of ${ofFormat.length} files, ${samples} samples`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

async function checkSpeedscope(text, expected) {
  await forEachProfile(text, expected, (place, profile, { functions }) => {
    const found = speedscope.totals(profile, expected.interval, speedscope.keyOfFrame);
    sameFunctions(place, found, functions);
  });
}

/** The same with a frame for each line of a function. Frames of functions at one line are added up here. */
async function checkSpeedscopeLines(text, expected) {
  const keyOf = ({ name, file, line }) => speedscope.keyOfFrame({ name, file, line });
  await forEachProfile(text, expected, (place, profile, { functions, lines }) => {
    const found = speedscope.totals(profile, expected.interval, keyOf);
    const entries = [
      ...lines.map(({ name, resource, at, itself }) => ({ name, resource, line: at, itself, total: 0 })),
      // The samples of a function that are at no line.
      ...functions.map(({ name, resource, itself }) => ({ name, resource, itself, total: 0 })),
      ...lines.map(({ name, resource, itself }) => ({ name, resource, itself: -itself, total: 0 })),
    ];
    sameFunctions(place, found, entries, ["itself"]);
  });
}

/** speedscope's own format: a profile for each event loop, whose weights are samples times the interval. */
async function forEachProfile(text, { file, interval, eventLoops }, check) {
  const profiles = await imported(file, text);
  same("profiles", profiles.length, eventLoops.length);
  profiles.forEach((profile, index) => {
    const place = `profile ${index}`;
    near(`${place}: total weight`, profile.getTotalWeight() / interval, eventLoops[index].samples);
    check(place, profile, eventLoops[index]);
  });
}

/** speedscope gives each sample of a .cpuprofile the time until the next. */
async function checkCpuprofileInSpeedscope(text, { file, totals }) {
  const { nodes, samples, timeDeltas } = JSON.parse(text);
  // Entries of such a node are the time between samples.
  const gaps = new Set(nodes.filter(({ noSamples }) => noSamples).map(({ id }) => id));
  same("samples", samples.filter((id) => !gaps.has(id)).length, totals.samples);
  if (samples.length < 2) {
    // Such a profile covers no time, which the importer does not always accept.
    return;
  }
  const [profile] = await imported(file, text);
  const found = speedscope.totals(profile, 1, speedscope.keyOfCallFrame);
  const times = new Map(nodes.map(({ id }) => [id, 0]));
  // What is (program) is shown on the stack before it.
  const programTimes = new Map(nodes.map(({ id }) => [id, 0]));
  const program = nodes.find(({ callFrame }) => callFrame.functionName === "(program)")?.id;
  let shown = null;
  samples.forEach((id, index) => {
    const time = timeDeltas[index + 1] ?? 0;
    times.set(id, times.get(id) + time);
    if (id !== program) {
      shown = id;
    } else if (shown !== null) {
      programTimes.set(shown, programTimes.get(shown) + time);
    }
  });
  const expected = [];
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const [id, time] of times) {
    const keys = [];
    for (let at = id; at !== undefined; at = parents.get(at)) {
      keys.push(devtools.keyOfCallFrame(byId.get(at).callFrame));
    }
    for (const key of new Set(keys.filter((key) => key !== null))) {
      expected.push({ key, itself: key === keys[0] ? time : 0, total: time + programTimes.get(id) });
    }
  }
  sameFunctions("profile", found, expected);
}

async function checkCollapsed(text, expected) {
  const found = await framesOfCollapsed(text, expected, readLabel);
  sameFunctions("profile", found, expected.totals.functions);
}

/** A function has a frame for each line. One that calls itself from another line would be counted twice in its total. */
async function checkCollapsedLines(text, expected) {
  const found = await framesOfCollapsed(text, expected, (name) => readLabel(withoutPlace(name)));
  sameFunctions("profile", found, expected.totals.functions, ["itself"]);
}

async function framesOfCollapsed(text, { file, totals, eventLoops }, keyOf) {
  if (text === "") {
    // Without samples there are no lines, and speedscope does not recognise an empty file.
    same("samples", totals.samples, 0);
    return new Map();
  }
  const [profile] = await imported(file, text);
  near("total weight", profile.getTotalWeight(), totals.samples);
  // Event loops are at the root, in brackets. A function with such a name is written in another way there.
  return speedscope.totals(profile, 1, ({ name }) =>
    isStackless(name) || (eventLoops.length > 1 && isEventLoop(text, name)) ? null : keyOf(name),
  );
}

function isEventLoop(text, name) {
  return name.startsWith("[") && text.split("\n").some((line) => line.startsWith(`${name};`));
}

/** DevTools count hits, and give each the same time. */
function checkCpuprofileInDevTools(text, { totals }) {
  const profile = JSON.parse(text);
  const model = new CPUProfileDataModel(profile);
  same("hits", model.totalHitCount, totals.samples);
  if (totals.samples === 0) {
    return;
  }
  const { functions, lines } = devtools.totals(model, profile);
  sameFunctions("call tree", functions, totals.functions);
  sameLines("call tree", lines, totals.lines);

  // The flame chart is drawn from these. A single (program) between two stacks with the same root is shown as the first one.
  const count = (ids) => ids.reduce((counts, id) => counts.set(id, (counts.get(id) ?? 0) + 1), new Map());
  const shown = count(model.samples);
  const entries = count(JSON.parse(text).samples);
  for (const { id, hitCount, noSamples, callFrame } of profile.nodes) {
    const ofNode = entries.get(id) ?? 0;
    if (!noSamples) {
      same(`samples of node ${id}`, ofNode, hitCount);
    }
    const isRight = callFrame.functionName === "(program)" ? (shown.get(id) ?? 0) <= ofNode : shown.get(id) >= ofNode;
    same(`node ${id} is shown`, ofNode === 0 || isRight, true);
  }
  same("samples that are shown", model.samples.length, profile.samples.length);
}

function checkFirefox(text, { eventLoops }) {
  const profile = JSON.parse(text);
  firefox.check(profile);
  same("threads", profile.threads.length, eventLoops.length);
  for (const thread of profile.threads) {
    // Samples are in the order of their times.
    const expected = eventLoops[Number(thread.tid) - 1];
    const found = firefox.totals(thread, profile.shared);
    const place = `thread ${thread.tid}`;
    same(`${place}: samples`, found.samples, expected.samples);
    same(`${place}: samples with a stack`, found.withStack, expected.withStack);
    sameFunctions(place, found.functions, expected.functions);
    sameLines(place, found.lines, expected.lines);
  }
}

/** The front end's own code: the samples of each function. */
function checkFirefoxByItsOwnCode(text, { file, eventLoops }) {
  const { shared, threads } = JSON.parse(text);
  const keys = firefox.keysOfFunctions(shared);
  const all = profilerCli.functionsOfThreads(join(folder, file));
  same("threads", all.length, threads.length);
  for (const [index, functions] of all.entries()) {
    const found = new Map();
    const several = new Set();
    for (const { functionIndex, name, selfSamples, totalSamples } of functions) {
      // What is before the last ! is taken for a library.
      const own = shared.stringArray[shared.funcTable.name[functionIndex]];
      same(`the end of the name of function ${functionIndex}`, own.endsWith(name), true);
      const key = keys[functionIndex];
      if (key === null) {
        continue;
      }
      if (found.has(key)) {
        several.add(key);
      }
      const entry = entryOf(found, key);
      entry.itself += selfSamples;
      entry.total += totalSamples;
    }
    const { functions: expected } = eventLoops[Number(threads[index].tid) - 1];
    sameFunctions(`thread ${index}`, found, expected, ["itself"]);
    // Functions of several kinds may have one name and place, and may call each other.
    const isOne = (key) => !several.has(key);
    const ofOne = [...found].filter(([key]) => isOne(key));
    sameFunctions(`thread ${index}`, new Map(ofOne), expected.filter((entry) => isOne(functionKey(entry))), ["total"]);
  }
}

async function imported(file, text) {
  const profiles = await importProfiles(file, text);
  if (!profiles) {
    throw new Error("speedscope does not recognise it");
  }
  return profiles;
}

function sameFunctions(place, found, expectedFunctions, members = ["itself", "total"]) {
  const expected = new Map();
  for (const { key, itself, total, ...place } of expectedFunctions) {
    const entry = entryOf(expected, key ?? functionKey(place));
    entry.itself += itself;
    entry.total += total;
  }
  for (const key of new Set([...found.keys(), ...expected.keys()])) {
    for (const member of members) {
      near(`${place}: ${key}: ${member}`, found.get(key)?.[member] ?? 0, expected.get(key)?.[member] ?? 0);
    }
  }
}

function sameLines(place, found, expectedLines) {
  const expected = new Map();
  for (const { at, itself, ...definition } of expectedLines) {
    const key = lineKey(functionKey(definition), at);
    expected.set(key, (expected.get(key) ?? 0) + itself);
  }
  for (const key of new Set([...found.keys(), ...expected.keys()])) {
    same(`${place}: line ${key}`, found.get(key), expected.get(key));
  }
}

function same(what, found, expected) {
  if (found !== expected) {
    throw new Error(`${what}: ${found}, not ${expected}`);
  }
}

/** Sums of weights are not exact. */
function near(what, found, expected) {
  if (!(Math.abs(found - expected) <= 1e-6 * Math.max(1, expected))) {
    throw new Error(`${what}: ${found}, not ${expected}`);
  }
}
