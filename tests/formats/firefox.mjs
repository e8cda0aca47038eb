/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Checks what the Firefox Profiler takes for granted about a processed profile. `profiler-cli.mjs` runs its own code, which
// does not say what it takes for granted:
// https://github.com/firefox-devtools/profiler/blob/main/docs-developer/processed-profile-format.md

import { functionKey, isStackless, lineKey, readName, readPathless } from "./labels.mjs";

const VERSION = 70;

// https://github.com/firefox-devtools/profiler/blob/main/src/utils/colors.ts
const COLORS = new Set([
  "transparent",
  "lightblue",
  "red",
  "lightred",
  "orange",
  "blue",
  "green",
  "purple",
  "yellow",
  "brown",
  "magenta",
  "lightgreen",
  "gray",
  "grey",
  "darkgray",
  "darkgrey",
]);

const LOCATIONS = new Set([
  "marker-chart",
  "marker-table",
  "timeline-overview",
  "timeline-memory",
  "timeline-ipc",
  "timeline-fileio",
  "stack-chart",
]);

const INSTANT = 0;
const INTERVAL = 1;

/** Throws an Error with the place where the profile is wrong. */
export function check(profile) {
  const { meta, shared, threads } = profile;
  ensure(meta.preprocessedProfileVersion === VERSION, "meta.preprocessedProfileVersion");
  for (const name of ["interval", "startTime", "processType", "version"]) {
    ensure(Number.isFinite(meta[name]), `meta.${name}`);
  }
  ensure(meta.interval > 0, "meta.interval");
  ensure(typeof meta.product === "string", "meta.product");
  // https://github.com/firefox-devtools/profiler/blob/main/src/profile-logic/profile-metainfo.ts
  ensure(meta.misc === undefined || /^rv:./.test(meta.misc), "meta.misc");
  for (const { label, entries } of meta.extra ?? []) {
    ensure(typeof label === "string" && entries.length > 0, "meta.extra");
    // Each is an element with its label as the key.
    ensure(new Set(entries.map((entry) => entry.label)).size === entries.length, "meta.extra: a label is there twice");
    ensure(
      entries.every(({ format, value }) => format === "string" && typeof value === "string"),
      "meta.extra: not a text",
    );
  }
  for (const name of ["libs", "pages"]) {
    ensure(Array.isArray(profile[name]), name);
  }
  checkCategories(meta.categories);
  const schemas = checkSchemas(meta.markerSchema);
  for (const index of [...(meta.initialVisibleThreads ?? []), ...(meta.initialSelectedThreads ?? [])]) {
    ensure(index in threads, "meta.initial…Threads");
  }
  const tids = threads.map(({ tid }) => tid);
  ensure(new Set(tids).size === tids.length, "a tid is there twice");
  checkShared(shared, meta.categories);
  threads.forEach((thread, index) => checkThread(thread, shared, meta.categories, schemas, `threads[${index}]`));
}

function checkCategories(categories) {
  for (const [index, { name, color, subcategories }] of categories.entries()) {
    const place = `meta.categories[${index}]`;
    ensure(typeof name === "string" && name !== "", `${place}.name`);
    ensure(COLORS.has(color), `${place}.color: ${color}`);
    // The first subcategory is for samples without one.
    ensure(subcategories[0] === "Other", `${place}.subcategories`);
  }
  const names = categories.map(({ name }) => name);
  ensure(new Set(names).size === names.length, "a category is there twice");
  // The front end looks for these.
  ensure(names.includes("Other") && categories.some(({ color }) => color === "grey"), "meta.categories: no Other");
}

function checkSchemas(list) {
  const schemas = new Map();
  for (const schema of list) {
    const place = `meta.markerSchema, ${schema.name}`;
    ensure(!schemas.has(schema.name), `${place}: twice`);
    ensure(
      schema.display.every((location) => LOCATIONS.has(location)),
      `${place}.display`,
    );
    for (const { key, label, format } of schema.fields) {
      ensure(typeof key === "string" && typeof label === "string" && typeof format === "string", `${place}.fields`);
    }
    // Labels name fields.
    for (const label of [schema.tableLabel, schema.chartLabel, schema.tooltipLabel]) {
      for (const [, key] of (label ?? "").matchAll(/\{marker\.data\.(\w+)\}/g)) {
        ensure(
          schema.fields.some((field) => field.key === key),
          `${place}: ${label}`,
        );
      }
    }
    schemas.set(schema.name, schema);
  }
  return schemas;
}

