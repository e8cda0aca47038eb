/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Checks what about:profiling calculates from a recording. One recording is small enough to count by hand. A generated
// one is compared with a count that does not use trees. Gives { name of the check: "passed" or what is wrong }.

const PAGE = "https://a.example/";
const OTHER_PAGE = "https://b.example/";

// Stacks of the page:   0 main   1 main work   2 main work sort   3 main work work   4 main other   5 (anonymous)
// and of the worker:    0 work   1 work sort
const SMALL = {
  version: 2, interval: 2, timeOrigin: null,
  processes: [
    { name: "browser", pid: 7, ended: null, eventLoops: [{
      name: "page", kind: "page", documents: [PAGE],
      resources: [`${PAGE}a.js`, `${OTHER_PAGE}b.js`],
      realms: [{ url: PAGE, origin: "https://a.example" }, { url: OTHER_PAGE, origin: "https://b.example" }],
      functions: {
        name: ["main", "work", "sort", "other", ""], kind: [0, 0, 1, 0, 0], resource: [0, 0, -1, 1, 1],
        line: [1, 10, 0, 3, 7], column: [1, 5, 0, 1, 2], realm: [0, 0, 0, 1, 1],
      },
      frames: { function: [0, 1, 2, 3, 4], line: [0, 0, 0, 0, 0], column: [0, 0, 0, 0, 0] },
      stacks: { parent: [-1, 0, 1, 1, 0, -1], frame: [0, 1, 2, 1, 3, 4] },
      samples: {
        time: [10000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000],
        stack: [0, 1, 2, 2, 3, 4, 5, -1, -1, -1],
        activity: [1, 1, 1, 1, 2, 1, 1, 0, 4, 0],
      },
    }] },
    { name: "content", pid: 8, ended: 20, eventLoops: [{
      name: "worker", kind: "worker", documents: [],
      resources: [`${PAGE}a.js`], realms: [{ url: PAGE, origin: "https://a.example" }],
      functions: {
        name: ["sort", "work"], kind: [1, 0], resource: [-1, 0], line: [0, 10], column: [0, 5], realm: [-1, 0],
      },
      frames: { function: [0, 1], line: [0, 0], column: [0, 0] },
      stacks: { parent: [-1, 0], frame: [1, 0] },
      samples: { time: [12000, 2000, 2000], weight: [3, 2, 1], stack: [0, 1, -1], activity: [1, 1, -1] },
    }] },
  ],
};

// The same with places, with a second frame of `work` and an offset in the worker's. `work` is at line 11, and where it
// calls itself at line 12, column 3; `main` is at line 2, column 7.
function withPlaces() {
  const copy = structuredClone(SMALL);
  const [page, worker] = copy.processes.map(process => process.eventLoops[0]);
  page.frames = { function: [0, 1, 2, 3, 4, 1], line: [2, 11, 0, 4, 8, 12], column: [7, 0, 0, 1, 2, 3] };
  page.stacks.frame[3] = 5;
  worker.frames = { function: [0, 1], line: [0, 0], column: [0, 0], offset: [-1, 0x1f] };
  return copy;
}

// The same with what the samples of the page are worth, in milliseconds. The worker's are worth an interval each.
function withWorths() {
  const copy = withPlaces();
  const worths = [2, 10, 2, 2, 1, 0, 2, 2, 2, 3];
  copy.processes[0].eventLoops[0].samples.worth = worths.map(worth => worth * 1e6);
  return copy;
}

// Samples at 10, 13.9, 15, 19 and 40 ms, with an interval of 2 ms, and what was missed.
function withMissed() {
  const none = { function: [], line: [], column: [] };
  return {
    version: 2, interval: 2, timeOrigin: null, processes: [{ name: "", pid: null, ended: null, eventLoops: [{
      name: "", kind: "unknown", documents: [], resources: [], realms: [],
      functions: { name: [], kind: [], resource: [], line: [], column: [], realm: [] }, frames: none,
      stacks: { parent: [], frame: [] },
      samples: { time: [10000, 3900, 1100, 4000, 21000], stack: [-1, -1, -1, -1, -1], activity: [0, 0, 0, 0, 0] },
      missed: { start: [4000, 15000, 15000, 40000], end: [10000, 19000, 19000, 44000], samples: [3, 1, 2, 120], why: [0, 0, 1, 3] },
    }] }],
  };
}

