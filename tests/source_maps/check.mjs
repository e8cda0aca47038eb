/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Checks profiles of the programs: `node check.mjs FOLDER`, where `profiles.json` lists them with the program, the way in
// which each was made, its format, and what it must have. Where another tool reads the format, it does so here.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import * as devtools from "../formats/devtools.mjs";
import * as firefox from "../formats/firefox.mjs";
import { isStackless, lineKey, readLabel, withoutPlace } from "../formats/labels.mjs";
import * as speedscope from "../formats/speedscope.mjs";
import { entryOf } from "../formats/totals.mjs";
import * as viewer from "../formats/viewer.mjs";
import { PROGRAMS, scriptOf } from "./programs.mjs";
import { lineWith, oracleOf, problemOf } from "./written.mjs";

const MOST_SHOWN = 5;

const importProfiles = await speedscope.loadImporter();
const CPUProfileDataModel = await devtools.loadModel();
const folder = process.argv[2];
// A saved page whose viewer reads traces.
const { profiles, page } = JSON.parse(readFileSync(join(folder, "profiles.json"), "utf8"));
const viewerPage = readFileSync(join(folder, page), "utf8");

// Each gives the totals of functions and of lines, by their keys. Keys have definitions unless `hasDefinitions` is false.
const READERS = {
  collapsed: (file, text) => readCollapsed(file, text),
  "collapsed-lines": (file, text) => readCollapsed(file, text),
  cpuprofile: (_, text) => {
    const profile = JSON.parse(text);
    return devtools.totals(new CPUProfileDataModel(profile), profile);
  },
  firefox: (_, text) => {
    const profile = JSON.parse(text);
    firefox.check(profile);
    return firefox.totals(onlyOne(profile.threads), profile.shared);
  },
  html: (_, text) => viewer.totals(viewer.read(text)),
  speedscope: async (file, text) => {
    const profile = onlyOne(await importProfiles(file, text));
    return { functions: speedscope.totals(profile, 1, speedscope.keyOfFrame), lines: new Map() };
  },
  "speedscope-lines": (file, text) => readSpeedscopeLines(file, text),
  trace: (_, text) => viewer.totals(viewer.read(text, viewerPage)),
};

/** A frame is a function with the line that ran in it, if there is one. */
async function readCollapsed(file, text) {
  const functions = new Map();
  const lines = new Map();
  onlyOne(await importProfiles(file, text)).forEachFrame((frame) => {
    if (isStackless(frame.name)) {
      return;
    }
    const name = withoutPlace(frame.name);
    const key = readLabel(name);
    const entry = entryOf(functions, key);
    entry.itself += frame.getSelfWeight();
    entry.total += frame.getTotalWeight();
    const line = frame.name.slice(name.length + 1);
    if (line !== "") {
      const keyOfLine = lineKey(key, Number(line));
      lines.set(keyOfLine, (lines.get(keyOfLine) ?? 0) + frame.getSelfWeight());
    }
  });
  return { functions, lines };
}

/** A frame is a line of a function, or a function of which no line is known. */
async function readSpeedscopeLines(file, text) {
  const functions = new Map();
  const lines = new Map();
  onlyOne(await importProfiles(file, text)).forEachFrame((frame) => {
    const key = speedscope.keyOfFrame({ name: frame.name, file: frame.file });
    if (key === null) {
      return;
    }
    const entry = entryOf(functions, key);
    entry.itself += frame.getSelfWeight();
    entry.total += frame.getTotalWeight();
    if (frame.line !== undefined) {
      const keyOfLine = lineKey(key, frame.line);
      lines.set(keyOfLine, (lines.get(keyOfLine) ?? 0) + frame.getSelfWeight());
    }
  });
  return { functions, lines, hasDefinitions: false };
}

function onlyOne(list) {
  if (list.length !== 1) {
    throw new Error(`${list.length} event loops, not 1`);
  }
  return list[0];
}

/** The function of a key. `file` is the path in its URL. */
function functionOf(key) {
  const [name, resource, line, column] = JSON.parse(key);
  const file = URL.canParse(resource) ? new URL(resource).pathname.slice(1) : resource;
  return { name, file, line, column };
}

function shown({ name, file, line }) {
  return `${name || "(anonymous)"} at ${file}:${line}`;
}