function checkShared(shared, categories) {
  const { stackTable, frameTable, funcTable, resourceTable, nativeSymbols, stringArray } = shared;
  const { sources, sourceLocationTable } = shared;
  ensure(
    stringArray.every((string) => typeof string === "string"),
    "shared.stringArray",
  );
  const table = (value, name, columns) => checkColumns(value, columns, `shared.${name}`);
  const isString = isIndexOf(stringArray.length);
  const isWhole = (value) => Number.isInteger(value);
  const isFlag = (value) => typeof value === "boolean";
  const isNone = (value) => value === -1;
  table(stackTable, "stackTable", {
    frame: isIndexOf(frameTable.length),
    prefixOffset: (value, index) => Number.isInteger(value) && value >= 0 && value <= index,
  });
  table(frameTable, "frameTable", {
    address: isWhole,
    lib: isNone,
    inlineDepth: isWhole,
    category: orNull(isIndexOf(categories.length)),
    subcategory: orNull((value, index) =>
      isIndexOf(categories[frameTable.category[index]].subcategories.length)(value),
    ),
    func: isIndexOf(funcTable.length),
    nativeSymbol: orNull(isIndexOf(nativeSymbols.length)),
    innerWindowID: orNull(isWhole),
    line: orNull(isWhole),
    column: orNull(isWhole),
    originalLocation: orNull(isIndexOf(sourceLocationTable.length)),
  });
  table(funcTable, "funcTable", {
    name: isString,
    isJS: isFlag,
    relevantForJS: isFlag,
    resource: (value) => value === -1 || isIndexOf(resourceTable.length)(value),
    source: orNull(isIndexOf(sources.length)),
    lineNumber: orNull(isWhole),
    columnNumber: orNull(isWhole),
    originalLocation: orNull(isIndexOf(sourceLocationTable.length)),
  });
  table(sources, "sources", {
    id: (value) => value === null,
    filename: isString,
    startLine: isWhole,
    startColumn: isWhole,
    sourceMapURL: orNull(isString),
    content: orNull((value) => typeof value === "string"),
  });
  table(sourceLocationTable, "sourceLocationTable", {
    source: isIndexOf(sources.length),
    line: isWhole,
    column: orNull(isWhole),
  });
  table(resourceTable, "resourceTable", { name: isString, host: orNull(isString), type: isWhole });
  table(nativeSymbols, "nativeSymbols", {});
}

function checkThread(thread, { stackTable, stringArray }, categories, schemas, place) {
  const { samples, markers } = thread;
  ensure(typeof thread.pid === "string", `${place}.pid`);
  ensure(["string", "number"].includes(typeof thread.tid), `${place}.tid`);
  for (const name of ["name", "processName", "processType"]) {
    ensure(typeof thread[name] === "string", `${place}.${name}`);
  }
  ensure(typeof thread.isMainThread === "boolean", `${place}.isMainThread`);
  ensure(Array.isArray(thread.pausedRanges), `${place}.pausedRanges`);
  for (const [start, end] of [
    ["registerTime", "unregisterTime"],
    ["processStartupTime", "processShutdownTime"],
  ]) {
    ensure(Number.isFinite(thread[start]), `${place}.${start}`);
    ensure(thread[end] === null || thread[end] >= thread[start], `${place}.${end}`);
  }
  const isTimed = samples.weightType === "tracing-ms";
  ensure(isTimed || samples.weightType === "samples", `${place}.samples.weightType`);
  const isWeight = isTimed ? (value) => value >= 0 : (value) => Number.isInteger(value) && value > 0;
  const columns = {
    stack: orNull(isIndexOf(stackTable.length)),
    timeDeltas: (value) => value >= 0,
    weight: isWeight,
    threadCPUDelta: orNull((value) => value >= 0),
  };
  checkColumns(samples, columns, `${place}.samples`);
  checkMarkers(markers, categories, schemas, isIndexOf(stringArray.length), `${place}.markers`);
}