const checks = {
  "a recording is decoded on one clock"() {
    const recording = decodeSmall();
    same([recording.start, recording.end, recording.weight, recording.sampleCount], [10, 30, 16, 13]);
    same([...recording.loops[1].sampleTime], [12, 14, 16]);
    same(recording.functions.labels.slice(0, recording.functions.count), ["main", "work", "sort", "other", "(anonymous)"]);
    same(recording.processes.map(({ label, ended }) => [label, ended]), [["browser", null], ["content", 20]]);
    same(recording.functions.place(1), `${PAGE}a.js:10:5`);
    same([...recording.functions.realms[2]], [0, -1]);
  },

  "where samples are missing is a gap, and what is around it is known"() {
    const { loops: [loop], interval } = strobe.recording.decode({ version: 2, interval: 2, timeOrigin: null, processes: [{
      name: "", pid: null, ended: null, eventLoops: [{
        name: "", kind: "unknown", documents: [], resources: [], realms: [],
        functions: { name: [], kind: [], resource: [], line: [], column: [], realm: [] },
        frames: { function: [], line: [], column: [] }, stacks: { parent: [], frame: [] },
        // At 10, 12.9, 16, 18 (three intervals long) and 24.5 ms.
        samples: {
          time: [10000, 2900, 3100, 2000, 6500], weight: [1, 1, 1, 3, 1], stack: [-1, -1, -1, -1, -1], activity: [0, 1, 1, 1, 0],
        },
      }],
    }] });
    const at = time => strobe.gaps.at(loop, time, interval);
    same([10, 12.8, 12.9, 14.8, 17, 24, 25].map(time => at(time).index), [0, 0, 1, 1, 2, 3, 4]);
    same(at(15), { before: 1, after: 2, from: 14.9, to: 16 });
    same([at(9), at(26.6)], [null, null]);
  },

  "where a recording says which samples were missed, there is a gap and nowhere else"() {
    const { loops: [loop], interval } = strobe.recording.decode(withMissed());
    const at = time => strobe.gaps.at(loop, time, interval);
    // The second sample is late, and none before it is missing.
    same([10, 13.8, 13.9, 15, 16.9, 19, 20.9, 40, 41.9].map(time => at(time).index), [0, 0, 1, 2, 2, 3, 3, 4, 4]);
    same(at(17), { before: 2, after: 3, from: 17, to: 19, missed: [1, 2, 0, 0, 0, 0] });
    same(strobe.gaps.whyOf(at(17)), "3 missed: 1 sampler late, 2 no processor for the thread");
    // Here samples were left out.
    same(at(24), { before: 3, after: 4, from: 21, to: 40 });
    same(strobe.gaps.whyOf(at(24)), "");
    // Before the first sample and after the last one.
    same([at(4), at(9.9)].map(({ from, to }) => [from, to]), [[4, 10], [4, 10]]);
    same(at(42), { before: 4, after: 5, from: 42, to: 44, missed: [0, 0, 0, 120, 0, 0] });
    same(strobe.gaps.whyOf(at(42)), "120 missed: 120 walks before too long");
    same([at(3.9), at(44)], [null, null]);
    same([0, 1, 2, 3, 4].map(index => strobe.gaps.endOf(loop, index, interval)), [13.9, 15, 17, 21, 42]);
  },

  "samples that are worth times of their own count by these, and can still be counted"() {
    const state = shownRecording(strobe.recording.decode(withWorths(), "small"), { idle: true });
    const { recording, totals } = state;
    same([recording.isTimed, recording.weight, totals.samples.shown], [true, 16, 16]);
    // In intervals of 2 ms: 26 ms of the page, and 6 intervals of the worker.
    same([totals.shown, sum(totals.self), sum(totals.functionSelf), sum(totals.resourceSelf)], [19, 19, 19, 19]);
    const of = (name, sums) => {
      const id = recording.functions.labels.indexOf(name);
      return [sums.functionSelf[id], sums.functionTotal[id]];
    };
    same(["main", "work", "other"].map(name => of(name, totals)), [[1, 8.5], [8.5, 12.5], [0, 0]]);
    same(["main", "work", "other"].map(name => of(name, totals.samples)), [[1, 6], [5, 9], [1, 1]]);
    const rows = strobe.totals.invertedRoots(totals);
    const work = rows.find(({ func }) => recording.functions.labels[func] === "work");
    same([work.weight, work.total, work.samples, work.totalSamples], [8.5, 12.5, 5, 9]);
    same(strobe.totals.invertedChildren(totals, work).map(row => [row.weight, row.samples]), [[5, 1], [0.5, 1]]);
    same(linesOf(totals, "work").map(([, self]) => self), [5, 3, 0.5]);
    const bad = withWorths();
    bad.processes[0].eventLoops[0].samples.worth[3] = -1;
    throws(() => strobe.recording.decode(bad), "samples.worth[3]: -1");
  },

  "behind what a sample is worth there is a gap"() {
    const data = withMissed();
    const [loop] = data.processes[0].eventLoops;
    delete loop.missed;
    loop.samples.worth = [3.9, 1, 4, 20, 5].map(worth => worth * 1e6);
    const decoded = strobe.recording.decode(data);
    same(decoded.end, 45);
    same([0, 1, 2, 3, 4].map(index => strobe.gaps.endOf(decoded.loops[0], index, 2)), [13.9, 14.9, 19, 39, 45]);
    same(strobe.gaps.at(decoded.loops[0], 14.95, 2), { before: 1, after: 2, from: 14.9, to: 15 });
  },

  "an event loop of which no sample was taken is one gap"() {
    const data = withMissed();
    data.processes[0].eventLoops[0].samples = { time: [], stack: [], activity: [] };
    const { loops: [loop], interval } = strobe.recording.decode(data);
    const { missed, ...gap } = strobe.gaps.at(loop, 20, interval);
    same([gap, missed], [{ before: -1, after: 0, from: 4, to: 44 }, [4, 2, 0, 120, 0, 0]]);
  },

  "two paths meet where they are the same for the last time"() {
    const { nodes } = shown({ idle: true });
    const node = stack => nodes.ofStack[0][stack];
    // main work sort, main work work, main other, main; (anonymous) has nothing in common with them.
    const meeting = (one, other) => strobe.callNodes.meeting(nodes, node(one), node(other));
    same([meeting(2, 3), meeting(2, 4), meeting(2, 0), meeting(2, 2)], [node(1), node(0), node(0), node(2)]);
    same([meeting(2, 5), strobe.callNodes.meeting(nodes, -1, node(2))], [-1, -1]);
  },

  "samples are counted once, in each tree"() {
    const { totals } = shown({ idle: true });
    same(totals.shown, 16);
    same(sum(strobe.totals.children(totals, -1).map(node => totals.total[node])), 16);
    same(sum(strobe.totals.invertedRoots(totals).map(({ weight }) => weight)), 16);
    same(sum(totals.functionSelf), 16);
    same(sum(totals.resourceSelf), 16);
  },

  "self and total are those counted by hand"() {
    const { recording, totals } = shown({ idle: true });
    const figures = Object.fromEntries(recording.functions.labels.map((label, id) => (
      [label, [totals.functionSelf[id], totals.functionTotal[id]]])));
    same(figures, {
      main: [1, 6], work: [5, 9], sort: [4, 4], other: [1, 1], "(anonymous)": [1, 1],
      "(idle)": [2, 2], "(script)": [0, 0], "(garbage collection)": [0, 0], "(style)": [0, 0], "(layout)": [1, 1],
      "(paint)": [0, 0], "(other work)": [0, 0], "(program)": [0, 0], "(no stack)": [1, 1],
    });
  },

  "a script has the samples with any of its functions, once each"() {
    const { totals, nodes } = shown({ idle: true });
    const of = name => [totals.resourceSelf, totals.resourceTotal].map(list => list[nodes.resourceNames.indexOf(name)]);
    same(of(`${PAGE}a.js`), [6, 11]);
    same(of(`${OTHER_PAGE}b.js`), [2, 2]);
    same(of("built-in functions"), [4, 4]);
  },

  "the call tree is that of both event loops"() {
    same(treeOf(shown({ idle: false })), [
      ["main", 6, 1, [["work", 4, 1, [["sort", 2, 2, []], ["work", 1, 1, []]]], ["other", 1, 1, []]]],
      ["work", 5, 3, [["sort", 2, 2, []]]],
      ["(layout)", 1, 1, []],
      ["(anonymous)", 1, 1, []],
    ]);
  },

  "below a root of bottom-up is what came by that path, and no more"() {
    const { recording, totals } = shown({ idle: false });
    const root = strobe.totals.invertedRoots(totals).find(({ func }) => recording.functions.labels[func] === "sort");
    const below = strobe.totals.invertedChildren(totals, root);
    const figures = ({ func, weight, total }) => [recording.functions.labels[func], weight, total];
    same([root, ...below].map(figures), [["sort", 4, 4], ["work", 4, 4]]);
    const work = strobe.totals.invertedRoots(totals).find(({ func }) => recording.functions.labels[func] === "work");
    same([work, ...strobe.totals.invertedChildren(totals, work)].map(figures), [["work", 5, 9], ["main", 1, 1], ["work", 1, 1]]);
  },

  "bottom-up is the inverted tree"() {
    const shownNow = shown({ idle: false });
    same(invertedOf(shownNow), [
      ["work", 5, [["main", 1, []], ["work", 1, [["main", 1, []]]]]],
      ["sort", 4, [["work", 4, [["main", 2, []]]]]],
      ["main", 1, []],
      ["other", 1, [["main", 1, []]]],
      ["(anonymous)", 1, []],
      ["(layout)", 1, []],
    ]);
  },

  "callers and callees count a sample once"() {
    const { recording, totals } = shown({ idle: false });
    const named = rows => rows.map(({ func, weight }) => [func < 0 ? null : recording.functions.labels[func], weight]);
    const work = recording.functions.labels.indexOf("work");
    same(named(strobe.totals.callers(totals, work)), [[null, 5], ["main", 4], ["work", 1]]);
    same(named(strobe.totals.callees(totals, work)), [["sort", 4], ["work", 1]]);
  },

  "a function that calls itself over and over calls itself once in a sample"() {
    const { recording, totals } = shownTrace([["f", 1], ["f", 1], ["f", 1], ["g", 2]]);
    const named = rows => rows.map(({ func, weight }) => [func < 0 ? null : recording.functions.labels[func], weight]);
    same(named(strobe.totals.callers(totals, 0)), [[null, 1], ["f", 1]]);
    same(named(strobe.totals.callees(totals, 0)), [["f", 1], ["g", 1]]);
    same([totals.functionSelf[0], totals.functionTotal[0]], [0, 1]);
  },

  "functions of one name at two places are two"() {
    const { recording, totals } = shownTrace([["f", 1], ["f", 2]]);
    same(recording.functions.count, 2);
    same([0, 1].map(id => [totals.functionSelf[id], totals.functionTotal[id]]), [[0, 1], [1, 1]]);
  },

  "idle samples count only if asked for"() {
    // Two samples were idle, and nothing is known of one.
    same(shown({ idle: false }).totals.shown, 13);
  },

  "a hidden built-in gives its time to its caller"() {
    const { recording, totals } = shown({ kinds: 0b1101 });
    const work = recording.functions.labels.indexOf("work");
    same([totals.functionSelf[work], totals.functionTotal[work], totals.shown], [9, 9, 13]);
  },

  "with only built-ins, samples without one do not count"() {
    const state = shown({ kinds: 0b0010 });
    same(treeOf(state), [["sort", 4, 4, []], ["(layout)", 1, 1, []]]);
  },

  "leaving out a realm removes its frames, and samples that have no others"() {
    // Realm 1 has `other` and the anonymous function. Samples without a stack have no realm.
    same(treeOf(shown({ realms: [1, 0, 1] })), [
      ["main", 6, 2, [["work", 4, 1, [["sort", 2, 2, []], ["work", 1, 1, []]]]]],
      ["work", 5, 3, [["sort", 2, 2, []]]],
    ]);
    // The built-in of the worker has no realm.
    same(treeOf(shown({ realms: [1, 0, 0] })).at(-1), ["work", 5, 5, []]);
  },

  "an origin is filtered as its realms are"() {
    same(treeOf(shown({ origins: new Map([["https://a.example", false]]) })), [
      ["sort", 2, 2, []], ["other", 1, 1, []], ["(anonymous)", 1, 1, []],
    ]);
  },

  "an event loop that is left out does not count"() {
    same(treeOf(shown({ loops: [0, 1] })), [["work", 5, 3, [["sort", 2, 2, []]]]]);
  },

  "a time range counts what lies in it, its end excluded"() {
    // At 14 and 16 ms there are two built-ins in the page. The worker has a built-in of weight 2 and an idle sample.
    const state = shown({ range: [14, 18] });
    same(state.totals.shown, 4);
    same(treeOf(state), [["main", 2, 0, [["work", 2, 0, [["sort", 2, 2, []]]]]], ["work", 2, 0, [["sort", 2, 2, []]]]]);
    same(shown({ range: [14, 14.5] }).totals.shown, 3);
    same(shown({ range: [0, 10] }).totals.shown, 0);
  },

  "a search filters paths with a match, or only marks them"() {
    same(treeOf(shown({ search: "SORT" })), [
      ["main", 2, 0, [["work", 2, 0, [["sort", 2, 2, []]]]]], ["work", 2, 0, [["sort", 2, 2, []]]],
    ]);
    // The search also matches URLs.
    same(shown({ search: "b.example/b" }).totals.shown, 2);
    same(shown({ search: "nothing of that name" }).totals.shown, 0);
    const marked = shown({ search: "sort", searchFilters: false });
    same(marked.totals.shown, 13);
    same(sum(marked.matches), 1);
    same(shown({ search: "  " }).matches, null);
  },

  "filters are combined"() {
    same(treeOf(shown({ search: "sort", range: [14, 16], loops: [1, 0] })), [
      ["main", 1, 0, [["work", 1, 0, [["sort", 1, 1, []]]]]],
    ]);
  },

  "a selected path survives a filter"() {
    const { state } = strobe;
    shown({});
    const [main] = strobe.totals.children(state.totals, -1);
    const [work] = strobe.totals.children(state.totals, main);
    state.selectNode(work);
    state.change({ filters: { ...state.filters, kinds: 0b1101 } }, "tree");
    state.flush();
    same(strobe.callNodes.path(state.nodes, state.selection.node).map(node => labelOf(state, node)), ["main", "work"]);
  },

  "a web trace is read"() {
    const trace = {
      resources: ["https://a.example/a.js"],
      frames: [{ name: "f", resourceId: 0, line: 3, column: 4 }, { name: "map" }],
      stacks: [{ frameId: 0 }, { parentId: 0, frameId: 1 }],
      samples: [
        { timestamp: 5, stackId: 0 }, { timestamp: 15, stackId: 1 }, { timestamp: 25 }, { timestamp: 45, stackId: 1, marker: "gc" },
        // Coarse clocks give equal times, which say nothing about the interval.
        { timestamp: 45 }, { timestamp: 45 }, { timestamp: 45 }, { timestamp: 45 },
      ],
    };
    const recording = strobe.recording.decode(trace, "pasted");
    strobe.state.show(recording);
    strobe.state.flush();
    same([recording.interval, recording.start, recording.end, recording.weight], [10, 5, 55, 8]);
    same(treeOf(strobe.state), [["f", 3, 1, [["map", 2, 2, []]]]]);
    same([...recording.loops[0].sampleActivity], [8, 8, 8, 2, 8, 8, 8, 8]);
  },

  "frames are functions at places"() {
    const recording = strobe.recording.decode(withPlaces(), "small");
    const [page, worker] = recording.loops;
    // Of one function, which is the same in both event loops.
    same([...page.frameFunction], [0, 1, 2, 3, 4, 1]);
    same([...worker.frameFunction], [2, 1]);
    same([...page.frameKind], [0, 0, 1, 0, 0, 0]);
    same([...page.frameLine], [2, 11, 0, 4, 8, 12]);
    same([...page.frameColumn], [7, 0, 0, 1, 2, 3]);
    same([...page.frameOffset], [-1, -1, -1, -1, -1, -1]);
    same([...worker.frameLine], [0, 0]);
    same([...worker.frameOffset], [-1, 0x1f]);
    // Trees are of functions, whatever the lines.
    const { state } = strobe;
    const tree = decoded => {
      state.show(decoded);
      state.flush();
      return treeOf(state);
    };
    same(tree(recording), tree(decodeSmall()));
  },

  "the texts of scripts are decoded"() {
    const copy = withPlaces();
    const [page, worker] = copy.processes.map(process => process.eventLoops[0]);
    const whole = text => ({ name: `${PAGE}a.js`, text, line: 1, column: 1 });
    page.sources = [{ name: `${PAGE}b.html`, text: "inline", line: 7, column: 3 }, whole("a")];
    page.functions.source = [1, 1, -1, 0, -1];
    worker.sources = [whole("a")];
    worker.functions.source = [-1, 0];
    const decoded = () => {
      const { sources, resources, functions } = strobe.recording.decode(copy);
      const texts = functions.resources.slice(0, functions.count).map(id => sources.get(id)?.text);
      return { texts, urls: [...sources.keys()].map(id => resources[id]), sources: [...sources.values()] };
    };
    same(decoded(), {
      texts: ["a", "a", undefined, "inline", undefined], urls: [`${PAGE}b.html`, `${PAGE}a.js`],
      sources: [{ text: "inline", line: 7, column: 3 }, { text: "a", line: 1, column: 1 }],
    });
    // Another text of the same URL is another script.
    worker.sources = [whole("changed")];
    same(decoded().texts, ["a", "a", undefined, "inline", undefined, "changed"]);
    same(decoded().urls, [`${PAGE}b.html`, `${PAGE}a.js`, `${PAGE}a.js`]);
    same([...decodeSmall().sources], []);
  },

  "what a script that ran has for a function is told"() {
    const copy = withPlaces();
    const [page] = copy.processes[0].eventLoops;
    page.functions.generated = {
      name: ["m", "", "", "", ""], resource: [0, 0, -1, -1, -1], line: [1, 1, 0, 0, 0], column: [900, 20, 0, 0, 0],
    };
    const { functions } = strobe.recording.decode(copy);
    const told = functions.generated.slice(0, functions.count).map(texts => [...texts]);
    same(told, [[`m ${PAGE}a.js:1:900`], [`(anonymous) ${PAGE}a.js:1:20`], [], [], []]);
  },

  "lines have the samples counted by hand"() {
    const { totals } = shownPlaces({});
    const lines = name => linesOf(totals, name);
    same(lines("main"), [["2", 1, 6]]);
    same(lines("work"), [["0x1f", 3, 5], ["11", 1, 4], ["12", 1, 1]]);
    same(lines("other"), [["4", 1, 1]]);
    // Built-in functions have no lines.
    same(lines("sort"), []);
  },

  "the lines of a function add up to it, and each is in no sample twice"() {
    // f at line 5 calls itself at line 5, which calls g; f at line 6 is the leaf.
    const { totals } = shownFrames([["f", 5, 1], ["f", 5, 1], ["g", 9, 1], ["f", 6, 2]]);
    same(linesOf(totals, "f"), [["6", 1, 1], ["5", 0, 1]]);
    same(totals.functionTotal[0], 1);
  },

  "several columns of one line are several lines"() {
    const { totals } = shownFrames([["f", 1, 10], ["f", 1, 20], ["f", 2, 3]]);
    same(linesOf(totals, "f"), [["2", 1, 1], ["1:10", 0, 1], ["1:20", 0, 1]]);
    // In a long line only the column says where something is.
    same(linesOf(shownFrames([["f", 1, 5000]]).totals, "f"), [["1:5000", 1, 1]]);
  },

  "lines follow the filters, the time and the search"() {
    const lines = (name, filters) => linesOf(shownPlaces(filters).totals, name);
    // The time of a hidden built-in belongs to the line that called it.
    same(lines("work", { kinds: 0b1101 }), [["0x1f", 5, 5], ["11", 3, 4], ["12", 1, 1]]);
    same(lines("work", { loops: [1, 0] }), [["11", 1, 4], ["12", 1, 1]]);
    same(lines("work", { range: [14, 18] }), [["11", 0, 2], ["0x1f", 0, 2]]);
    same(lines("main", { range: [10, 12] }), [["2", 1, 1]]);
    same(lines("main", { search: "sort" }), [["2", 0, 2]]);
    same(lines("main", { search: "sort", searchFilters: false }), [["2", 1, 6]]);
    same(lines("work", { realms: [0, 1, 1] }), []);
  },

  "callers and callees have the lines of the calls"() {
    const { recording, totals } = shownPlaces({});
    const named = map => [...map].map(([func, calls]) => (
      [recording.functions.labels[func], strobe.lines.summary(recording, calls, 3), calls.map(({ weight }) => weight)]));
    const of = name => strobe.lines.calls(totals, recording.functions.labels.indexOf(name));
    same(named(of("work").callers), [["main", "line 2", [4]], ["work", "line 11", [1]]]);
    same(named(of("sort").callers), [["work", "lines 11, 0x1f", [2, 2]]]);
    same(named(of("main").callees), [["work", "line 2", [4]], ["other", "line 2", [1]]]);
  },

  "a place in one of several lines has all of them, and no line has its samples"() {
    const { recording, totals } = shownFrames([["f", 4, 0, -1, 6], ["f", 4, 7], ["f", 4, 0, -1, 9]]);
    same(linesOf(totals, "f"), [["4–9", 1, 1], ["4–6", 0, 1], ["4", 0, 1]]);
    const places = strobe.lines.places(recording);
    same([0, 1, 2].map(place => strobe.lines.sentence(recording, place)), [
      "one of the lines 4–6", "line 4, column 7", "one of the lines 4–9",
    ]);
    same(strobe.lines.summary(recording, [{ place: 2, weight: 1 }], 2), "lines 4–9");
    const ids = strobe.lines.ofResource(recording, 0);
    const { rows } = strobe.sourceRows.rowsOf({ text: "a\nb\nc", line: 3, column: 1 }, ids, places);
    same(rows.map(({ line, last, from, places: here }) => [line, last, from, here]), [
      [3, 0, 0, []], [4, 0, 2, [1]], [5, 0, 4, []], [4, 6, undefined, [0]], [4, 9, undefined, [2]],
    ]);
  },

  "calls at several columns of one line are told apart"() {
    const call = (...places) => {
      const { recording } = shownFrames(places.map(([line, column]) => ["f", line, column]));
      const { count } = strobe.lines.places(recording);
      return strobe.lines.summary(recording, [...Array(count).keys()].map(place => ({ place, weight: 1 })), 2);
    };
    same(call([3, 1]), "line 3");
    same(call([3, 1], [3, 8]), "lines 3:1, 3:8");
    same(call([3, 1], [3, 8], [4, 1]), "lines 3, 4");
    same(call([3, 1], [4, 1], [5, 1], [6, 1]), "lines 3, 4 and 2 more");
    same(strobe.lines.summary(shownFrames([["f", 1, 1]]).recording, [], 2), "");
  },

  "a row of the call tree has the lines of its calls alone"() {
    const { recording, totals, nodes } = shownPlaces({});
    const calls = stack => strobe.lines.callsOfNode(totals, nodes.ofStack[0][stack]);
    same([1, 3, 0].map(stack => strobe.lines.summary(recording, calls(stack), 3)), ["line 2", "line 11", ""]);
    same(calls(1).map(({ weight }) => weight), [4]);
    const { totals: first, nodes: nodesThen } = shownPlaces({ range: [10, 12] });
    same(strobe.lines.callsOfNode(first, nodesThen.ofStack[0][1]), []);
  },

  "in a sample it is known which line was executing and which was calling"() {
    const { recording, totals, nodes } = shownPlaces({});
    const at = (index, stack) => {
      const found = strobe.lines.inSample(totals, 0, index, nodes.ofStack[0][stack]);
      return found && [strobe.lines.sentence(recording, found.place), found.isLeaf];
    };
    // The sample at 18 ms is in main work work.
    same([at(4, 0), at(4, 1), at(4, 3)], [["line 2, column 7", false], ["line 11", false], ["line 12, column 3", true]]);
    same([at(4, 4), at(7, 0)], [null, null]);
    const { totals: hidden, nodes: fewer } = shownPlaces({ kinds: 0b1101 });
    same(strobe.lines.inSample(hidden, 0, 2, fewer.ofStack[0][1]).isLeaf, true);
    const within = strobe.lines.within(totals, nodes.ofStack[0][1], [12, 18]);
    same(within.map(({ place, weight }) => [strobe.lines.sentence(recording, place), weight]), [["line 11", 3]]);
  },

  "the rows of a script are its lines, or the parts of long ones that have samples"() {
    const { recording } = shownFrames([["f", 2, 4], ["f", 2, 9], ["g", 4, 1001], ["g", 4, 1011], ["g", 4, 5001], ["g", 9, 1]]);
    const text = `one\r\nab cd  efg\u2028three\n${"x".repeat(1000)}first(second)${"y".repeat(6000)}`;
    const places = strobe.lines.places(recording);
    const whole = { text, line: 1, column: 1 };
    const { rows } = strobe.sourceRows.rowsOf(whole, strobe.lines.ofResource(recording, 0), places);
    same(rows.map(({ line, column, from, to, places: here, isCutBefore, isCutAfter }) => (
      [line, column, from === undefined ? null : text.slice(from, to).length, here, isCutBefore, isCutAfter])), [
      [1, 0, 3, [], false, false], [2, 0, 10, [0, 1], false, false], [3, 0, 5, [], false, false],
      [4, 1001, 180, [2, 3], true, true], [4, 5001, 180, [4], true, true],
      // The text has no such line.
      [9, 0, null, [5], false, false],
    ]);
    const pieces = row => strobe.sourceRows.piecesOf(text, row, places).map(piece => [piece.text, piece.place]);
    same(pieces(rows[1]), [["ab ", -1], ["cd", 0], ["  e", -1], ["fg", 1]]);
    same(pieces(rows[3]).slice(1, 4), [["first", 2], ["(seco", -1], ["nd", 3]]);
  },

  "the text of an inline script begins at a line and a column of its document"() {
    const { recording } = shownFrames([["f", 7, 12], ["f", 8, 3], ["g", 9, 1]]);
    const places = strobe.lines.places(recording);
    const text = `a();b()\n  c()\n${"x".repeat(2000)}`;
    const ids = strobe.lines.ofResource(recording, 0);
    const { rows } = strobe.sourceRows.rowsOf({ text, line: 7, column: 8 }, ids, places);
    same(rows.map(({ line, places: here }) => [line, here]), [[7, [0]], [8, [1]], [9, [2]]]);
    const pieces = row => strobe.sourceRows.piecesOf(text, row, places).map(piece => [piece.text, piece.place]);
    same(pieces(rows[0]), [["a();", -1], ["b", 0], ["()", -1]]);
    same(pieces(rows[1]), [["  ", -1], ["c", 1], ["()", -1]]);
    // A long first line.
    const long = { text: "x".repeat(2000), line: 7, column: 8 };
    const [part] = strobe.sourceRows.rowsOf(long, ids, places).rows;
    same([part.start, part.from, part.places], [-7, 0, [0]]);
  },

  "a script without a text has rows where samples are"() {
    const rows = (...frames) => {
      const { recording } = shownFrames(frames);
      const places = strobe.lines.places(recording);
      return strobe.sourceRows.rowsOf(null, strobe.lines.ofResource(recording, 0), places).rows
        .map(({ line, column, offset, places: here }) => [line, column, offset, here.length]);
    };
    same(rows(["f", 7, 1], ["g", 3, 1], ["f", 7, 9]), [[3, 0, -1, 1], [7, 0, -1, 2]]);
    // Minified.
    same(rows(["f", 1, 9000], ["g", 1, 10], ["h", 1, 9000]), [[1, 10, -1, 1], [1, 9000, -1, 2]]);
    same(rows(["f", 0, 0, 31], ["g", 0, 0, 7]), [[0, 0, 7, 1], [0, 0, 31, 1]]);
    same(rows(["f", 0, 0]), []);
  },

  "a line of megabytes is cut into as many rows as have samples"() {
    const { recording } = shownFrames(Array.from({ length: 400 }, (_, i) => ["f", 1, 1 + i * 9999]));
    const places = strobe.lines.places(recording);
    const text = "🙂".repeat(2000000);
    const { rows } = strobe.sourceRows.rowsOf({ text, line: 1, column: 1 }, strobe.lines.ofResource(recording, 0), places);
    same(rows.length, 400);
    // No character is cut in two.
    same(rows.every(({ from, to }) => to - from <= 180 && !/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(text.slice(from, to))), true);
  },

  "an error in a recording is reported with its place"() {
    const broken = (change, expected) => {
      const copy = structuredClone(SMALL);
      change(copy);
      throws(() => strobe.recording.decode(copy), expected);
    };
    const place = "processes[0].eventLoops[0]";
    const loop = copy => copy.processes[0].eventLoops[0];
    broken(copy => { copy.version = 3; }, "version: 3 is not 2");
    broken(copy => { copy.version = 1; }, "version: 1 is not 2");
    broken(copy => { delete copy.version; }, "version: nothing is not 2");
    broken(copy => { copy.interval = 0; }, "interval: 0");
    broken(copy => { loop(copy).stacks.parent[2] = 2; }, `${place}.stacks.parent[2]: 2 is not a stack before it`);
    broken(copy => { loop(copy).stacks.frame[2] = 5; }, `${place}.stacks.frame[2]: 5`);
    broken(copy => { loop(copy).samples.stack[1] = 6; }, `${place}.samples.stack[1]: 6`);
    broken(copy => { loop(copy).samples.time[1] = -1; }, `${place}.samples.time[1]: -1 goes back`);
    broken(copy => { loop(copy).samples.activity.pop(); }, `${place}.samples.activity: this is not a list of 10`);
    broken(copy => { loop(copy).functions.realm[0] = 2; }, `${place}.functions.realm[0]: 2`);
    broken(copy => { delete copy.processes; }, "neither viewer data nor the trace");
    const brokenMissed = (change, expected) => {
      const copy = withMissed();
      change(loop(copy).missed);
      throws(() => strobe.recording.decode(copy), `${place}.missed.${expected}`);
    };
    brokenMissed(missed => { delete missed.start; }, "start: this is not a list");
    brokenMissed(missed => { missed.why.pop(); }, "why: this is not a list of 4");
    brokenMissed(missed => { missed.start[0] = -1; }, "start[0]: -1 is not a time");
    brokenMissed(missed => { missed.end[3] = 39999; }, "end[3]: 39999 is before 40000");
    brokenMissed(missed => { missed.start[2] = 16000; }, "start[2]: 16000 is before 19000");
    brokenMissed(missed => { missed.samples[1] = 0; }, "samples[1]: 0");
    brokenMissed(missed => { missed.why[1] = 250; }, "why[1]: 250 is not a reason");
    const brokenPlaces = (change, expected) => {
      const copy = withPlaces();
      change(copy);
      throws(() => strobe.recording.decode(copy), expected);
    };
    brokenPlaces(copy => { delete loop(copy).functions; }, `${place}.functions.name: this is not a list`);
    brokenPlaces(copy => { loop(copy).functions.kind[4] = 4; }, `${place}.functions.kind[4]: 4`);
    brokenPlaces(copy => { loop(copy).frames.function[1] = 5; }, `${place}.frames.function[1]: 5`);
    brokenPlaces(copy => { loop(copy).frames.function[1] = -1; }, `${place}.frames.function[1]: a frame without a function`);
    brokenPlaces(copy => { loop(copy).frames.line[1] = -1; }, `${place}.frames.line[1]: -1`);
    brokenPlaces(copy => { loop(copy).frames.column[1] = 2 ** 32; }, `${place}.frames.column[1]: 4294967296`);
    const lines = (first, last) => copy => {
      Object.assign(loop(copy).frames, { firstLine: [0, 0, first, 0, 0, 0], lastLine: [0, 0, last, 0, 0, 0] });
    };
    brokenPlaces(lines(-1, 3), `${place}.frames.firstLine[2]: -1`);
    brokenPlaces(lines(3, 3), `${place}.frames.lastLine[2]: not the last of several lines`);
    brokenPlaces(lines(0, 3), `${place}.frames.lastLine[2]: not the last of several lines`);
    brokenPlaces(copy => { lines(2, 3)(copy); loop(copy).frames.line[2] = 2; }, `${place}.frames.lastLine[2]: not the last`);
    brokenPlaces(copy => { loop(copy).frames.firstLine = [0]; }, `${place}.frames.firstLine: this is not a list of 6`);
    brokenPlaces(copy => { loop(copy).frames.line.pop(); }, `${place}.frames.line: this is not a list of 6`);
    const source = { name: "a", text: "b", line: 1, column: 1 };
    brokenPlaces(copy => { loop(copy).sources = { 0: source }; }, `${place}.sources: this is not a list`);
    brokenPlaces(copy => { loop(copy).sources = ["a"]; }, `${place}.sources[0]: this is not the text`);
    brokenPlaces(copy => { loop(copy).sources = [{ ...source, text: null }]; }, `${place}.sources[0].text: null is not a text`);
    brokenPlaces(copy => { loop(copy).sources = [{ ...source, line: 0 }]; }, `${place}.sources[0].line: 0`);
    brokenPlaces(copy => { loop(copy).functions.source = [0, 0]; }, `${place}.functions.source: this is not a list of 5`);
    brokenPlaces(copy => { loop(copy).functions.source = [0, 0, 0, 0, 0]; }, `${place}.functions.source[0]: 0`);
    brokenPlaces(copy => { loop(copy).functions.generated = {}; }, `${place}.functions.generated.resource: this is not a list`);
    brokenPlaces(copy => { copy.processes[1].eventLoops[0].frames.offset[1] = -2; }, "frames.offset[1]: -2");
    const trace = { resources: [], frames: [{ name: "f" }], stacks: [{ frameId: 1 }], samples: [] };
    throws(() => strobe.recording.decode(trace), "stacks[0].frameId: 1 is not one of the 1 there are");
    throws(() => strobe.recording.decode({ ...trace, stacks: [{ frameId: 0, parentId: 0 }] }), "stacks[0].parentId: 0");
    throws(() => strobe.recording.decode({ ...trace, stacks: [], samples: [{ timestamp: 2 }, { timestamp: 1 }] }), "samples[1].timestamp");
  },

  "a large recording has the same counts as without trees"() {
    const recording = strobe.recording.decode(generateRecording({ samples: 3000, eventLoops: 4 }), "generated");
    for (const range of [null, [500, 1700.5]]) {
      strobe.state.show(recording);
      strobe.state.change({ range, filters: { ...strobe.state.filters, idle: true } }, "range");
      strobe.state.flush();
      const { totals, nodes } = strobe.state;
      const [self, total, paths] = plainCount(recording, range);
      same([...totals.functionSelf], self);
      same([...totals.functionTotal], total);
      const inTree = new Map();
      for (let node = 0; node < nodes.count; node++) {
        if (totals.self[node]) {
          inTree.set(strobe.callNodes.path(nodes, node).map(step => nodes.func[step]).join(" "), totals.self[node]);
        }
      }
      same([...inTree].sort(), [...paths].sort());
      same([...invertedPaths(totals)].sort(), [...paths].sort());
    }
  },

  "a comparison says what changed beyond what its samples allow"() {
    const { state } = strobe;
    state.show(strobe.recording.decode(comparison({ work: [400, 800], sort: [100, 104], gone: [50, 0], added: [0, 3] })));
    state.flush();
    const { recording, nodes, difference, totals: { filter } } = state;
    same(recording.isComparison, true);
    same(strobe.difference.sentence(difference, "functionSelf", recording.functions.labels.indexOf("sort")),
      "100 ms → 104 ms a session, +4.0 %, not clear");
    const id = name => recording.functions.labels.indexOf(name);
    const changes = ["work", "sort", "gone", "added"].map(name => {
      const { base, now, part, isClear } = strobe.difference.change(difference, "functionSelf", id(name));
      return [name, base, now, Number(part.toFixed(3)), isClear];
    });
    same(changes, [
      ["work", 400, 800, 0.5, true], ["sort", 100, 104, 0.038, false], ["gone", 50, 0, -1, true], ["added", 0, 3, 1, false],
    ]);
    const { LIGHT } = strobe.palette;
    const colours = ["work", "sort", "gone"].map(name => {
      const [node] = strobe.callNodes.of(nodes, id(name));
      return strobe.difference.colour(difference, node, LIGHT);
    });
    same(colours, [LIGHT.slower[3], LIGHT.same, LIGHT.faster[3]]);
    same(strobe.difference.compute(recording, nodes, { ...filter, loops: Uint8Array.of(1, 0) }), null);
    state.show(decodeSmall());
    state.flush();
    same(state.difference, null);
  },

  "a window stays within its bounds"() {
    const { zoom, pan, within, markStep, marks } = strobe.timeWindow;
    same(zoom([0, 100], 0.5, 0.25, [0, 100], 1), [12.5, 62.5]);
    same(zoom([50, 60], 100, 0.5, [0, 100], 1), [0, 100]);
    same(zoom([50, 60], 0.001, 0.5, [0, 100], 4), [53, 57]);
    same(pan([10, 20], -2, [0, 100]), [0, 10]);
    same(pan([10, 20], 0.5, [0, 100]), [15, 25]);
    same(within([90, 120], [0, 100]), [70, 100]);
    same(within([-50, 120], [0, 100]), [0, 100]);
    same(markStep([0, 1000], 10), 100);
    same(markStep([0, 1000], 7), 200);
    same(marks([12, 61], 20), [20, 40, 60]);
  },

  "a notch of the wheel zooms by a third at most"() {
    const { turned, span } = strobe.timeWindow;
    const factor = turn => span(turned([40, 50], new WheelEvent("wheel", turn), 0.5, [0, 100], 1)) / 10;
    // Browsers report a notch in pixels or in lines, toward the person and away.
    for (const turn of [{ deltaY: 120 }, { deltaY: 3, deltaMode: WheelEvent.DOM_DELTA_LINE }]) {
      const [longer, shorter] = [factor(turn), factor({ ...turn, deltaY: -turn.deltaY })];
      atLeast(longer, 1.1, "longer");
      atLeast(shorter, 3 / 4, "shorter");
      same((longer * shorter).toFixed(9), "1.000000000");
    }
    // With Shift or sideways, the wheel pans.
    for (const turn of [{ deltaY: 120, shiftKey: true }, { deltaX: 120 }]) {
      same(turned([40, 50], new WheelEvent("wheel", turn), 0.5, [0, 100], 1), [42, 52]);
    }
  },

  "figures are written as people read them"() {
    const { count, milliseconds, duration, percent, bytes, fileName, place } = strobe.format;
    same([count(1234567), milliseconds(1234.5), milliseconds(12.345), milliseconds(0.5)],
      ["1\u202f234\u202f567", "1\u202f235", "12.3", "0.50"]);
    same([duration(0.25), duration(12), duration(1500), duration(90500)], ["250 µs", "12.0 ms", "1.50 s", "1 min 30.5 s"]);
    same([percent(1, 3), percent(1, 0), bytes(1536), bytes(12)], ["33.3 %", "–", "1.5 KiB", "12 B"]);
    same([fileName("https://a.example/x/y.js?v=1#z"), fileName("https://a.example/"), place("a.js", 3, 0)],
      ["y.js", "a.example", "a.js:3"]);
  },

  "colours are readable and distinct from the background"() {
    const { LIGHT, DARK, ACTIVITIES, ON_MATCH } = strobe.palette;
    same([contrast("#000000", "#ffffff"), contrast("#777777", "#777777")], [21, 1]);
    for (const [name, scheme] of Object.entries({ light: LIGHT, dark: DARK })) {
      const boxes = [
        ...scheme.scripts.flat(), scheme.builtIn, scheme.native, scheme.unknown, scheme.activity, scheme.ground, scheme.header,
        ...scheme.faster, ...scheme.slower, scheme.same,
      ];
      for (const box of boxes) {
        atLeast(contrast(box, scheme.text), 4.5, `${name}: text on ${box}`);
      }
      atLeast(contrast(scheme.faint, scheme.ground), 4.5, `${name}: faint text`);
      atLeast(contrast(scheme.faint, scheme.header), 4.5, `${name}: faint text on the ruler`);
      atLeast(contrast(scheme.onAccent, scheme.accent), 4.5, `${name}: text on the selection`);
      atLeast(contrast(scheme.onDim, scheme.dim), 4.5, `${name}: text on what is dimmed`);
      atLeast(contrast(ON_MATCH, scheme.match), 4.5, `${name}: text on a match`);
      for (const activity of ACTIVITIES) {
        atLeast(contrast(activity[name], scheme.ground), 3, `${name}: ${activity.name}`);
      }
    }
  },
};