/** The one with the most samples. */
function hottest(entries) {
  return entries.reduce((most, entry) => (most === null || entry.itself > most.itself ? entry : most), null);
}

function checkKnown(program, functions, hasDefinitions) {
  for (const { name, file, definition } of program.known) {
    const line = lineWith(file, definition);
    const samples = functions.find(
      (found) => found.name === name && found.file === file && (found.line === line || !hasDefinitions),
    )?.total;
    if (!(samples > 0)) {
      throw new Error(`no samples of ${shown({ name, file, line })}`);
    }
  }
  const [known] = program.known;
  const most = hottest(functions.filter(({ file }) => file !== ""));
  if (most.name !== known.name || most.file !== known.file) {
    throw new Error(`the function with the most samples is ${shown(most)}, not ${known.name}`);
  }
}

function checkHottestLine(program, lines) {
  const [known] = program.known;
  const line = lineWith(known.file, known.hottest);
  const most = hottest(lines);
  if (most?.file !== known.file || most.at !== line || most.name !== known.name) {
    const found = most === null ? "there are no lines" : `${shown(most)} has the hottest line, ${most.at}`;
    throw new Error(`${found}; it is not line ${line} of ${known.file}`);
  }
}

/** No function of the script is left, but what the bundler added, and every name was written where the function is. */
function checkAll(program, functions) {
  const oracle = oracleOf(program);
  const problems = [];
  let mapped = 0;
  for (const found of functions) {
    if (found.file === scriptOf(program)) {
      const original = found.line === 0 ? null : oracle(found);
      if (original !== null) {
        problems.push(`${shown(found)}: it is ${shown({ ...original, name: "a function" })}`);
      }
    } else if (found.file !== "" && found.file !== "page.js") {
      mapped += 1;
      const problem = problemOf(found);
      if (problem !== null) {
        problems.push(`${shown(found)}: ${problem}`);
      }
    }
  }
  if (problems.length > 0) {
    const more = problems.length > MOST_SHOWN ? [`and ${problems.length - MOST_SHOWN} more`] : [];
    throw new Error([...problems.slice(0, MOST_SHOWN), ...more].join("\n  "));
  }
  return mapped;
}

/** The recording without a map, which shows that the others have something to change. */
function checkGenerated(program, functions) {
  const script = scriptOf(program);
  const [known] = program.known;
  const most = hottest(functions.filter(({ file }) => file !== ""));
  const original = most.file === script ? oracleOf(program)(most) : null;
  if (original?.file !== known.file || original.line !== lineWith(known.file, known.definition)) {
    throw new Error(`the function with the most samples is ${shown(most)}, which is not ${known.name}`);
  }
  if (most.name === known.name) {
    throw new Error(`${known.name} is not minified`);
  }
  return functions.filter(({ file }) => file === script).length;
}

async function check({ program: name, file, format, isMapped, hasLines }) {
  const program = PROGRAMS.find((one) => one.name === name);
  const totals = await READERS[format](file, readFileSync(join(folder, file), "utf8"));
  const functions = [...totals.functions].map(([key, entry]) => ({ ...functionOf(key), ...entry }));
  if (!isMapped) {
    return checkGenerated(program, functions);
  }
  checkKnown(program, functions, totals.hasDefinitions ?? true);
  if (hasLines) {
    const lines = [...totals.lines].map(([key, itself]) => {
      const end = key.lastIndexOf(":");
      return { ...functionOf(key.slice(0, end)), at: Number(key.slice(end + 1)), itself };
    });
    checkHottestLine(program, lines);
  }
  return checkAll(program, functions);
}

const ways = new Map();
let failed = 0;
for (const profile of profiles) {
  const key = `${profile.program}: ${profile.way}`;
  const way = ways.get(key) ?? { passed: [], functions: 0 };
  ways.set(key, way);
  try {
    way.functions = Math.max(way.functions, await check(profile));
    way.passed.push(profile.label);
  } catch (error) {
    failed += 1;
    console.log(`${key}: ${profile.file}: ${error.message}`);
  }
}
let passed = 0;
for (const [key, way] of ways) {
  passed += way.passed.length;
  const formats = way.passed.join(", ") || "none";
  console.log(`${key}: ${way.passed.length} right, up to ${way.functions} functions: ${formats}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