function checkMarkers(markers, categories, schemas, isString, place) {
  const isTime = orNull((value) => Number.isFinite(value) && value >= 0);
  checkColumns(
    markers,
    {
      name: isString,
      category: isIndexOf(categories.length),
      phase: (value) => value === INSTANT || value === INTERVAL,
      startTime: isTime,
      endTime: isTime,
      data: (value) => schemas.has(value.type),
    },
    place,
  );
  for (const [index, phase] of markers.phase.entries()) {
    const [start, end] = [markers.startTime[index], markers.endTime[index]];
    ensure(start !== null, `${place}.startTime[${index}]`);
    // The end of an instant does not matter.
    ensure(phase === INSTANT || end >= start, `${place}.endTime[${index}]`);
    const data = markers.data[index];
    for (const { key, format } of schemas.get(data.type).fields) {
      const isRight = ["unique-string", "flow-id"].includes(format)
        ? isString
        : (value) => (format === "integer" ? Number.isInteger(value) : typeof value === "string");
      ensure(isRight(data[key]), `${place}.data[${index}].${key}: ${data[key]} (${format})`);
    }
  }
}

function checkColumns(table, columns, place) {
  ensure(Number.isInteger(table.length), `${place}.length`);
  for (const [name, isRight] of Object.entries(columns)) {
    const column = table[name];
    ensure(Array.isArray(column), `${place}.${name}`);
    ensure(column.length === table.length, `${place}.${name} has ${column.length} entries for ${table.length}`);
    const wrong = column.findIndex((value, index) => !isRight(value, index));
    ensure(wrong === -1, `${place}.${name}[${wrong}]: ${column[wrong]}`);
  }
}

function isIndexOf(length) {
  return (value) => Number.isInteger(value) && value >= 0 && value < length;
}

function orNull(isRight) {
  return (value, index) => value === null || isRight(value, index);
}

function ensure(isRight, place) {
  if (!isRight) {
    throw new Error(place);
  }
}

/** The keys of functions, by their original places if they have any. Those of samples without a stack are null. */
export function keysOfFunctions({ funcTable, sources, sourceLocationTable, stringArray }) {
  return funcTable.name.map((name, func) => {
    const text = stringArray[name];
    if (isStackless(text) && !funcTable.isJS[func] && !funcTable.relevantForJS[func]) {
      return null;
    }
    const original = funcTable.originalLocation[func];
    const [source, line, column] =
      original === null
        ? [funcTable.source[func], funcTable.lineNumber[func], funcTable.columnNumber[func]]
        : ["source", "line", "column"].map((member) => sourceLocationTable[member][original]);
    if (source === null) {
      return readPathless(text);
    }
    return functionKey({
      name: readName(text),
      resource: stringArray[sources.filename[source]],
      line: line ?? 0,
      column: column ?? 0,
    });
  });
}

/** The line of a frame. A built line says nothing about the original file. */
function lineOf({ frameTable, funcTable, sourceLocationTable }, frame) {
  const original = frameTable.originalLocation[frame];
  if (original !== null) {
    return sourceLocationTable.line[original];
  }
  return funcTable.originalLocation[frameTable.func[frame]] === null ? frameTable.line[frame] : null;
}

/** A thread's totals, as the front end's call tree and its view of a source count them. */
export function totals({ samples }, shared) {
  const { stackTable, frameTable } = shared;
  // For each stack its functions, each once. Parents come before their children.
  const keys = keysOfFunctions(shared);
  const functions = new Map();
  const lines = new Map();
  let all = 0;
  let withStack = 0;
  samples.stack.forEach((stack, index) => {
    const weight = samples.weight[index];
    all += weight;
    const onStack = [];
    for (let at = stack; at !== null; at = callerOf(stackTable, at)) {
      onStack.push(keys[frameTable.func[stackTable.frame[at]]]);
    }
    if (onStack.length === 0 || onStack[0] === null) {
      return;
    }
    withStack += weight;
    const line = lineOf(shared, stackTable.frame[stack]);
    if (line !== null) {
      const key = lineKey(onStack[0], line);
      lines.set(key, (lines.get(key) ?? 0) + weight);
    }
    for (const key of new Set(onStack)) {
      const entry = functions.get(key) ?? { itself: 0, total: 0 };
      entry.total += weight;
      entry.itself += key === onStack[0] ? weight : 0;
      functions.set(key, entry);
    }
  });
  return { samples: all, withStack, functions, lines };
}

function callerOf({ prefixOffset }, stack) {
  return prefixOffset[stack] === 0 ? null : stack - prefixOffset[stack];
}
