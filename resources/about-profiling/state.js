/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// What is shown of which recording, and what is calculated from that. Views read it. Code that changes it calls
// `change`. Then all views are called once in the next frame, with the names of what has changed: "recording", "tree"
// (the call nodes), "totals", "lanes" (which event loops have one), "window" (the time that is on the screen), "range"
// (the time that counts), "search", "selection", "tab", "theme", "size".
strobe.state = (() => {
  const { timeWindow } = strobe;

  const state = /** @type {ViewState} */ (/** @type {unknown} */ ({
    recording: null,
    // The server's id of the recording, if it has one.
    id: null,
    filters: null,
    range: null,
    window: [0, 1],
    search: "",
    // Whether only samples with a match count. Otherwise matches are only marked.
    searchFilters: true,
    // A function and, if one was chosen, a node of it; -1 for none. `time` is the [from, to] that was chosen with it,
    // or null.
    selection: { func: -1, node: -1, time: null },
    tab: "flame-chart",
    // Event loops that did nothing are hidden unless the person asks for them.
    idleLoopsAreShown: false,
    nodes: null,
    // Uint8Array per function, and per node for its whole path; null without a search.
    matches: null,
    nodeMatches: null,
    totals: null,
    // Of a comparison: `strobe.difference.compute`. Otherwise null.
    difference: null,
    listeners: [],
    show, nothingLeftOut, change, flush, bounds, leastSpan, select, selectNode, clearSelection, isLoopShown, lanes,
    description, everyRealm, wanted,
  }));
  /** @type {Set<string>} */
  let changed = new Set();
  let frame = 0;
  // The texts that the search looks through.
  /** @type {{ of: FunctionTable, labels: string[], urls: string[] } | null} */
  let lowerCase = null;

  // Shows another recording, or none.
  /** @param {Recording} recording @param {string | null} id */
  function show(recording, id = null) {
    state.recording = recording;
    state.id = id;
    state.range = null;
    state.search = "";
    state.idleLoopsAreShown = false;
    state.selection = { func: -1, node: -1, time: null };
    if (recording) {
      state.window = bounds();
      state.filters = nothingLeftOut();
    }
    change({}, "recording", "tree", "totals", "window", "range", "search", "selection");
  }

  // The initial filters: all samples but idle ones.
  /** @returns {ViewFilters} */
  function nothingLeftOut() {
    const { loops, realms } = state.recording;
    return {
      loops: new Uint8Array(loops.length).fill(1),
      kinds: strobe.recording.ALL_KINDS,
      // The last element is for frames without a realm.
      realms: new Uint8Array(realms.length + 1).fill(1),
      origins: new Map(),
      idle: false,
    };
  }

  // Sets members of the state. `names` are the names of what has changed.
  /** @param {Partial<ViewState>} members @param {string[]} names */
  function change(members, ...names) {
    Object.assign(state, members);
    for (const name of names) {
      changed.add(name);
    }
    frame ||= requestAnimationFrame(flush);
  }

  // Calculates what depends on the changes, and tells the views.
  function flush() {
    if (frame) {
      cancelAnimationFrame(frame);
      frame = 0;
    }
    const now = changed;
    changed = new Set();
    if (state.recording) {
      derive(now);
    }
    for (const listener of state.listeners) {
      listener(now);
    }
  }

  /** @param {Set<string>} now */
  function derive(now) {
    if (now.has("tree")) {
      const before = now.has("recording") ? null : state.nodes;
      state.nodes = strobe.callNodes.build(state.recording, shownFrames());
      if (before && state.selection.node >= 0) {
        // The node with the same path, without the functions that are no longer shown.
        state.selection = { ...state.selection, node: samePath(before, state.nodes, state.selection.node) };
        now.add("selection");
      }
      now.add("totals");
    }
    if (now.has("tree") || now.has("search")) {
      state.matches = functionMatches();
      state.nodeMatches = state.matches && strobe.callNodes.matching(state.nodes, state.matches);
    }
    if (now.has("search") || now.has("range")) {
      now.add("totals");
    }
    if (now.has("totals")) {
      const filter = {
        loops: state.filters.loops,
        range: state.range,
        idle: state.filters.idle,
        stackless: everyRealm(),
        nodes: state.searchFilters ? state.nodeMatches : null,
      };
      state.totals = strobe.totals.compute(state.recording, state.nodes, filter);
      state.difference = strobe.difference.compute(state.recording, state.nodes, filter);
    }
  }

  // A sample without a stack belongs to no realm, so it counts only if no realm is left out.
  function everyRealm() {
    return state.filters.realms.every(Boolean) && [...state.filters.origins.values()].every(Boolean);
  }

  function shownFrames() {
    const { realms, origins, kinds } = state.filters;
    const effective = realms.slice();
    state.recording.realms.forEach((realm, i) => {
      if (origins.get(realm.origin) === false) {
        effective[i] = 0;
      }
    });
    return { kinds, realms: effective };
  }

  // The text that is searched for, in lower case.
  function wanted() {
    return state.search.trim().toLowerCase();
  }

  function functionMatches() {
    const text = wanted();
    if (!text) {
      return null;
    }
    const { functions } = state.recording;
    if (lowerCase?.of !== functions) {
      /** @param {string[]} texts */
      const lower = texts => texts.map(one => one.toLowerCase());
      lowerCase = { of: functions, labels: lower(functions.labels), urls: lower(functions.urls) };
    }
    const { labels, urls } = lowerCase;
    const urlMatches = urls.map(url => url.includes(text));
    const result = new Uint8Array(functions.total);
    for (let id = 0; id < functions.total; id++) {
      const resource = functions.resources[id];
      result[id] = labels[id].includes(text) || (resource >= 0 && urlMatches[resource]) ? 1 : 0;
    }
    return result;
  }

  /** @param {CallNodes} before @param {CallNodes} after @param {number} node */
  function samePath(before, after, node) {
    let at = -1;
    for (const step of strobe.callNodes.path(before, node)) {
      const id = before.func[step];
      let child = at < 0 ? after.firstRoot : after.firstChild[at];
      while (child >= 0 && after.func[child] !== id) {
        child = after.sibling[child];
      }
      if (child >= 0) {
        at = child;
      }
    }
    return at >= 0 && after.func[at] === before.func[node] ? at : -1;
  }

  // All of the recording's time.
  /** @returns {Span} */
  function bounds() {
    const { start, end } = state.recording;
    return end > start ? [start, end] : [start, start + state.recording.interval];
  }

  // The shortest time that can be zoomed to: a few samples.
  function leastSpan() {
    return Math.min(state.recording.interval * 4, timeWindow.span(bounds()));
  }

  /** @param {number} func */
  function select(func) {
    const node = func < 0 ? -1 : strobe.totals.heaviestNode(state.totals, func);
    change({ selection: { func, node, time: null } }, "selection");
  }

  /** @param {number} node @param {Span | null} time */
  function selectNode(node, time = null) {
    change({ selection: { func: node < 0 ? -1 : state.nodes.func[node], node, time } }, "selection");
  }

  function clearSelection() {
    change({ selection: { func: -1, node: -1, time: null } }, "selection");
  }

  /** @param {number} index */
  function isLoopShown(index) {
    return state.filters.loops[index] === 1;
  }

  // The event loops that have a lane, in their order.
  function lanes() {
    const { loops } = state.recording;
    const busy = loops.filter(loop => !loop.isIdle);
    const idle = loops.filter(loop => loop.isIdle);
    const all = state.idleLoopsAreShown || !busy.length ? [...busy, ...idle] : busy;
    return all.map(({ index }) => index);
  }

  // The selected function in a sentence.
  function description() {
    const { selection: { func }, recording, totals } = state;
    if (func < 0) {
      return "No function is selected.";
    }
    const { format } = strobe;
    const name = recording.functions.labels[func];
    const place = recording.functions.shortPlace(func);
    /** @type {(what: string, weight: number, samples: number) => string} */
    const part = (what, weight, samples) => (
      `${what} ${format.plural(samples, "sample", "samples")}, ${format.percent(weight, totals.shown)}`
    );
    const { samples } = totals;
    return `Selected: ${name}${place ? ` in ${place}` : ""}; ${
      part("self", totals.functionSelf[func], samples.functionSelf[func])}; ` +
      `${part("total", totals.functionTotal[func], samples.functionTotal[func])}.`;
  }

  return state;
})();
