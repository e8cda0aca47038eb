/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Whether the tools that formats are for read our files, and find in them what is there:
// node check.mjs FOLDER, with what the example every_format wrote into it.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as devtools from "./devtools.mjs";
import * as firefox from "./firefox.mjs";
import { functionKey, isStackless, lineKey, readLabel, readName, withoutPlace } from "./labels.mjs";
import * as speedscope from "./speedscope.mjs";

const ANONYMOUS = "(anonymous";

const importProfiles = await speedscope.loadImporter();
const CPUProfileDataModel = await devtools.loadModel();

// Of each tool a check of each format that it reads.
const CHECKS = [
  [`speedscope ${speedscope.version}`, "speedscope", checkSpeedscope],
  [`speedscope ${speedscope.version}`, "cpuprofile", checkCpuprofileInSpeedscope],
  [`speedscope ${speedscope.version}`, "collapsed", checkCollapsed],
  [`speedscope ${speedscope.version}`, "collapsed-lines", checkCollapsedLines],
  [`DevTools ${devtools.version}`, "cpuprofile", checkCpuprofileInDevTools],
  ["the Firefox Profiler's format", "firefox", checkFirefox],
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

/** speedscope's own format: a profile for each event loop, whose weights are samples times the interval. */
async function checkSpeedscope(text, { file, interval, eventLoops }) {
  const profiles = await imported(file, text);
  same("profiles", profiles.length, eventLoops.length);
  profiles.forEach((profile, index) => {
    const expected = eventLoops[index];
    const place = `profile ${index}`;
    near(`${place}: total weight`, profile.getTotalWeight() / interval, expected.samples);
    const found = frames(profile, interval, ({ name, file, line, col }) =>
      isStackless(name) && file === undefined
        ? null
        : functionKey({ name: readName(name), resource: file, line, column: col }),
    );
    sameFunctions(place, found, expected.functions);
  });
}

/** speedscope gives each sample of a .cpuprofile the time until the next. */
async function checkCpuprofileInSpeedscope(text, { file, totals }) {
  const { nodes, samples, timeDeltas } = JSON.parse(text);
  same("samples", samples.length, totals.samples);
  if (samples.length < 2) {
    // There is no time in it, which the importer does not always take.
    return;
  }
  const [profile] = await imported(file, text);
  const found = frames(profile, 1, ({ name, file, line, col }) =>
    isStackless(name)
      ? null
      : functionKey({
          name: name.startsWith(ANONYMOUS) ? "" : readName(name),
          resource: file,
          line,
          column: col,
        }),
  );
  const times = new Map(nodes.map(({ id }) => [id, 0]));
  samples.forEach((id, index) => times.set(id, times.get(id) + (timeDeltas[index + 1] ?? 0)));
  const expected = [];
  const parents = new Map(nodes.flatMap(({ id, children = [] }) => children.map((child) => [child, id])));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  for (const [id, time] of times) {
    const keys = [];
    for (let at = id; at !== undefined; at = parents.get(at)) {
      keys.push(keyOfCallFrame(byId.get(at).callFrame));
    }
    for (const key of new Set(keys.filter((key) => key !== null))) {
      expected.push({ key, itself: key === keys[0] ? time : 0, total: time });
    }
  }
  sameFunctions("profile", found, expected);
}

async function checkCollapsed(text, expected) {
  const found = await framesOfCollapsed(text, expected, readLabel);
  sameFunctions("profile", found, expected.totals.functions);
}

/** A function is a frame for each line; one that calls itself from another line would be counted twice in all. */
async function checkCollapsedLines(text, expected) {
  const found = await framesOfCollapsed(text, expected, (name) => readLabel(withoutPlace(name)));
  sameFunctions("profile", found, expected.totals.functions, ["itself"]);
}

async function framesOfCollapsed(text, { file, totals, eventLoops }, keyOf) {
  if (text === "") {
    // No samples, no lines: speedscope takes an empty file for none.
    same("samples", totals.samples, 0);
    return new Map();
  }
  const [profile] = await imported(file, text);
  near("total weight", profile.getTotalWeight(), totals.samples);
  // Event loops are at the root, in brackets; functions with such names are written otherwise there.
  return frames(profile, 1, ({ name }) =>
    isStackless(name) || (eventLoops.length > 1 && isEventLoop(text, name)) ? null : keyOf(name),
  );
}

function isEventLoop(text, name) {
  return name.startsWith("[") && text.split("\n").some((line) => line.startsWith(`${name};`));
}

/** DevTools count in hits, and give each the same time. */
function checkCpuprofileInDevTools(text, { totals }) {
  const profile = JSON.parse(text);
  const model = new CPUProfileDataModel(profile);
  same("hits", model.totalHitCount, totals.samples);
  if (totals.samples === 0) {
    return;
  }
  const hit = (profile.endTime - profile.startTime) / 1000 / totals.samples;
  const found = new Map();
  const lines = new Map();
  const visit = (node, callers) => {
    const key = keyOfCallFrame(node.callFrame);
    if (key !== null) {
      for (const { line, ticks } of node.positionTicks ?? []) {
        const keyOfLine = lineKey(key, line);
        lines.set(keyOfLine, (lines.get(keyOfLine) ?? 0) + ticks);
      }
      const entry = entryOf(found, key);
      entry.itself += node.self / hit;
      entry.total += callers.includes(key) ? 0 : node.total / hit;
    }
    node.children.forEach((child) => visit(child, [...callers, key]));
  };
  visit(model.profileHead, []);
  sameFunctions("call tree", found, totals.functions);
  sameLines("call tree", lines, totals.lines);

  // What the flame chart is drawn from.
  const ofNodes = new Map();
  for (const id of model.samples) {
    ofNodes.set(id, (ofNodes.get(id) ?? 0) + 1);
  }
  for (const { id, hitCount } of profile.nodes) {
    same(`samples of node ${id}`, ofNodes.get(id) ?? 0, hitCount);
  }
}

function keyOfCallFrame({ functionName, url, lineNumber, columnNumber }) {
  if ((isStackless(functionName) || functionName === "(root)") && url === "") {
    return null;
  }
  return functionKey({
    name: readName(functionName),
    resource: url,
    line: lineNumber + 1,
    column: columnNumber + 1,
  });
}

function checkFirefox(text, { eventLoops }) {
  const profile = JSON.parse(text);
  firefox.check(profile);
  same("threads", profile.threads.length, eventLoops.length);
  for (const thread of profile.threads) {
    const expected = eventLoops[Number(thread.tid) - 1];
    const found = firefox.totals(thread);
    const place = `thread ${thread.tid}`;
    same(`${place}: samples`, found.samples, expected.samples);
    same(`${place}: samples with a stack`, found.withStack, expected.withStack);
    sameFunctions(place, found.functions, expected.functions);
    sameLines(place, found.lines, expected.lines);
  }
}

async function imported(file, text) {
  const profiles = await importProfiles(file, text);
  if (!profiles) {
    throw new Error("speedscope does not recognise it");
  }
  return profiles;
}

/** The weights of a speedscope profile's functions; those whose key is null are none. */
function frames(profile, unit, keyOf) {
  const found = new Map();
  profile.forEachFrame((frame) => {
    const key = keyOf(frame);
    if (key !== null) {
      const entry = entryOf(found, key);
      entry.itself += frame.getSelfWeight() / unit;
      entry.total += frame.getTotalWeight() / unit;
    }
  });
  return found;
}

function entryOf(functions, key) {
  if (!functions.has(key)) {
    functions.set(key, { itself: 0, total: 0 });
  }
  return functions.get(key);
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
