/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// For programs that read the page: how fast the page is, as it measures itself, and what it shows.
//
// - `document.documentElement.dataset` has `view` (recorder or recording) and `tab`. For a recording that has been
//   drawn it also has `ready`, `samples`, `loadMs` (from its text to the end of the first frame that shows it) and
//   `decodeMs`.
// - `strobe.measure.pan({ frames, part })` pans the flame chart back and forth, a step per frame, and gives a promise
//   of { frames, seconds, framesPerSecond, medianFrame, worstFrame, drawing: { median, worst } }, times in ms. A
//   frame's time is the time between the timestamps of two animation frames; drawing is the script's part of it. The
//   rate is also in the data set, as `panRate`.
// - `strobe.measure.scroll({ frames, rows })` scrolls the text in Sources by `rows` rows per frame, and gives a promise
//   of the same without `drawing`.
// - `strobe.measure.actions({ search, times })` switches to each view and searches in it, and gives a promise of {
//   view: { switch, search, clear } }: the median times that the script and the layout after it take for each of these,
//   in ms.
// - `strobe.inspect.boxes(name)` gives the boxes of the flame chart or flame graph, of one function or of all: [{ name,
//   place, node, self, total, time, x, y, width, height, centre: [x, y] }], x and y are in the canvas, and the centre
//   is in the window. In the flame chart `time` is the time that a box stands for, [from, to] in ms.
// - `strobe.inspect.gaps()` gives the stretches without samples that the flame chart shows: [{ x, y, width, height,
//   centre }].
// - `strobe.inspect.lines()` gives the rows with samples of the script that Sources shows: [{ line, last, column,
//   offset, self, total, functions }]. `last` is 0 unless the row is for places somewhere in the lines from `line` to it.
//   `column` is 0 unless the row is a part of a line. `offset` is -1 unless the row is a place in a WebAssembly module. The
//   function with the most samples comes first.
// - `strobe.inspect.functions()` gives [{ name, place, self, total }] of all functions that have samples now.
// - `strobe.inspect.facts()` gives what is shown: tab, samples, shown, range, window, selection, event loops and what recorded
//   them.
strobe.measure = (() => {
  const { state, timeWindow } = strobe;
  const STEP = 0.02;

  function frame() {
    return new Promise(resolve => {
      requestAnimationFrame(resolve);
    });
  }

  // There must be something off the screen to pan to, so the window shows only `part` of the recording.
  async function pan({ frames = 120, part = 0.25 } = {}) {
    strobe.app.showTab("flame-chart");
    const bounds = state.bounds();
    const length = timeWindow.span(bounds) * part;
    strobe.timeAxis.setWindow([bounds[0], bounds[0] + length]);
    state.flush();
    await frame();
    await frame();
    const times = [];
    const drawing = [];
    let step = STEP;
    times.push(await frame());
    for (let i = 0; i < frames; i++) {
      const before = performance.now();
      if (state.window[1] >= bounds[1] - length * STEP * 0.5) {
        step = -STEP;
      } else if (state.window[0] <= bounds[0] + length * STEP * 0.5) {
        step = STEP;
      }
      strobe.timeAxis.panBy(step);
      state.flush();
      drawing.push(performance.now() - before);
      times.push(await frame());
    }
    const lengths = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
    drawing.sort((a, b) => a - b);
    const seconds = (times.at(-1) - times[0]) / 1000;
    const result = {
      frames, seconds, framesPerSecond: frames / seconds, medianFrame: lengths[frames >> 1], worstFrame: lengths.at(-1),
      drawing: { median: drawing[frames >> 1], worst: drawing.at(-1) },
    };
    document.documentElement.dataset.panRate = result.framesPerSecond.toFixed(1);
    return result;
  }

  // Scrolls the text that Sources shows, `rows` rows per frame, down and up again.
  async function scroll({ frames = 120, rows = 7 } = {}) {
    strobe.app.showTab("sources");
    state.flush();
    await frame();
    await frame();
    const scroller = document.querySelector("#source-text .tree-scroller");
    const row = scroller.querySelector(".tree-row").getBoundingClientRect().height;
    scroller.scrollTop = 0;
    let step = rows * row;
    const times = [await frame()];
    for (let i = 0; i < frames; i++) {
      const before = scroller.scrollTop;
      scroller.scrollTop += step;
      if (scroller.scrollTop === before) {
        step = -step;
      }
      times.push(await frame());
    }
    const lengths = times.slice(1).map((time, i) => time - times[i]).sort((a, b) => a - b);
    const seconds = (times.at(-1) - times[0]) / 1000;
    return { frames, seconds, framesPerSecond: frames / seconds, medianFrame: lengths[frames >> 1], worstFrame: lengths.at(-1) };
  }

  async function actions({ search = "a", times = 5 } = {}) {
    const { TABS, showTab } = strobe.app;
    // `prepare` undoes what `act` changes.
    const median = async (prepare, act) => {
      const taken = [];
      for (let i = 0; i < times; i++) {
        prepare();
        state.flush();
        await frame();
        await frame();
        const before = performance.now();
        act();
        state.flush();
        // Forces layout.
        document.body.getBoundingClientRect();
        taken.push(performance.now() - before);
      }
      return taken.sort((a, b) => a - b)[times >> 1];
    };
    const searchFor = text => () => state.change({ search: text }, "search");
    const result = {};
    for (const [i, tab] of TABS.entries()) {
      const other = TABS[(i + 1) % TABS.length];
      result[tab] = { switch: await median(() => showTab(other), () => showTab(tab)) };
      result[tab].search = await median(searchFor(""), searchFor(search));
      result[tab].clear = await median(searchFor(search), searchFor(""));
    }
    return result;
  }

  return { pan, scroll, actions };
})();

