/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// How many of the samples that pass the filters each line has. `self` counts samples that were executing on the line.
// `total` also counts samples in functions that were called from the line. The time of a hidden frame belongs to the
// line that led to it.
//
// A place is a function with a line and a column, with several lines of which it is one, or with an offset in a WebAssembly
// module.
strobe.lines = (() => {
  // In characters. In a longer line only the column says where something is.
  const LONG_LINE = 300;

  // What is calculated once for a recording, for its call nodes, and for its totals.
  /** @type {WeakMap<Recording, Places>} */
  const placesByRecording = new WeakMap();
  /** @type {WeakMap<CallNodes, Int32Array[]>} */
  const shownByNodes = new WeakMap();
  /** @type {WeakMap<CallNodes, { start: Int32Array, loop: Int32Array, stack: Int32Array }>} */
  const stacksByNodes = new WeakMap();
  /** @type {WeakMap<Totals, ({ self: Float64Array, total: Float64Array } | null)[]>} */
  const weightsByTotals = new WeakMap();

  /** @template {object} K @template V @param {WeakMap<K, V>} map @param {K} key @param {() => V} make @returns {V} */
  function once(map, key, make) {
    let value = map.get(key);
    if (value === undefined) {
      value = make();
      map.set(key, value);
    }
    return value;
  }

  // The places of a recording: { count, func[], line[], last[], column[], offset[], ofFrame: per event loop the place of each
  // frame }. If it is one of several lines, `line` is the first and `last` the last of them. If not, `last` is 0.
  /** @param {Recording} recording @returns {Places} */
  function places(recording) {
    return once(placesByRecording, recording, () => {
      const ids = new Map();
      /** @type {Places} */
      const result = { ofFrame: [], count: 0, func: [], line: [], last: [], column: [], offset: [] };
      result.ofFrame = recording.loops.map(loop => loop.frameFunction.map((func, frame) => {
        const [column, offset, last] = [loop.frameColumn[frame], loop.frameOffset[frame], loop.frameLastLine[frame]];
        const line = last > 0 ? loop.frameFirstLine[frame] : loop.frameLine[frame];
        const key = `${func}:${line}:${last}:${column}:${offset}`;
        let id = ids.get(key);
        if (id === undefined) {
          id = result.count++;
          ids.set(key, id);
          result.func.push(func);
          result.line.push(line);
          result.last.push(last);
          result.column.push(column);
          result.offset.push(offset);
        }
        return id;
      }));
      return result;
    });
  }

  /** @param {Pick<Places, "line" | "offset">} value @param {number} place */
  function isKnown({ line, offset }, place) {
    return line[place] > 0 || offset[place] >= 0;
  }

  // For each event loop and each of its stacks, the innermost stack whose frame is shown: the stack itself, one of its
  // callers, or -1.
  /** @param {Totals} totals */
  function shownStacks({ recording, nodes }) {
    return once(shownByNodes, nodes, () => recording.loops.map(({ stackParent }, l) => {
      const ofStack = nodes.ofStack[l];
      const shown = new Int32Array(stackParent.length);
      for (let stack = 0; stack < shown.length; stack++) {
        const parent = stackParent[stack];
        // A frame that is not shown has no node: its stack has that of the caller.
        const isShown = ofStack[stack] !== (parent < 0 ? -1 : ofStack[parent]);
        shown[stack] = isShown ? stack : parent < 0 ? -1 : shown[parent];
      }
      return shown;
    }));
  }

  // Per event loop the samples of each shown stack: { self, total }, or null if it is left out.
  /** @param {Totals} totals @returns {({ self: Float64Array, total: Float64Array } | null)[]} */
  function weights(totals) {
    return once(weightsByTotals, totals, () => totals.recording.loops.map((loop, l) => {
      const { filter, counted, nodes } = totals;
      if (!filter.loops[l]) {
        return null;
      }
      const shown = shownStacks(totals)[l];
      const ofStack = nodes.ofStack[l];
      const { sampleStack, sampleIntervals, stackParent } = loop;
      const self = new Float64Array(stackParent.length);
      const [first, end] = strobe.totals.samplesWithin(loop, filter.range);
      for (let i = first; i < end; i++) {
        const stack = sampleStack[i];
        if (stack >= 0 && shown[stack] >= 0 && counted[ofStack[stack]]) {
          self[shown[stack]] += sampleIntervals ? sampleIntervals[i] : 1;
        }
      }
      const total = self.slice();
      for (let stack = stackParent.length - 1; stack >= 0; stack--) {
        if (stackParent[stack] >= 0) {
          total[stackParent[stack]] += total[stack];
        }
      }
      return { self, total };
    }));
  }

  // Adds up the samples of labels. `labelsOf` takes the index of an event loop, and returns a function that takes a
  // stack and returns its label, or -1. It returns null if no stack of the event loop has a label. `add` is called with
  // a label and its weights, self and total. A sample counts once for a label, however often the label is on the stack.
  /**
   * @param {Totals} totals
   * @param {(l: number) => ((stack: number) => number) | null} labelsOf
   * @param {(label: number, self: number, total: number) => void} add
   */
  function weigh(totals, labelsOf, add) {
    totals.recording.loops.forEach(({ stackParent }, l) => {
      const weight = weights(totals)[l];
      const labelOf = weight && labelsOf(l);
      if (!labelOf) {
        return;
      }
      const shown = shownStacks(totals)[l];
      const labels = new Int32Array(stackParent.length);
      // For each stack, the innermost stack that has a label.
      const nearest = new Int32Array(stackParent.length);
      for (let stack = 0; stack < labels.length; stack++) {
        const parent = stackParent[stack];
        let above = parent < 0 ? -1 : nearest[parent];
        const label = shown[stack] === stack ? labelOf(stack) : -1;
        labels[stack] = label;
        nearest[stack] = label < 0 ? above : stack;
        if (label >= 0) {
          while (above >= 0 && labels[above] !== label) {
            above = stackParent[above] < 0 ? -1 : nearest[stackParent[above]];
          }
          add(label, weight.self[stack], above < 0 ? weight.total[stack] : 0);
        }
      }
    });
  }

  // The samples of each label of places: { self, total }. `labels` is an Int32Array per place, -1 for none.
  /** @param {Totals} totals @param {Int32Array} labels @param {number} labelCount */
  function ofPlaces(totals, labels, labelCount) {
    const { ofFrame } = places(totals.recording);
    const { loops } = totals.recording;
    const self = new Float64Array(labelCount);
    const total = new Float64Array(labelCount);
    weigh(totals, l => {
      const ofFrames = ofFrame[l].map(place => labels[place]);
      const { stackFrame } = loops[l];
      return ofFrames.some(label => label >= 0) ? stack => ofFrames[stackFrame[stack]] : null;
    }, (label, own, all) => {
      self[label] += own;
      total[label] += all;
    });
    return { self, total };
  }

  // The known places of the functions that are wanted: the ids, by lines, column and offset.
  /** @param {Recording} recording @param {(func: number) => boolean} isWanted */
  function placesWhere(recording, isWanted) {
    const all = places(recording);
    const ids = [];
    for (let place = 0; place < all.count; place++) {
      if (isKnown(all, place) && isWanted(all.func[place])) {
        ids.push(place);
      }
    }
    return ids.sort((a, b) => (
      all.line[a] - all.line[b] || all.last[a] - all.last[b] || all.column[a] - all.column[b]
      || all.offset[a] - all.offset[b] || a - b));
  }

  /** @param {Recording} recording @param {number} resource */
  function ofResource(recording, resource) {
    const { resources } = recording.functions;
    return placesWhere(recording, func => resources[func] === resource);
  }

  // The lines of a function that have samples, the hottest first: [{ place, label, self, total }]. If a line has
  // samples at several columns, each column counts as a line.
  /** @param {Totals} totals @param {number} func */
  function ofFunction(totals, func) {
    const all = places(totals.recording);
    const ids = placesWhere(totals.recording, one => one === func);
    const labels = new Int32Array(all.count).fill(-1);
    ids.forEach((place, i) => { labels[place] = i; });
    const { self, total } = ofPlaces(totals, labels, ids.length);
    const rows = ids.map((place, i) => ({ place, self: self[i], total: total[i] })).filter(row => row.total > 0);
    const columns = new Map();
    for (const { place } of rows.filter(row => all.last[row.place] === 0)) {
      columns.set(all.line[place], (columns.get(all.line[place]) ?? 0) + 1);
    }
    const labelled = rows.map(row => ({ ...row, label: label(all, row.place, (columns.get(all.line[row.place]) ?? 0) > 1) }));
    return labelled.sort((a, b) => b.self - a.self || b.total - a.total || a.place - b.place);
  }

  // The places from which a function is called, and the places from which it calls others: { callers, callees }. For
  // each caller and callee they have the places of the calls, [{ place, weight }], the heaviest first.
  /** @param {Totals} totals @param {number} func */
  function calls(totals, func) {
    const { recording } = totals;
    const { ofFrame } = places(recording);
    const shown = shownStacks(totals);
    const ids = new Map();
    /** @type {{ caller: number, callee: number, place: number, weight: number }[]} */
    const found = [];
    weigh(totals, l => {
      const { frameFunction, stackFrame, stackParent } = recording.loops[l];
      return stack => {
        const above = stackParent[stack] < 0 ? -1 : shown[l][stackParent[stack]];
        const callee = frameFunction[stackFrame[stack]];
        const caller = above < 0 ? -1 : frameFunction[stackFrame[above]];
        if (caller < 0 || (caller !== func && callee !== func)) {
          return -1;
        }
        const place = ofFrame[l][stackFrame[above]];
        const key = place * recording.functions.total + callee;
        let id = ids.get(key);
        if (id === undefined) {
          id = found.length;
          ids.set(key, id);
          found.push({ caller, callee, place, weight: 0 });
        }
        return id;
      };
    }, (id, _self, total) => { found[id].weight += total; });
    /** @type {{ callers: Map<number, WeightOfPlace[]>, callees: Map<number, WeightOfPlace[]> }} */
    const result = { callers: new Map(), callees: new Map() };
    /** @type {(map: Map<number, WeightOfPlace[]>, other: number, call: WeightOfPlace) => void} */
    const add = (map, other, call) => { map.set(other, [...map.get(other) ?? [], call]); };
    found.filter(({ place, weight }) => weight > 0 && isKnown(places(recording), place))
      .sort((a, b) => b.weight - a.weight || a.place - b.place)
      .forEach(({ caller, callee, place, weight }) => {
        if (callee === func) {
          add(result.callers, caller, { place, weight });
        }
        if (caller === func) {
          add(result.callees, callee, { place, weight });
        }
      });
    return result;
  }

  // The places in a node's caller from which it is called: [{ place, weight }], the heaviest first.
  /** @param {Totals} totals @param {number} node */
  function callsOfNode(totals, node) {
    const { recording } = totals;
    const shown = shownStacks(totals);
    const found = new Map();
    const { start, loop, stack } = stacksOfNodes(totals);
    for (let at = start[node]; at < start[node + 1]; at++) {
      const l = loop[at];
      const { stackParent, stackFrame } = recording.loops[l];
      const parent = stackParent[stack[at]];
      const above = parent < 0 ? -1 : shown[l][parent];
      const weight = weights(totals)[l]?.total[stack[at]] ?? 0;
      if (above >= 0 && weight > 0) {
        const place = places(recording).ofFrame[l][stackFrame[above]];
        found.set(place, (found.get(place) ?? 0) + weight);
      }
    }
    return heaviestFirst(recording, found);
  }

  /** @param {Recording} recording @param {Map<number, number>} weightOfPlace */
  function heaviestFirst(recording, weightOfPlace) {
    return [...weightOfPlace].map(([place, weight]) => ({ place, weight }))
      .filter(({ place }) => isKnown(places(recording), place))
      .sort((a, b) => b.weight - a.weight || a.place - b.place);
  }

  // The shown stacks of node n are `loop[at]` and `stack[at]`, for `at` from `start[n]` to `start[n + 1]`.
  /** @param {Totals} totals */
  function stacksOfNodes(totals) {
    return once(stacksByNodes, totals.nodes, () => {
      const { nodes } = totals;
      const shown = shownStacks(totals);
      const start = new Int32Array(nodes.count + 1);
      /** @type {(visit: (node: number, l: number, stack: number) => void) => void} */
      const each = visit => nodes.ofStack.forEach((ofStack, l) => {
        for (let stack = 0; stack < ofStack.length; stack++) {
          if (shown[l][stack] === stack) {
            visit(ofStack[stack], l, stack);
          }
        }
      });
      each(node => { start[node + 1]++; });
      for (let node = 0; node < nodes.count; node++) {
        start[node + 1] += start[node];
      }
      const next = start.slice();
      const loop = new Int32Array(start[nodes.count]);
      const stack = new Int32Array(start[nodes.count]);
      each((node, l, one) => {
        loop[next[node]] = l;
        stack[next[node]++] = one;
      });
      return { start, loop, stack };
    });
  }

  // Where a node was in a sample: { place, isLeaf }; null if the node is not on the sample's path.
  /** @param {Totals} totals @param {number} l @param {number} index @param {number} node */
  function inSample(totals, l, index, node) {
    const { recording, nodes } = totals;
    const { sampleStack, stackParent, stackFrame } = recording.loops[l];
    const shown = shownStacks(totals)[l];
    const leaf = sampleStack[index] < 0 ? -1 : shown[sampleStack[index]];
    let stack = leaf;
    while (stack >= 0 && nodes.ofStack[l][stack] !== node) {
      stack = stackParent[stack] < 0 ? -1 : shown[stackParent[stack]];
    }
    return stack < 0 ? null : { place: places(recording).ofFrame[l][stackFrame[stack]], isLeaf: stack === leaf };
  }

  // Where a node was in the samples of a stretch of time: [{ place, weight }], the heaviest first.
  /** @param {Totals} totals @param {number} node @param {Span} span */
  function within(totals, node, [from, to]) {
    const { recording, filter } = totals;
    const found = new Map();
    recording.loops.forEach((loop, l) => {
      if (!filter.loops[l]) {
        return;
      }
      const ofStack = new Map();
      const [first, end] = strobe.totals.samplesWithin(loop, [from, to]);
      for (let i = first; i < end; i++) {
        const stack = loop.sampleStack[i];
        if (!ofStack.has(stack)) {
          ofStack.set(stack, inSample(totals, l, i, node)?.place ?? -1);
        }
        const place = ofStack.get(stack);
        if (place >= 0) {
          found.set(place, (found.get(place) ?? 0) + (loop.sampleIntervals ? loop.sampleIntervals[i] : 1));
        }
      }
    });
    return heaviestFirst(recording, found);
  }

  // A line as people write it: 12, 12:5, 4–9 for one of several or, in a WebAssembly module, 0x1f3. Empty if it is not known. A
  // long line always has its column.
  /** @param {Places} places @param {number} place @param {boolean} withColumn */
  function label({ line, last, column, offset }, place, withColumn) {
    if (offset[place] >= 0) {
      return strobe.format.offset(offset[place]);
    }
    if (last[place] > 0) {
      return strobe.format.lines(line[place], last[place]);
    }
    const isFarOut = column[place] > LONG_LINE;
    return line[place] > 0 ? strobe.format.line(line[place], withColumn || isFarOut ? column[place] : 0) : "";
  }

  // The same in a sentence: “line 12, column 5”, “one of the lines 4–9” or “offset 0x1f3”.
  /** @param {Recording} recording @param {number} place */
  function sentence(recording, place) {
    const { line, last, column, offset } = places(recording);
    if (offset[place] >= 0) {
      return `offset ${strobe.format.offset(offset[place])}`;
    }
    if (last[place] > 0) {
      return `one of the lines ${strobe.format.lines(line[place], last[place])}`;
    }
    return line[place] > 0 ? `line ${line[place]}${column[place] > 0 ? `, column ${column[place]}` : ""}` : "";
  }

  // The places of calls in a few words: “line 12”, “lines 12, 15 and 3 more”. Empty if there are none.
  /** @param {Recording} recording @param {WeightOfPlace[]} found @param {number} most */
  function summary(recording, found, most) {
    const all = places(recording);
    // If there are several lines, the columns within a line are left out.
    const isOneLine = new Set(found.map(({ place }) => all.line[place])).size === 1 && all.line[found[0].place] > 0;
    const labels = [...new Set(found.map(({ place }) => label(all, place, isOneLine && found.length > 1)))];
    const isRange = found.some(({ place }) => all.last[place] > 0);
    if (!labels.length) {
      return "";
    }
    const noun = all.offset[found[0].place] >= 0 ? "offset" : "line";
    const rest = labels.length > most ? ` and ${labels.length - most} more` : "";
    return `${noun}${labels.length > 1 || isRange ? "s" : ""} ${labels.slice(0, most).join(", ")}${rest}`;
  }

  return {
    LONG_LINE, places, isKnown, ofPlaces, ofResource, ofFunction, calls, callsOfNode, inSample, within, label, sentence, summary,
  };
})();
