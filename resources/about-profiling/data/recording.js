/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A recording in memory: viewer data (version 2) decoded into typed arrays, with one table of functions,
// resources and realms for all event loops, so that a function is the same wherever it ran. A frame is a function and
// the place in it that was executing or calling. Each event loop has its own frames.
strobe.recording = (() => {
  const VERSION = 2;
  const { KINDS, ANONYMOUS, Functions } = strobe.functions;
  /**
   * @typedef {object} Tables
   * @property {Recording} recording
   * @property {InstanceType<typeof Functions>} functions
   * @property {Interner} resources
   * @property {Interner} realms
   */
  // A bit for each kind.
  const ALL_KINDS = (1 << KINDS.length) - 1;
  const ACTIVITY_COUNT = strobe.palette.ACTIVITIES.length;
  const UNKNOWN_ACTIVITY = ACTIVITY_COUNT - 1;
  const IDLE = 0;
  // The greatest line, column or offset.
  const MAX_NUMBER = 2 ** 32 - 1;
  // In milliseconds.
  const TIMED_STEP = 0.01;
  // The reasons why samples were missed, in the order of their numbers.
  const MISSED_REASONS = [
    "sampler late",
    "no processor for the thread",
    "thread in the kernel",
    "walks before too long",
    "stack too deep",
    "on another stack",
  ];
  const MOST_ENGINES = 16;
  /** @type {Record<string, RegExp>} */
  const KIND_IN_NAME = { page: /^Page /, worker: /^Worker / };

  // The recording in viewer data or in a web trace.
  /** @param {any} data @param {string} name @returns {Recording} */
  function decode(data, name = "") {
    if (strobe.webTrace.isWebTrace(data)) {
      data = strobe.webTrace.toViewerData(data);
    }
    if (!isObject(data) || !("processes" in data)) {
      throw new Error("this is neither viewer data nor the trace of a web page");
    }
    if (data.version !== VERSION) {
      throw new Error(`version: ${JSON.stringify(data.version) ?? "nothing"} is not ${VERSION}, the version that this page reads`);
    }
    if (!(Number.isFinite(data.interval) && data.interval > 0)) {
      throw new Error(`interval: ${JSON.stringify(data.interval)} is not a number of milliseconds above 0`);
    }
    const functions = new Functions();
    const resources = new Interner();
    const realms = new Interner();
    /** @type {Recording} */
    const recording = {
      name, interval: data.interval, timeOrigin: data.timeOrigin ?? null,
      // The program that recorded it and then its engines, as texts with their versions. Empty if that is unknown.
      recordedBy: decodeRecordedBy(data.recordedBy ?? null),
      processes: [], loops: [], functions, resources: resources.values, realms: [],
      // The texts of scripts that the recording has, by the index of their resource: { text, line, column }. The line
      // and the column say where the text begins. Scripts with the same URL and different texts are different
      // resources.
      sources: new Map(),
      start: Infinity, end: -Infinity, weight: 0, sampleCount: 0,
      // Whether samples are worth times of their own. If not, each is worth one interval for each sample that it stands
      // for.
      isTimed: false,
      // Whether it is two recordings that are to be compared.
      isComparison: false,
      // Times of samples are shown with digits that tell multiples of it apart, in milliseconds.
      step: data.interval,
    };
    array(data.processes, "processes").forEach((process, p) => {
      const place = `processes[${p}]`;
      const index = recording.processes.length;
      recording.processes.push({
        index, name: text(process.name, `${place}.name`), label: "", pid: process.pid ?? null,
        ended: process.ended ?? null, loops: [],
      });
      array(process.eventLoops, `${place}.eventLoops`).forEach((source, l) => {
        const loop = decodeLoop(source, `${place}.eventLoops[${l}]`, { recording, functions, resources, realms });
        Object.assign(loop, { index: recording.loops.length, process: index });
        recording.processes[index].loops.push(loop.index);
        recording.loops.push(loop);
        recording.weight += loop.weight;
        recording.isTimed ||= loop.sampleWorth !== null;
        recording.sampleCount += loop.sampleCount;
        if (loop.sampleCount) {
          recording.start = Math.min(recording.start, loop.sampleTime[0]);
          recording.end = Math.max(recording.end, endOfLast(loop, data.interval));
        }
      });
      const { ended } = recording.processes[index];
      if (ended !== null) {
        recording.end = Math.max(recording.end, ended);
      }
    });
    recording.isComparison = data.comparison === true && recording.processes.length === 2;
    recording.step = recording.isTimed ? TIMED_STEP : recording.interval;
    if (!(recording.start <= recording.end)) {
      recording.start = 0;
      recording.end = recording.interval;
    }
    for (const process of recording.processes) {
      process.label = process.name || (process.pid === null ? `process ${process.index + 1}` : `process ${process.pid}`);
    }
    for (const loop of recording.loops) {
      loop.label = loopLabel(loop);
      loop.isIdle = isIdle(loop);
    }
    functions.finish(recording.resources);
    return recording;
  }

  /** @param {any} program */
  function decodeRecordedBy(program) {
    if (program === null) {
      return [];
    }
    /** @type {(one: any, place: string) => string} */
    const decodeProgram = (one, place) => {
      if (!isObject(one)) {
        throw new Error(`${place}: this is not a program`);
      }
      const name = text(one.name, `${place}.name`);
      const version = text(one.version ?? "", `${place}.version`);
      return strobe.format.program({ name, version });
    };
    const recordedBy = decodeProgram(program, "recordedBy");
    const engines = array(program.engines ?? [], "recordedBy.engines");
    if (engines.length > MOST_ENGINES) {
      throw new Error(`recordedBy.engines: more than ${MOST_ENGINES} engines`);
    }
    return [recordedBy, ...engines.map((engine, i) => decodeProgram(engine, `recordedBy.engines[${i}]`))];
  }

  /** @param {any} source @param {string} place @param {Tables} tables @returns {Loop} */
  function decodeLoop(source, place, { recording, functions, resources, realms }) {
    const ownResources = array(source.resources, `${place}.resources`).map(url => resources.add(url, url));
    const ownRealms = array(source.realms, `${place}.realms`).map(realm => {
      const origin = realm.origin ?? null;
      const id = realms.add(`${origin}\n${realm.url}`, realm);
      recording.realms[id] ??= { url: realm.url, origin };
      return id;
    });
    const ownSources = decodeSources(source.sources ?? [], `${place}.sources`, { recording, resources });

    const ownFunctions = source.functions ?? {};
    const functionCount = array(ownFunctions.name, `${place}.functions.name`).length;
    /** @type {(key: string) => number[]} */
    const own = key => numbers(ownFunctions[key], functionCount, `${place}.functions.${key}`);
    const [kind, resource, line, column, realm] = ["kind", "resource", "line", "column", "realm"].map(own);
    const ownSource = ownFunctions.source === undefined ? null : own("source");
    const generated = decodeGenerated(ownFunctions.generated, functionCount, source.resources, `${place}.functions.generated`);
    const functionIds = new Int32Array(functionCount);
    const functionRealm = new Int32Array(functionCount);
    for (let i = 0; i < functionCount; i++) {
      /** @type {(key: string) => string} */
      const at = key => `${place}.functions.${key}[${i}]`;
      const resourceId = idIn(resource[i], ownResources.length, () => at("resource"));
      const realmId = idIn(realm[i], ownRealms.length, () => at("realm"));
      if (!(kind[i] >= 0 && kind[i] < KINDS.length)) {
        throw new Error(`${at("kind")}: ${kind[i]} is not a kind of function`);
      }
      functionRealm[i] = realmId < 0 ? -1 : ownRealms[realmId];
      const sourceId = ownSource ? idIn(ownSource[i], ownSources.length, () => at("source")) : -1;
      const global = sourceId >= 0 ? ownSources[sourceId] : resourceId < 0 ? -1 : ownResources[resourceId];
      const name = text(ownFunctions.name[i], at("name"));
      functionIds[i] = functions.add(name, kind[i], global, line[i], column[i], functionRealm[i]);
      if (generated[i]) {
        functions.generated[functionIds[i]].add(generated[i]);
      }
    }

    const frames = decodeFrames(source.frames ?? {}, functionCount, `${place}.frames`);
    const frameCount = frames.own.length;
    const frameFunction = frames.own.map(i => functionIds[i]);
    const frameKind = Uint8Array.from(frames.own, i => kind[i]);
    const frameRealm = frames.own.map(i => functionRealm[i]);

    const stacks = source.stacks ?? {};
    const stackCount = array(stacks.frame, `${place}.stacks.frame`).length;
    const stackParent = Int32Array.from(numbers(stacks.parent, stackCount, `${place}.stacks.parent`));
    const stackFrame = Int32Array.from(stacks.frame);
    for (let i = 0; i < stackCount; i++) {
      if (!(stackParent[i] >= -1 && stackParent[i] < i)) {
        throw new Error(`${place}.stacks.parent[${i}]: ${stackParent[i]} is not a stack before it`);
      }
      if (!(stackFrame[i] >= 0 && stackFrame[i] < frameCount)) {
        throw new Error(`${place}.stacks.frame[${i}]: ${stacks.frame[i]} is not one of the ${frameCount} frames`);
      }
    }

    const samples = source.samples ?? {};
    const sampleCount = array(samples.time, `${place}.samples.time`).length;
    const deltas = samples.time;
    const sampleStack = Int32Array.from(numbers(samples.stack, sampleCount, `${place}.samples.stack`));
    const activities = numbers(samples.activity, sampleCount, `${place}.samples.activity`);
    const weights = samples.weight === undefined ? null
      : Float64Array.from(numbers(samples.weight, sampleCount, `${place}.samples.weight`));
    // In milliseconds; null if each is worth one interval for each sample that it stands for.
    const worths = samples.worth === undefined ? null
      : Float64Array.from(numbers(samples.worth, sampleCount, `${place}.samples.worth`), worth => worth / 1e6);
    const sampleTime = new Float64Array(sampleCount);
    const sampleActivity = new Uint8Array(sampleCount);
    let clock = 0;
    let weight = 0;
    for (let i = 0; i < sampleCount; i++) {
      if (!(deltas[i] >= 0 || i === 0)) {
        throw new Error(`${place}.samples.time[${i}]: ${deltas[i]} goes back in time`);
      }
      clock += deltas[i];
      sampleTime[i] = clock / 1000;
      if (!(sampleStack[i] >= -1 && sampleStack[i] < stackCount)) {
        throw new Error(`${place}.samples.stack[${i}]: ${sampleStack[i]} is not one of the ${stackCount} stacks`);
      }
      const activity = activities[i];
      if (!(activity >= -1 && activity < UNKNOWN_ACTIVITY)) {
        throw new Error(`${place}.samples.activity[${i}]: ${activity} is not an activity`);
      }
      sampleActivity[i] = activity < 0 ? UNKNOWN_ACTIVITY : activity;
      weight += weights ? weights[i] : 1;
      if (worths && !(worths[i] >= 0 && Number.isFinite(worths[i]))) {
        throw new Error(`${place}.samples.worth[${i}]: ${samples.worth[i]} is not a number of nanoseconds`);
      }
    }
    if (!Number.isFinite(clock)) {
      throw new Error(`${place}.samples.time: not all entries are numbers`);
    }
    return {
      // These four are set when the loop has its place among the others.
      index: -1, process: -1, label: "", isIdle: false,
      name: text(source.name, `${place}.name`), kind: source.kind ?? "unknown", documents: source.documents ?? [],
      frameFunction, frameKind, frameRealm, stackParent, stackFrame,
      // The line and the column are 1-based; 0 if they are not known. The offset is that in a WebAssembly module, or
      // -1. If a frame is somewhere in several lines, it has the first and the last of them instead; 0 for all others.
      frameLine: frames.line, frameColumn: frames.column, frameOffset: frames.offset,
      frameFirstLine: frames.firstLine, frameLastLine: frames.lastLine,
      sampleCount, sampleTime, sampleStack, sampleActivity, sampleWeight: weights, weight,
      // How many intervals each sample is worth; null if it is one for each. Views add these up.
      sampleWorth: worths, sampleIntervals: worths ? worths.map(worth => worth / recording.interval) : weights,
      missed: source.missed === undefined ? null : decodeMissed(source.missed, `${place}.missed`),
    };
  }

  // The stretches in which samples were missed, in the order of time. If there were several reasons, there is a stretch
  // for each. Null if the data does not have them.
  /** @param {any} missed @param {string} place @returns {MissedTable} */
  function decodeMissed(missed, place) {
    const count = array(missed?.start, `${place}.start`).length;
    /** @type {(key: string) => number[]} */
    const column = key => numbers(missed[key], count, `${place}.${key}`);
    const [start, end, samples, why] = ["start", "end", "samples", "why"].map(column);
    for (let i = 0; i < count; i++) {
      /** @type {(key: string) => string} */
      const at = key => `${place}.${key}[${i}]`;
      if (!(Number.isFinite(start[i]) && start[i] >= 0)) {
        throw new Error(`${at("start")}: ${start[i]} is not a time`);
      }
      if (!(Number.isFinite(end[i]) && end[i] >= start[i])) {
        throw new Error(`${at("end")}: ${end[i]} is before ${start[i]}, its start`);
      }
      const isSame = i > 0 && start[i] === start[i - 1] && end[i] === end[i - 1];
      if (i > 0 && !isSame && start[i] < end[i - 1]) {
        throw new Error(`${at("start")}: ${start[i]} is before ${end[i - 1]}, the end of the stretch before it`);
      }
      numberFrom(1, samples[i], () => at("samples"));
      if (!(Number.isInteger(why[i]) && why[i] >= 0 && why[i] < MISSED_REASONS.length)) {
        throw new Error(`${at("why")}: ${why[i]} is not a reason`);
      }
    }
    /** @type {(times: number[]) => Float64Array} */
    const milliseconds = times => Float64Array.from(times, time => time / 1000);
    return {
      count, start: milliseconds(start), end: milliseconds(end), samples: Uint32Array.from(samples), why: Uint8Array.from(why),
    };
  }

  // The resource of each text.
  /** @param {any} texts @param {string} place @param {Pick<Tables, "recording" | "resources">} tables */
  function decodeSources(texts, place, { recording, resources }) {
    return array(texts, place).map((one, i) => {
      /** @type {(key: string) => string} */
      const at = key => `${place}[${i}].${key}`;
      if (!isObject(one)) {
        throw new Error(`${place}[${i}]: this is not the text of a script`);
      }
      const name = text(one.name, at("name"));
      const value = text(one.text, at("text"));
      numberFrom(1, one.line, () => at("line"));
      numberFrom(1, one.column, () => at("column"));
      const id = resources.add(`${name}\n${one.line}:${one.column}\n${value}`, name);
      recording.sources.set(id, { text: value, line: one.line, column: one.column });
      return id;
    });
  }

  // For each function that a source map has renamed, its name and place in the script that ran. Empty for other
  // functions.
  /** @param {any} generated @param {number} count @param {string[]} urls @param {string} place */
  function decodeGenerated(generated, count, urls, place) {
    if (generated === undefined) {
      return [];
    }
    /** @type {(key: string) => number[]} */
    const column = key => numbers(generated[key], count, `${place}.${key}`);
    const [resource, line, columns] = ["resource", "line", "column"].map(column);
    return Array.from({ length: count }, (_, i) => {
      const id = idIn(resource[i], urls.length, () => `${place}.resource[${i}]`);
      const name = text(generated.name?.[i], `${place}.name[${i}]`);
      return id < 0 ? "" : `${name || ANONYMOUS} ${strobe.format.place(urls[id], line[i], columns[i])}`;
    });
  }

  // `own` is the index of each frame's function in the table of its event loop.
  /** @param {any} frames @param {number} functionCount @param {string} place */
  function decodeFrames(frames, functionCount, place) {
    const count = array(frames.function, `${place}.function`).length;
    /** @type {(key: string) => number[]} */
    const column = key => numbers(frames[key], count, `${place}.${key}`);
    const [line, columns] = [column("line"), column("column")];
    const offset = frames.offset === undefined ? null : column("offset");
    const [firstLine, lastLine] = ["firstLine", "lastLine"].map(key => (
      frames[key] === undefined ? new Uint32Array(count) : column(key)));
    for (let i = 0; i < count; i++) {
      /** @type {(key: string) => string} */
      const at = key => `${place}.${key}[${i}]`;
      if (idIn(frames.function[i], functionCount, () => at("function")) < 0) {
        throw new Error(`${at("function")}: a frame without a function`);
      }
      numberFrom(0, line[i], () => at("line"));
      numberFrom(0, columns[i], () => at("column"));
      if (offset) {
        numberFrom(-1, offset[i], () => at("offset"));
      }
      numberFrom(0, firstLine[i], () => at("firstLine"));
      numberFrom(0, lastLine[i], () => at("lastLine"));
      const isAbsent = firstLine[i] === 0 && lastLine[i] === 0;
      if (!isAbsent && !(firstLine[i] > 0 && firstLine[i] < lastLine[i] && line[i] === 0)) {
        throw new Error(`${at("lastLine")}: not the last of several lines, or there is a line, too`);
      }
    }
    return {
      own: Int32Array.from(frames.function), line: Uint32Array.from(line), column: Uint32Array.from(columns),
      offset: offset ? Float64Array.from(offset) : new Float64Array(count).fill(-1),
      firstLine: Uint32Array.from(firstLine), lastLine: Uint32Array.from(lastLine),
    };
  }

  // Until when the last sample of an event loop stands for what it did. `strobe.gaps.endOf` says it of the others.
  /** @param {Loop} loop @param {number} interval */
  function endOfLast({ sampleCount, sampleTime, sampleWorth, sampleWeight }, interval) {
    const last = sampleCount - 1;
    return sampleTime[last] + (sampleWorth ? sampleWorth[last] : interval * (sampleWeight ? sampleWeight[last] : 1));
  }

  // Whether it did nothing at all.
  /** @param {Loop} loop */
  function isIdle({ sampleStack, sampleActivity }) {
    return sampleStack.every(stack => stack < 0)
      && sampleActivity.every(activity => activity === IDLE || activity === UNKNOWN_ACTIVITY);
  }

  /** @param {Loop} loop */
  function loopLabel(loop) {
    if (loop.name) {
      // The name without the kind, which is shown beside it, and without the scheme, which is the same for most.
      const name = loop.name.replace(KIND_IN_NAME[loop.kind] ?? "", "") || loop.name;
      return name.replace(/\bhttps?:\/\/(?=[^/\s])/, "").replace(/(?<=\w)\/$/, "");
    }
    if (loop.documents.length) {
      return strobe.format.fileName(loop.documents[0]);
    }
    return loop.kind === "unknown" ? `event loop ${loop.index + 1}` : `${loop.kind} ${loop.index + 1}`;
  }

  class Interner {
    /** @type {any[]} */
    values = [];
    /** @type {Map<string, number>} */
    #ids = new Map();

    /** @param {string} key @param {any} value */
    add(key, value) {
      let id = this.#ids.get(key);
      if (id === undefined) {
        id = this.values.length;
        this.#ids.set(key, id);
        this.values.push(value);
      }
      return id;
    }
  }

  /** @param {any} value */
  function isObject(value) {
    return typeof value === "object" && value !== null;
  }

  /** @param {any} value @param {string} place @returns {any[]} */
  function array(value, place) {
    if (!Array.isArray(value)) {
      throw new Error(`${place}: this is not a list`);
    }
    return value;
  }

  /** @param {any} value @param {number} length @param {string} place @returns {number[]} */
  function numbers(value, length, place) {
    if (!Array.isArray(value) || value.length !== length) {
      throw new Error(`${place}: this is not a list of ${length} numbers`);
    }
    return value;
  }

  /** @param {any} value @param {string} place @returns {string} */
  function text(value, place) {
    if (typeof value !== "string") {
      throw new Error(`${place}: ${JSON.stringify(value) ?? "nothing"} is not a text`);
    }
    return value;
  }

  /** @param {number} id @param {number} length @param {() => string} place */
  function idIn(id, length, place) {
    if (!(Number.isInteger(id) && id >= -1 && id < length)) {
      throw new Error(`${place()}: ${id} is not one of the ${length} there are`);
    }
    return id;
  }

  /** @param {number} least @param {number} number @param {() => string} place */
  function numberFrom(least, number, place) {
    if (!(Number.isInteger(number) && number >= least && number <= MAX_NUMBER)) {
      throw new Error(`${place()}: ${number} is not between ${least} and ${MAX_NUMBER}`);
    }
  }

  // The first index from `low` on whose time is at or after `time`.
  /** @param {ArrayLike<number>} times @param {number} time @param {number} low @param {number} high */
  function lowerBound(times, time, low = 0, high = times.length) {
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (times[middle] < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  return { ALL_KINDS, MISSED_REASONS, IDLE, UNKNOWN_ACTIVITY, ACTIVITY_COUNT, decode, lowerBound };
})();