strobe.inspect = (() => {
  const { state } = strobe;

  function boxes(name) {
    state.flush();
    const view = { "flame-chart": strobe.flameChart, "flame-graph": strobe.flameGraph }[state.tab];
    if (!view || !state.recording) {
      return [];
    }
    const { functions } = state.recording;
    const canvas = view.canvas().getBoundingClientRect();
    return view.boxes().map(box => {
      const id = state.nodes.func[box.node];
      // The middle of the part that is on the screen.
      const left = Math.max(0, box.x);
      const right = Math.min(canvas.width, box.x + box.width);
      return {
        ...box, name: functions.labels[id], place: functions.place(id),
        self: state.totals.samples.self[box.node], total: state.totals.samples.total[box.node],
        time: box.l < 0 ? null : strobe.flameChart.timeOf(box),
        centre: [canvas.left + (left + right) / 2, canvas.top + box.y + box.height / 2],
      };
    }).filter(box => name === undefined || box.name === name);
  }

  function gaps() {
    state.flush();
    const canvas = strobe.flameChart.canvas().getBoundingClientRect();
    return strobe.flameChart.gaps().map(({ x, y, width, height }) => (
      { x, y, width, height, centre: [canvas.left + x + width / 2, canvas.top + y + height / 2] }));
  }

  function functions() {
    state.flush();
    const { recording, totals } = state;
    return [...totals.functionTotal.keys()].filter(id => totals.functionTotal[id] > 0).map(id => ({
      name: recording.functions.labels[id], place: recording.functions.place(id),
      self: totals.samples.functionSelf[id], total: totals.samples.functionTotal[id],
    }));
  }

  function lines() {
    state.flush();
    return strobe.sourceView.lines();
  }

  function facts() {
    state.flush();
    const { recording, selection, tab, totals, range, window } = state;
    return recording && {
      tab, window, range, samples: recording.weight, shown: totals.samples.shown,
      selection: selection.func < 0 ? null : recording.functions.labels[selection.func],
      eventLoops: recording.loops.map((loop, l) => ({ name: loop.label, samples: loop.weight, isShown: state.isLoopShown(l) })),
      recordedBy: recording.recordedBy,
    };
  }

  return { boxes, gaps, lines, functions, facts };
})();
