/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// How much of the time of samples that pass a filter each node and each function of a call tree has, in intervals. A sample
// counts as many intervals as it is worth. `self` counts the samples that end there, and `total` those that pass through.
// `samples` has the same as numbers of samples. Unless samples are worth times of their own, these are the same.
strobe.totals = (() => {
  const { IDLE, UNKNOWN_ACTIVITY, lowerBound } = strobe.recording;

  // The samples of an event loop within a range of time: the first index, and the index after the last one.
  /** @param {Loop} loop @param {Span | null} range @returns {Span} */
  function samplesWithin(loop, range) {
    return range
      ? [lowerBound(loop.sampleTime, range[0]), lowerBound(loop.sampleTime, range[1])]
      : [0, loop.sampleCount];
  }

  // The node of a sample: -1 if nothing of its stack is shown.
  /** @param {Loop} loop @param {Int32Array} ofStack @param {number} index */
  function nodeOfSample(loop, ofStack, index) {
    const stack = loop.sampleStack[index];
    return stack < 0 ? loop.sampleActivity[index] : ofStack[stack];
  }

  // For each node, whether it counts. The filter can leave out nodes of activities.
  //
  // An event loop that did nothing has no stack. If activities were not recorded, nothing else says that it was idle.
  /** @param {CallNodes} nodes @param {Filter} filter */
  function countedNodes(nodes, filter) {
    const counted = filter.nodes ? filter.nodes.slice() : new Uint8Array(nodes.count).fill(1);
    if (!filter.idle) {
      counted[IDLE] = 0;
      counted[UNKNOWN_ACTIVITY] = 0;
    }
    if (!filter.stackless) {
      counted.fill(0, 0, strobe.recording.ACTIVITY_COUNT);
    }
    return counted;
  }

  // `filter` is { loops: a Uint8Array with an element for each event loop, range: [from, to] in ms or null, idle:
  // whether idle samples count, stackless: whether samples without a stack count, nodes: a Uint8Array that says which
  // nodes count, or null for all }.
  /** @param {Recording} recording @param {CallNodes} nodes @param {Filter} filter @returns {Totals} */
  function compute(recording, nodes, filter) {
    const { isTimed } = recording;
    const self = new Float64Array(nodes.count);
    const selfSamples = isTimed ? new Float64Array(nodes.count) : self;
    const counted = countedNodes(nodes, filter);
    let shown = 0;
    let shownSamples = 0;
    recording.loops.forEach((loop, l) => {
      if (!filter.loops[l]) {
        return;
      }
      const ofStack = nodes.ofStack[l];
      const { sampleStack, sampleActivity, sampleIntervals, sampleWeight } = loop;
      const [first, end] = samplesWithin(loop, filter.range);
      for (let i = first; i < end; i++) {
        const stack = sampleStack[i];
        const node = stack < 0 ? sampleActivity[i] : ofStack[stack];
        if (node >= 0 && counted[node]) {
          const weight = sampleIntervals ? sampleIntervals[i] : 1;
          const samples = sampleWeight ? sampleWeight[i] : 1;
          self[node] += weight;
          shown += weight;
          shownSamples += samples;
          if (isTimed) {
            selfSamples[node] += samples;
          }
        }
      }
    });
    const sums = sumsOf(recording, nodes, self);
    const samples = isTimed ? sumsOf(recording, nodes, selfSamples) : sums;
    return {
      recording, nodes, filter, counted, shown, ...sums, samples: { shown: shownSamples, ...samples },
      sortedChildren: new Map(),
    };
  }

  // The sums of nodes, functions and resources, by what nodes have by themselves.
  /** @param {Recording} recording @param {CallNodes} nodes @param {Float64Array} self */
  function sumsOf(recording, nodes, self) {
    const total = self.slice();
    for (let node = nodes.count - 1; node >= 0; node--) {
      const caller = nodes.parent[node];
      if (caller >= 0) {
        total[caller] += total[node];
      }
    }
    const { functions } = recording;
    const functionSelf = new Float64Array(functions.total);
    const functionTotal = new Float64Array(functions.total);
    const resourceSelf = new Float64Array(nodes.resourceNames.length);
    const resourceTotal = new Float64Array(nodes.resourceNames.length);
    for (let node = 0; node < nodes.count; node++) {
      const id = nodes.func[node];
      const resource = nodes.resourceOf[id];
      functionSelf[id] += self[node];
      resourceSelf[resource] += self[node];
      if (nodes.isOutermost[node]) {
        functionTotal[id] += total[node];
      }
      if (nodes.isOutermostOfResource[node]) {
        resourceTotal[resource] += total[node];
      }
    }
    return { self, total, functionSelf, functionTotal, resourceSelf, resourceTotal };
  }

  // The children of a node (-1: the roots) that have samples, the heaviest first.
  /** @param {Totals} totals @param {number} node */
  function children(totals, node) {
    let result = totals.sortedChildren.get(node);
    if (!result) {
      const { nodes, total } = totals;
      result = [];
      for (let child = node < 0 ? nodes.firstRoot : nodes.firstChild[node]; child >= 0; child = nodes.sibling[child]) {
        if (total[child] > 0) {
          result.push(child);
        }
      }
      // Equal ones stay in the order in which they were found.
      result.sort((a, b) => total[b] - total[a] || a - b);
      totals.sortedChildren.set(node, result);
    }
    return result;
  }

  /** @param {Totals} totals @param {number} node */
  function hasChildren(totals, node) {
    const { nodes, total } = totals;
    for (let child = nodes.firstChild[node]; child >= 0; child = nodes.sibling[child]) {
      if (total[child] > 0) {
        return true;
      }
    }
    return false;
  }

  // The inverted tree. A root is a function in which samples end, and the rows below it are its callers. The weight of
  // a row is that of the root's self samples that came through the row. The total of a root is that of its
  // function. In the rows below, the total equals the weight, because they stand only for those samples. The nodes of a
  // root are found when it is opened.
  /** @param {Totals} totals */
  function invertedRoots(totals) {
    const { functionSelf, functionTotal, samples } = totals;
    /** @type {InvertedRow[]} */
    const roots = [];
    for (let id = 0; id < functionSelf.length; id++) {
      if (functionSelf[id] > 0) {
        roots.push({
          func: id, nodes: null, weights: null, counts: null, weight: functionSelf[id], total: functionTotal[id],
          samples: samples.functionSelf[id], totalSamples: samples.functionTotal[id],
        });
      }
    }
    return sortRows(roots);
  }

  /** @param {Totals} totals @param {InvertedRow} row */
  function endsOf({ nodes, self, samples }, row) {
    row.nodes ??= [...strobe.callNodes.of(nodes, row.func).filter(node => self[node] > 0)];
    row.weights ??= row.nodes.map(node => self[node]);
    row.counts ??= row.nodes.map(node => samples.self[node]);
    return { ends: row.nodes, weights: row.weights, counts: row.counts };
  }

  /** @param {Totals} totals @param {InvertedRow} row */
  function invertedChildren(totals, row) {
    const { nodes } = totals;
    const groups = new Map();
    const { ends, weights, counts } = endsOf(totals, row);
    ends.forEach((node, i) => {
      const caller = nodes.parent[node];
      if (caller < 0) {
        return;
      }
      const id = nodes.func[caller];
      let group = groups.get(id);
      if (!group) {
        group = { func: id, nodes: [], weights: [], counts: [], weight: 0, total: 0, samples: 0, totalSamples: 0 };
        groups.set(id, group);
      }
      group.nodes.push(caller);
      group.weights.push(weights[i]);
      group.weight += weights[i];
      group.total += weights[i];
      group.counts.push(counts[i]);
      group.samples += counts[i];
      group.totalSamples += counts[i];
    });
    return sortRows([...groups.values()]);
  }

  /** @param {Totals} totals @param {InvertedRow} row */
  function hasInvertedChildren(totals, row) {
    const { nodes, self } = totals;
    if (row.nodes) {
      return row.nodes.some(node => nodes.parent[node] >= 0);
    }
    return strobe.callNodes.of(nodes, row.func).some(node => self[node] > 0 && nodes.parent[node] >= 0);
  }

  /** @template {{ weight: number, func: number }} T @param {T[]} rows */
  function sortRows(rows) {
    return rows.sort((a, b) => b.weight - a.weight || a.func - b.func);
  }

  // The callers and the callees of a function: [{ func, weight }], the heaviest first. The weight counts each sample
  // once in which the one called the other. The caller is -1 if the function has none.
  /** @param {Totals} totals @param {number} id */
  function callers(totals, id) {
    const { nodes, total } = totals;
    return grouped(strobe.callNodes.of(nodes, id), node => {
      const caller = nodes.parent[node];
      const from = caller < 0 ? -1 : nodes.func[caller];
      return calledBefore(nodes, caller, from, id) ? null : [from, total[node]];
    });
  }

  /** @param {Totals} totals @param {number} id */
  function callees(totals, id) {
    const { nodes, total } = totals;
    const calls = [];
    for (const node of strobe.callNodes.of(nodes, id)) {
      for (let child = nodes.firstChild[node]; child >= 0; child = nodes.sibling[child]) {
        calls.push(child);
      }
    }
    return grouped(calls, child => {
      const callee = nodes.func[child];
      return calledBefore(nodes, nodes.parent[child], id, callee) ? null : [callee, total[child]];
    });
  }

  // Whether `from` already calls `to` on the path to a node.
  /** @param {CallNodes} nodes @param {number} node @param {number} from @param {number} to */
  function calledBefore(nodes, node, from, to) {
    for (; node >= 0; node = nodes.parent[node]) {
      const caller = nodes.parent[node];
      if (nodes.func[node] === to && (caller < 0 ? -1 : nodes.func[caller]) === from) {
        return true;
      }
    }
    return false;
  }

  /** @param {Iterable<number>} items @param {(item: number) => [number, number] | null} weigh */
  function grouped(items, weigh) {
    const weights = new Map();
    for (const item of items) {
      const weighed = weigh(item);
      if (weighed && weighed[1] > 0) {
        weights.set(weighed[0], (weights.get(weighed[0]) ?? 0) + weighed[1]);
      }
    }
    return sortRows([...weights].map(([func, weight]) => ({ func, weight })));
  }

  // The node of a function that has the most samples.
  /** @param {Totals} totals @param {number} id */
  function heaviestNode(totals, id) {
    let best = -1;
    for (const node of strobe.callNodes.of(totals.nodes, id)) {
      if (totals.total[node] > 0 && (best < 0 || totals.total[node] > totals.total[best])) {
        best = node;
      }
    }
    return best;
  }

  return {
    samplesWithin, nodeOfSample, compute, children, hasChildren, invertedRoots, invertedChildren, hasInvertedChildren,
    callers, callees, heaviestNode,
  };
})();
