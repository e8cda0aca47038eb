/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// data/call-nodes.js and data/totals.js: the call tree, and what its nodes have of the samples.

import assert from "node:assert/strict";
import test from "node:test";

import { dataOf, everything, functionsOf, nodesOf, strobe } from "./page.mjs";

const { callNodes, totals } = strobe;

// Stacks: 0 a, 1 a b, 2 a b a, 3 c. At 0, 1, 2, 3 and 4 ms they were sampled once each, and then nothing of a stack.
function recorded() {
  return strobe.recording.decode(dataOf({
    ...functionsOf("a", "b", "c"),
    stacks: { parent: [-1, 0, 1, -1], frame: [0, 1, 0, 2] },
    samples: { time: [0, 1000, 1000, 1000, 1000], stack: [0, 1, 2, 3, -1], activity: [1, 1, 1, 1, 4] },
  }));
}

function names({ functions }, nodes, list) {
  return list.map((node) => functions.labels[nodes.func[node]]);
}

function computed(change = {}) {
  const recording = recorded();
  const nodes = nodesOf(recording);
  return { recording, nodes, sums: totals.compute(recording, nodes, { ...everything(recording), ...change }) };
}

test("a node is a path of functions, and an activity is a root", () => {
  const recording = recorded();
  const nodes = nodesOf(recording);
  const [ofStack] = nodes.ofStack;
  assert.deepEqual(names(recording, nodes, callNodes.path(nodes, ofStack[1])), ["a", "b"]);
  assert.deepEqual(names(recording, nodes, callNodes.path(nodes, ofStack[2])), ["a", "b", "a"]);
  assert.equal(nodes.count, 4 + strobe.recording.ACTIVITY_COUNT);
  assert.deepEqual(nodes.depths, [3]);
  assert.equal(recording.functions.labels[nodes.func[strobe.recording.IDLE]], "(idle)");
  assert.ok([...nodes.parent].every((parent, node) => parent < node));
});

test("frames that are not shown leave no node, and their stacks have that of the caller", () => {
  const recording = recorded();
  recording.loops[0].frameKind[1] = 1;
  const nodes = callNodes.build(recording, { kinds: 0b1101, realms: Uint8Array.of(1) });
  const [ofStack] = nodes.ofStack;
  assert.equal(ofStack[1], ofStack[0]);
  assert.deepEqual(names(recording, nodes, callNodes.path(nodes, ofStack[2])), ["a", "a"]);
  assert.deepEqual(nodes.depths, [2]);
});

test("the nodes of a function are found, and the nodes below one", () => {
  const { recording, nodes } = computed();
  const [ofStack] = nodes.ofStack;
  assert.deepEqual([...callNodes.of(nodes, 0)], [ofStack[0], ofStack[2]]);
  const below = (func) => ofStack.map((node) => callNodes.below(nodes, func, recording.functions.total)[node]);
  assert.deepEqual([...below(1)], [0, 1, 1, 0]);
  assert.deepEqual([...below(2)], [0, 0, 0, 1]);
  // What was found for another tree is not given again.
  const other = nodesOf(recorded());
  other.func[ofStack[3]] = 0;
  assert.equal(callNodes.below(other, 2, recording.functions.total)[ofStack[3]], 0);
});

test("self is what ends in a node, total what passes through it, and recursion counts once", () => {
  const { sums, nodes } = computed();
  const [ofStack] = nodes.ofStack;
  assert.deepEqual([...ofStack].map((node) => [sums.self[node], sums.total[node]]), [[1, 3], [1, 2], [1, 1], [1, 1]]);
  assert.deepEqual([0, 1, 2].map((id) => [sums.functionSelf[id], sums.functionTotal[id]]), [[2, 3], [1, 2], [1, 1]]);
  assert.equal(sums.shown, 5);
});

test("a filter leaves samples out", () => {
  const shown = (change) => computed(change).sums.shown;
  // The end of a range does not belong to it.
  assert.equal(shown({ range: [1, 3] }), 2);
  assert.equal(shown({ loops: Uint8Array.of(0) }), 0);
  assert.equal(shown({ stackless: false }), 4);
  const { nodes, recording } = computed();
  assert.equal(shown({ nodes: callNodes.below(nodes, 1, recording.functions.total).slice() }), 2);
});

test("samples of idle time count only if they are asked for", () => {
  const recording = strobe.recording.decode(dataOf({ samples: { time: [0, 1, 1], stack: [-1, -1, -1], activity: [0, -1, 4] } }));
  const shown = (idle) => totals.compute(recording, nodesOf(recording), { ...everything(recording), idle }).shown;
  assert.deepEqual([shown(true), shown(false)], [3, 1]);
});

test("children and roots have samples, the heaviest first", () => {
  const { sums, nodes, recording } = computed();
  assert.deepEqual(names(recording, nodes, totals.children(sums, -1)), ["a", "(layout)", "c"]);
  const [a, layout] = totals.children(sums, -1);
  assert.deepEqual(names(recording, nodes, totals.children(sums, a)), ["b"]);
  assert.deepEqual([a, layout].map((node) => totals.hasChildren(sums, node)), [true, false]);
  assert.equal(totals.heaviestNode(sums, 0), a);
});

test("the inverted tree has at each root all samples that end in a function", () => {
  const { sums, recording } = computed();
  const label = ({ func }) => recording.functions.labels[func];
  const roots = totals.invertedRoots(sums);
  assert.deepEqual(roots.map((row) => [label(row), row.weight, row.total]), [["a", 2, 3], ["b", 1, 2], ["c", 1, 1], ["(layout)", 1, 1]]);
  assert.deepEqual(roots.map((row) => totals.hasInvertedChildren(sums, row)), [true, true, false, false]);
  const [a] = roots;
  const [b] = totals.invertedChildren(sums, a);
  // One of the two samples in a came from b; the other had no caller.
  assert.deepEqual([label(b), b.weight], ["b", 1]);
  assert.deepEqual(totals.invertedChildren(sums, b).map((row) => [label(row), row.weight]), [["a", 1]]);
});

test("callers and callees count each sample once", () => {
  const { sums } = computed();
  const plain = (rows) => rows.map(({ func, weight }) => [func, weight]);
  assert.deepEqual(plain(totals.callers(sums, 0)), [[-1, 3], [1, 1]]);
  assert.deepEqual(plain(totals.callees(sums, 0)), [[1, 2]]);
});

test("weights count as often as they say", () => {
  const data = dataOf({
    ...functionsOf("a"), stacks: { parent: [-1], frame: [0] }, samples: { time: [0, 1], stack: [0, -1], activity: [1, 0], weight: [7, 3] },
  });
  const recording = strobe.recording.decode(data);
  const sums = totals.compute(recording, nodesOf(recording), everything(recording));
  assert.deepEqual([sums.functionSelf[0], sums.shown, sums.samples.shown], [7, 10, 10]);
});