// The WCAG contrast ratio of two colours in the form #rrggbb.
function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function luminance(colour) {
  const [red, green, blue] = [1, 3, 5].map(at => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// The data of a comparison: by the name of a function, its samples of 1 ms on both sides.
function comparison(functions) {
  const names = Object.keys(functions);
  const zeros = names.map(() => 0);
  const ones = names.map(() => 1);
  const absent = names.map(() => -1);
  const side = (name, i) => ({
    name, pid: null, ended: null, eventLoops: [{
      name: "page", kind: "page", documents: [], resources: [], realms: [],
      functions: { name: names, kind: zeros, resource: absent, line: zeros, column: zeros, realm: absent },
      frames: { function: names.map((_, at) => at), line: zeros, column: zeros },
      stacks: { parent: absent, frame: names.map((_, at) => at) },
      samples: {
        time: zeros, weight: names.map(of => functions[of][i]), stack: names.map((_, at) => at), activity: ones,
        worth: names.map(of => functions[of][i] * 1e6),
      },
    }],
  });
  return {
    version: 2, interval: 1, timeOrigin: null, comparison: true, processes: [side("base", 0), side("new", 1)],
  };
}

function decodeSmall() {
  return strobe.recording.decode(structuredClone(SMALL), "small");
}

// The state with the small recording and changes to its initial filters.
function shown(filters) {
  return shownRecording(decodeSmall(), filters);
}

// The same with places.
function shownPlaces(filters) {
  return shownRecording(strobe.recording.decode(withPlaces(), "small"), filters);
}

function shownRecording(recording, { idle, kinds, realms, origins, loops, ...others }) {
  const { state } = strobe;
  state.show(recording);
  state.searchFilters = true;
  const filters = { ...state.filters };
  for (const [name, value] of Object.entries({ idle, kinds, origins })) {
    filters[name] = value ?? filters[name];
  }
  filters.realms = realms ? Uint8Array.from(realms) : filters.realms;
  filters.loops = loops ? Uint8Array.from(loops) : filters.loops;
  state.change({ filters, ...others }, "tree", "range", "search");
  state.flush();
  return state;
}

// The state with one sample. Its stack is given from the root: [[name, line], …].
function shownTrace(frames) {
  const { state } = strobe;
  state.show(strobe.recording.decode({
    resources: [`${PAGE}a.js`],
    frames: frames.map(([name, line]) => ({ name, resourceId: 0, line, column: 1 })),
    stacks: frames.map((_, i) => (i ? { parentId: i - 1, frameId: i } : { frameId: 0 })),
    samples: [{ timestamp: 1, stackId: frames.length - 1 }],
  }));
  state.flush();
  return state;
}

// The state with one sample at places of functions in one script, given from the root: [[name, line, column, offset, last], …].
// With `last`, the place is in one of the lines from `line` to it.
function shownFrames(frames) {
  const { state } = strobe;
  const names = [...new Set(frames.map(([name]) => name))];
  const column = value => names.map(() => value);
  state.show(strobe.recording.decode({ version: 2, interval: 1, timeOrigin: null, processes: [{
    name: "", pid: null, ended: null, eventLoops: [{
      name: "", kind: "unknown", documents: [], resources: [`${PAGE}a.js`], realms: [],
      functions: { name: names, kind: column(0), resource: column(0), line: names.map((_, i) => i + 1), column: column(1), realm: column(-1) },
      frames: {
        function: frames.map(([name]) => names.indexOf(name)),
        line: frames.map(([, line, , , last]) => (last ? 0 : line)),
        column: frames.map(([, , at]) => at), offset: frames.map(([, , , offset]) => offset ?? -1),
        ...frames.some(([, , , , last]) => last) && {
          firstLine: frames.map(([, line, , , last]) => (last ? line : 0)), lastLine: frames.map(([, , , , last]) => last ?? 0),
        },
      },
      stacks: { parent: frames.map((_, i) => i - 1), frame: frames.map((_, i) => i) },
      samples: { time: [1000], stack: [frames.length - 1], activity: [1] },
    }],
  }] }));
  state.flush();
  return state;
}

// [label, self, total] of each line of a function.
function linesOf(totals, name) {
  const func = totals.recording.functions.labels.indexOf(name);
  return strobe.lines.ofFunction(totals, func).map(({ label, self, total }) => [label, self, total]);
}

function labelOf({ recording, nodes }, node) {
  return recording.functions.labels[nodes.func[node]];
}

// [[name, total, self, children], …]
function treeOf(state, node = -1) {
  return strobe.totals.children(state.totals, node).map(child => (
    [labelOf(state, child), state.totals.total[child], state.totals.self[child], treeOf(state, child)]));
}

// [[name, weight, callers], …]
function invertedOf({ recording, totals }) {
  const named = rows => rows.map(row => (
    [recording.functions.labels[row.func], row.weight, named(strobe.totals.invertedChildren(totals, row))]));
  return named(strobe.totals.invertedRoots(totals));
}

// The weight of each path from a root to the leaf of samples, calculated from the inverted tree.
function invertedPaths(totals) {
  const paths = new Map();
  const visit = (row, below) => {
    const path = [row.func, ...below];
    const callers = strobe.totals.invertedChildren(totals, row);
    const ended = row.weight - sum(callers.map(({ weight }) => weight));
    if (ended) {
      paths.set(path.join(" "), ended);
    }
    for (const caller of callers) {
      visit(caller, path);
    }
  };
  for (const root of strobe.totals.invertedRoots(totals)) {
    visit(root, []);
  }
  return paths;
}

function plainCount(recording, range) {
  const self = new Array(recording.functions.total).fill(0);
  const total = self.slice();
  const paths = new Map();
  for (const loop of recording.loops) {
    for (let i = 0; i < loop.sampleCount; i++) {
      if (range && !(loop.sampleTime[i] >= range[0] && loop.sampleTime[i] < range[1])) {
        continue;
      }
      const path = [];
      for (let stack = loop.sampleStack[i]; stack >= 0; stack = loop.stackParent[stack]) {
        path.unshift(loop.frameFunction[loop.stackFrame[stack]]);
      }
      if (!path.length) {
        path.push(recording.functions.count + loop.sampleActivity[i]);
      }
      self[path.at(-1)]++;
      for (const id of new Set(path)) {
        total[id]++;
      }
      const key = path.join(" ");
      paths.set(key, (paths.get(key) ?? 0) + 1);
    }
  }
  return [self, total, paths];
}

function sum(numbers) {
  return [...numbers].reduce((all, number) => all + number, 0);
}

function same(actual, expected) {
  const [a, b] = [actual, expected].map(value => JSON.stringify(value));
  if (a !== b) {
    throw new Error(`${a.slice(0, 2000)} is not ${b.slice(0, 2000)}`);
  }
}

function throws(action, expected) {
  try {
    action();
  } catch (error) {
    if (error.message.includes(expected)) {
      return;
    }
    throw new Error(`“${error.message}” does not say “${expected}”`);
  }
  throw new Error(`no error that says “${expected}”`);
}

function atLeast(value, least, what) {
  if (!(value >= least)) {
    throw new Error(`${what}: ${value.toFixed(2)} is less than ${least}`);
  }
}

function runChecks() {
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => {
    try {
      check();
      return [name, "passed"];
    } catch (error) {
      return [name, `${error}\n${error.stack}`];
    }
  }));
}

runTest(runChecks);
