/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The time line: what each event loop did when. The upper part shows the whole recording and which part of it is on the
// screen. The lower part has a ruler and a lane for each event loop. Dragging chooses the time that counts.
strobe.timeline = (() => {
  const { palette, format, theme, timeWindow } = strobe;
  const { lowerBound, IDLE, ACTIVITY_COUNT } = strobe.recording;
  // The index in a column's steps, after the activities, for a time without samples.
  const UNKNOWN = ACTIVITY_COUNT;
  const LANE_HEIGHT = 27;
  // The greatest height of the steps in a lane, and the unit that their heights are multiples of.
  const ROOM = 22;
  const STEP = 2;
  const IDLE_LINE = 2;
  const RULER_HEIGHT = 20;
  // In CSS pixels. A lane's shares are calculated for each column. If a pixel has many samples, columns are wider,
  // because narrow ones would show nothing clearly.
  const COLUMN_WIDTH = 2;
  const DENSE_COLUMN_WIDTH = 3;
  const DENSE = 2;
  const MARK_DISTANCE = 90;
  // The font size of the names of lanes, in CSS pixels.
  const NAME_SIZE = 12;
  const MORE_SIZE = 10;
  const LABEL_MARGINS = 46;
  const LEAST_LABELS = 140;
  const MOST_LABELS = 340;
  const MOST_LABELS_PART = 0.3;

  const { state } = strobe;
  const { element, button, byId, inNextFrame } = strobe.dom;
  let overview, lanes, scroller;
  let overviewSurface, laneSurface;
  // For each event loop: the weight of each activity before each sample.
  let sums = [];
  // The event loops that have a lane.
  let order = [];
  let labelledWidth = 0;
  // [colour of the lines, x, y, width, height] of the stretches without samples that are drawn.
  let unknown = [];
  // The event loops that were shown when the overview was drawn.
  let overviewLoops = null;

  function start() {
    overview = byId("overview");
    lanes = byId("lanes");
    scroller = byId("lane-list");
    overviewSurface = new strobe.surface.Surface(overview);
    laneSurface = new strobe.surface.Surface(lanes);
    scroller.addEventListener("scroll", drawLanesSoon);
    strobe.surface.drag(lanes, { move: dragRange, end: endRange });
    lanes.addEventListener("mousemove", showTip);
    lanes.addEventListener("mouseleave", () => strobe.tip.hide());
    lanes.addEventListener("wheel", wheel, { passive: false });
    lanes.addEventListener("dblclick", zoomToRange);
    lanes.addEventListener("contextmenu", openMenu);
    overview.addEventListener("contextmenu", event => event.preventDefault());
    lanes.addEventListener("keydown", event => key(event));
    strobe.surface.drag(overview, { start: moveWindow, move: moveWindow });
    overview.addEventListener("wheel", wheel, { passive: false });
    overview.addEventListener("keydown", event => key(event));
    byId("all-loops").addEventListener("click", () => setLoops(() => 1));
    buildLegend();
    theme.onChange(buildLegend);
    state.listeners.push(refresh);
  }

  function buildLegend() {
    byId("legend").replaceChildren(...palette.ACTIVITIES.map((activity, i) => {
      const swatch = element("span", { class: "swatch", style: { backgroundColor: theme.activityColour(i) } });
      return element("li", {}, swatch, activity.name);
    }), element("li", {}, element("span", { class: "swatch hatched" }), "no samples"));
  }

  function refresh(changed) {
    if (!state.recording) {
      return;
    }
    if (changed.has("recording")) {
      sums = state.recording.loops.map(sumActivities);
    }
    const width = byId("timeline").clientWidth;
    if (changed.has("recording") || changed.has("lanes") || (changed.has("size") && width !== labelledWidth)) {
      labelledWidth = width;
      order = state.lanes();
      buildLabels(width);
    }
    if (["recording", "lanes", "size", "theme"].some(name => changed.has(name)) || overviewLoops !== state.filters.loops) {
      overviewLoops = state.filters.loops;
      markLoops();
      drawOverview();
    }
    if (["recording", "window", "range"].some(name => changed.has(name))) {
      placeWindow();
    }
    if (!(changed.size === 1 && changed.has("tab"))) {
      drawLanes();
    }
  }

  function sumActivities(loop) {
    const { sampleCount, sampleActivity, sampleIntervals } = loop;
    const Sums = !loop.sampleWorth && loop.weight < 2 ** 32 ? Uint32Array : Float64Array;
    const counted = Array.from({ length: ACTIVITY_COUNT }, () => null);
    for (let i = 0; i < sampleCount; i++) {
      // Only for activities that occur.
      counted[sampleActivity[i]] ??= new Sums(sampleCount + 1);
    }
    counted.forEach((sum, activity) => {
      if (sum) {
        let weight = 0;
        for (let i = 0; i < sampleCount; i++) {
          if (sampleActivity[i] === activity) {
            weight += sampleIntervals ? sampleIntervals[i] : 1;
          }
          sum[i + 1] = weight;
        }
      }
    });
    return counted;
  }

  // The weight of an activity in an event loop's samples from `first` to before `end`.
  function activityWeight(l, activity, first, end) {
    const sum = sums[l][activity];
    return sum ? sum[end] - sum[first] : 0;
  }

  // A row per event loop, with a box to leave it out.
  function buildLabels(width) {
    const { recording } = state;
    const widest = Math.max(0, ...order.map(i => Math.max(
      strobe.surface.widthOf(recording.loops[i].label) * NAME_SIZE, strobe.surface.widthOf(moreOf(i)) * MORE_SIZE)));
    const column = Math.min(
      Math.max(Math.ceil(widest / strobe.surface.FONT_SIZE) + LABEL_MARGINS, LEAST_LABELS),
      Math.max(LEAST_LABELS, Math.min(MOST_LABELS, width * MOST_LABELS_PART)));
    byId("timeline").style.setProperty("--label-width", `${Math.round(column)}px`);
    scroller.replaceChildren(...order.map(i => makeLabel(i, column)));
    const idleCount = recording.loops.filter(loop => loop.isIdle).length;
    const canFold = idleCount > 0 && idleCount < recording.loops.length;
    if (canFold) {
      const count = format.plural(idleCount, "idle event loop", "idle event loops");
      const fold = () => {
        state.change({ idleLoopsAreShown: !state.idleLoopsAreShown }, "lanes");
        state.flush();
        byId("idle-loops").focus();
      };
      scroller.append(button(`${state.idleLoopsAreShown ? "▾" : "▸"} ${count}`, fold, {
        id: "idle-loops", class: "quiet small", "aria-expanded": String(state.idleLoopsAreShown),
      }));
    }
    const rows = order.length + (canFold ? 1 : 0);
    byId("timeline").style.setProperty("--lanes-height", `${rows * LANE_HEIGHT + RULER_HEIGHT + 2}px`);
  }

  function makeLabel(i, column) {
    const loop = state.recording.loops[i];
    const process = state.recording.processes[loop.process];
    const pid = process.pid === null ? "" : ` (pid ${process.pid})`;
    const box = element("input", { type: "checkbox", checked: true });
    box.addEventListener("change", () => setLoops((shown, l) => (l === i ? Number(box.checked) : shown)));
    return element("div", {
      class: process.ended === null ? "lane" : "lane ended", data: { eventLoop: i }, style: { height: `${LANE_HEIGHT}px` },
    },
    element("label", { title: [loop.label, process.label + pid, ...loop.documents].join("\n") }, box,
      element("span", { class: "names" },
        element("span", { class: "name", text: fitted(loop.label, NAME_SIZE, column) }),
        element("span", { class: "more", text: fitted(moreOf(i), MORE_SIZE, column) }))),
    button("only", () => setLoops((_, l) => Number(l === i)), { class: "quiet only", "aria-label": `Only ${loop.label}` }));
  }

  // The text below the name of an event loop.
  function moreOf(i) {
    const { loops, processes } = state.recording;
    const process = processes[loops[i].process];
    return [
      ...process.ended === null ? [] : ["ended"],
      ...processes.length > 1 ? [process.label] : [],
      loops[i].kind === "unknown" ? format.plural(loops[i].weight, "sample", "samples") : loops[i].kind,
    ].join(" · ");
  }

  // Not every engine puts an ellipsis where a text is cut off.
  function fitted(text, size, column) {
    const room = (column - LABEL_MARGINS) * (strobe.surface.FONT_SIZE / size);
    return strobe.surface.fitMiddle(text, room) || text;
  }

  function setLoops(value) {
    const { filters } = state;
    state.change({ filters: { ...filters, loops: filters.loops.map(value) } }, "totals");
  }

  function markLoops() {
    for (const row of scroller.querySelectorAll(".lane")) {
      const isShown = state.isLoopShown(Number(row.dataset.eventLoop));
      row.classList.toggle("left-out", !isShown);
      row.querySelector("input").checked = isShown;
    }
    byId("all-loops").disabled = state.filters.loops.every(Boolean);
  }

  // How busy all event loops together are, over the whole recording.
  function drawOverview() {
    if (!overviewSurface.begin()) {
      return;
    }
    const scheme = theme.scheme();
    const { width, height } = overviewSurface;
    const [from, to] = state.bounds();
    const columns = Math.max(1, Math.floor(width / COLUMN_WIDTH));
    const busy = new Float64Array(columns);
    const all = new Float64Array(columns);
    const isUnknown = new Uint8Array(columns);
    state.recording.loops.forEach((loop, l) => {
      if (!state.isLoopShown(l)) {
        return;
      }
      let first = 0;
      for (let column = 0; column < columns; column++) {
        const end = lowerBound(loop.sampleTime, from + ((to - from) * (column + 1)) / columns, first);
        if (first === end) {
          // Within one sample, or between two.
          const known = strobe.gaps.at(loop, from + ((to - from) * (column + 0.5)) / columns, state.recording.interval);
          if (known?.index >= 0) {
            all[column]++;
            busy[column] += loop.sampleActivity[known.index] === IDLE ? 0 : 1;
          } else if (known) {
            isUnknown[column] = 1;
          }
          continue;
        }
        sums[l].forEach((sum, activity) => {
          if (sum) {
            const weight = sum[end] - sum[first];
            all[column] += weight;
            busy[column] += activity === IDLE ? 0 : weight;
          }
        });
        first = end;
      }
    });
    overviewSurface.rect(scheme.header, 0, 0, width, height);
    overviewSurface.flush();
    for (let column = 0; column < columns; column++) {
      const share = all[column] ? busy[column] / all[column] : 0;
      if (share > 0) {
        const tall = Math.max(1, Math.round(share * (height - 2)));
        overviewSurface.rect(scheme.strong, column * COLUMN_WIDTH, height - tall, COLUMN_WIDTH, tall);
      }
    }
    overviewSurface.flush();
    // The columns in which nothing is known about any event loop.
    let begin = -1;
    for (let column = 0; column <= columns; column++) {
      const isHatched = column < columns && isUnknown[column] && !all[column];
      if (isHatched && begin < 0) {
        begin = column;
      } else if (!isHatched && begin >= 0) {
        overviewSurface.hatch(scheme.faint, begin * COLUMN_WIDTH, 1, (column - begin) * COLUMN_WIDTH, height - 2);
        begin = -1;
      }
    }
  }

  // The frame around what is on the screen.
  function placeWindow() {
    const [from, to] = state.bounds();
    const part = time => `${(100 * (time - from)) / (to - from)}%`;
    const frame = byId("overview-window");
    frame.style.left = part(state.window[0]);
    frame.style.width = `${(100 * timeWindow.span(state.window)) / (to - from)}%`;
    frame.hidden = timeWindow.span(state.window) >= to - from;
    const range = byId("overview-range");
    range.hidden = !state.range;
    if (state.range) {
      range.style.left = part(state.range[0]);
      range.style.width = `${(100 * timeWindow.span(state.range)) / (to - from)}%`;
    }
  }

  const drawLanesSoon = inNextFrame(drawLanes);

  function drawLanes() {
    if (!state.recording || !laneSurface.begin()) {
      return;
    }
    const scheme = theme.scheme();
    const { width, height } = laneSurface;
    unknown = [];
    const top = scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / LANE_HEIGHT));
    const last = Math.min(order.length, Math.ceil((top + height - RULER_HEIGHT) / LANE_HEIGHT));
    for (let lane = first; lane < last; lane++) {
      drawLane(order[lane], RULER_HEIGHT + lane * LANE_HEIGHT - top, scheme);
    }
    laneSurface.flush();
    for (const [colour, x, y, width, tall] of unknown) {
      laneSurface.hatch(colour, x, y, width, tall);
    }
    drawRange(laneSurface, scheme);
    // Lanes that are partly scrolled away would cover the ruler.
    laneSurface.rect(scheme.header, 0, 0, width, RULER_HEIGHT);
    drawRuler(laneSurface, scheme, RULER_HEIGHT);
    laneSurface.flush();
  }

  // Draws a step for each activity, one above the other. Its height is the activity's share of the column's samples.
  function drawLane(l, y, scheme) {
    const process = state.recording.processes[state.recording.loops[l].process];
    const { width } = laneSurface;
    const [from, to] = state.window;
    const perPixel = (to - from) / width;
    const baseline = y + LANE_HEIGHT - 1;
    laneSurface.rect(scheme.line, 0, baseline, width, 1);
    if (!state.isLoopShown(l)) {
      laneSurface.rect(scheme.dim, 0, baseline - ROOM, width, ROOM);
      return;
    }
    // Columns at multiples of their length, so that they look the same wherever they are on the screen.
    const columnWidth = perPixel > DENSE * state.recording.interval ? DENSE_COLUMN_WIDTH : COLUMN_WIDTH;
    const columns = { width: columnWidth, length: perPixel * columnWidth, perPixel };
    columns.first = Math.floor(from / columns.length);
    columns.end = Math.ceil(to / columns.length);
    drawSteps(l, baseline, columns);
    if (process.ended !== null && process.ended < to) {
      drawEnd(process.ended, baseline, perPixel, scheme);
    }
    drawTicks(l, y, columns, scheme);
  }

  // Neighbours with equal steps are drawn as one.
  function drawSteps(l, baseline, columns) {
    const { sampleTime } = state.recording.loops[l];
    const [from] = state.window;
    let steps = new Uint8Array(UNKNOWN + 1);
    let last = new Uint8Array(UNKNOWN + 1);
    let lastX = 0;
    let begin = lowerBound(sampleTime, columns.first * columns.length);
    for (let column = columns.first; column <= columns.end; column++) {
      const start = column * columns.length;
      const x = Math.round((start - from) / columns.perPixel);
      steps.fill(0);
      if (column < columns.end) {
        const end = lowerBound(sampleTime, start + columns.length, begin);
        fillSteps(steps, l, begin, end, start + columns.length / 2);
        begin = end;
      }
      if (steps.some((tall, activity) => tall !== last[activity])) {
        let top = baseline;
        for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
          if (last[activity]) {
            top -= last[activity];
            laneSurface.rect(theme.activityColour(activity), lastX, top, x - lastX, last[activity]);
          }
        }
        if (last[UNKNOWN]) {
          const { ground, faint } = theme.scheme();
          unknown.push([top < baseline ? ground : faint, lastX, baseline - ROOM, x - lastX, ROOM]);
        }
        [steps, last] = [last, steps];
        lastX = x;
      }
    }
  }

  // Sets the height of each activity in a column with the samples from `begin` to before `end`. Idle time is left
  // empty. If there is nothing else, a line shows it, so that it differs from the time before and after the recording.
  function fillSteps(steps, l, begin, end, middle) {
    if (begin === end) {
      // Within one sample, or between two.
      const loop = state.recording.loops[l];
      const known = strobe.gaps.at(loop, middle, state.recording.interval);
      if (known?.index >= 0) {
        const activity = loop.sampleActivity[known.index];
        steps[activity] = activity === IDLE ? IDLE_LINE : ROOM;
      } else if (known) {
        steps[UNKNOWN] = ROOM;
        // If the event loop did the same on both sides, that activity goes on below the diagonal lines. Idle time does
        // not.
        const activity = loop.sampleActivity[known.before];
        if (activity !== IDLE && activity === loop.sampleActivity[known.after]) {
          steps[activity] = ROOM;
        }
      }
      return;
    }
    let all = 0;
    for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
      all += activityWeight(l, activity, begin, end);
    }
    let used = 0;
    for (let activity = IDLE + 1; activity < ACTIVITY_COUNT; activity++) {
      const weight = activityWeight(l, activity, begin, end);
      if (weight > 0) {
        const tall = Math.max(1, Math.round((weight / all) * (ROOM / STEP))) * STEP;
        steps[activity] = Math.min(tall, ROOM - used);
        used += steps[activity];
      }
    }
    if (!used) {
      steps[IDLE] = IDLE_LINE;
    }
  }

  // Draws the end of a process.
  function drawEnd(time, baseline, perPixel, scheme) {
    const x = Math.max(0, Math.round((time - state.window[0]) / perPixel));
    laneSurface.rect(scheme.dim, x, baseline - ROOM, laneSurface.width - x, ROOM);
    laneSurface.flush();
    if (time >= state.window[0]) {
      laneSurface.rect(scheme.text, x, baseline - ROOM, 2, ROOM);
      laneSurface.flush();
    }
    const sentence = `process ended at ${format.duration(time - state.bounds()[0])}`;
    const text = strobe.surface.fit(sentence, laneSurface.width - x - 16);
    if (text) {
      laneSurface.text(text, x + 8, baseline - ROOM / 2, scheme.onDim);
    }
  }

  // Draws where the matches of the search are or, without a search, where the selected function is.
  function drawTicks(l, y, columns, scheme) {
    const marked = markedNodes();
    if (!marked) {
      return;
    }
    const { sampleTime, sampleStack, sampleActivity } = state.recording.loops[l];
    const ofStack = state.nodes.ofStack[l];
    const [from] = state.window;
    const colour = state.matches ? scheme.text : scheme.accent;
    let begin = lowerBound(sampleTime, columns.first * columns.length);
    for (let column = columns.first; column < columns.end; column++) {
      const start = column * columns.length;
      const end = lowerBound(sampleTime, start + columns.length, begin);
      for (let i = begin; i < end; i++) {
        const stack = sampleStack[i];
        const node = stack < 0 ? sampleActivity[i] : ofStack[stack];
        if (node >= 0 && marked[node]) {
          laneSurface.rect(colour, Math.round((start - from) / columns.perPixel), y + 1, columns.width, 3);
          break;
        }
      }
      begin = end;
    }
  }

  function markedNodes() {
    if (state.matches) {
      return state.nodeMatches;
    }
    return state.selection.func < 0 ? null : nodesBelow(state.selection.func);
  }

  let below = { nodes: null, func: -1, result: null };

  // For each node, whether the function is on its path.
  function nodesBelow(func) {
    if (below.nodes !== state.nodes || below.func !== func) {
      const matches = new Uint8Array(state.recording.functions.total);
      matches[func] = 1;
      below = { nodes: state.nodes, func, result: strobe.callNodes.matching(state.nodes, matches) };
    }
    return below.result;
  }

  function drawRuler(surface, scheme, height) {
    const { width } = surface;
    const [from, to] = state.window;
    const step = timeWindow.markStep(state.window, width / MARK_DISTANCE);
    const zero = state.bounds()[0];
    const relative = [from - zero, to - zero];
    surface.rect(scheme.line, 0, height - 1, width, 1);
    const labels = [];
    for (const mark of timeWindow.marks(relative, step)) {
      const x = Math.round(((mark - relative[0]) / (to - from)) * width);
      surface.rect(scheme.strong, x, height - 6, 1, 6);
      const text = format.timeMark(mark, step);
      if (x + 4 + strobe.surface.widthOf(text) < width) {
        labels.push([text, x + 4]);
      }
    }
    surface.flush();
    for (const [text, x] of labels) {
      surface.text(text, x, height / 2, scheme.faint);
    }
  }

  // Shades the time that does not count.
  function drawRange(surface, scheme) {
    if (!state.range) {
      return;
    }
    const { width, height } = surface;
    const [left, right] = state.range.map(time => {
      const x = ((time - state.window[0]) / timeWindow.span(state.window)) * width;
      return Math.max(0, Math.min(width, Math.round(x)));
    });
    surface.rect(scheme.shade, 0, 0, left, height);
    surface.rect(scheme.shade, right, 0, width - right, height);
    surface.flush();
    surface.rect(scheme.accent, left, 0, 1, height);
    surface.rect(scheme.accent, Math.max(left, right - 1), 0, 1, height);
    surface.flush();
  }

  // The time at a place on an element that is `width` wide and shows the window.
  function timeAt(x, width) {
    return state.window[0] + (x / width) * timeWindow.span(state.window);
  }

  function clamped(time) {
    const [from, to] = state.bounds();
    return Math.min(Math.max(time, from), to);
  }

  function dragRange([x], [fromX]) {
    chooseRange(x, fromX, lanes.clientWidth);
  }

  // Makes only the time between two places count.
  function chooseRange(x, fromX, width) {
    const range = [Math.min(x, fromX), Math.max(x, fromX)].map(place => clamped(timeAt(place, width)));
    if (range[1] > range[0]) {
      state.change({ range }, "range");
    }
  }

  // A click selects the function that ran there.
  function endRange([x, y], _from, moved) {
    if (moved || !state.recording) {
      return;
    }
    const found = sampleAt(x, y);
    if (found && found.node >= 0) {
      state.selectNode(found.node);
    }
  }

  function sampleAt(x, y) {
    const l = order[Math.floor((y - RULER_HEIGHT + scroller.scrollTop) / LANE_HEIGHT)];
    if (y < RULER_HEIGHT || l === undefined) {
      return null;
    }
    const loop = state.recording.loops[l];
    const time = timeAt(x, lanes.clientWidth);
    const known = strobe.gaps.at(loop, time, state.recording.interval);
    if (!(known?.index >= 0)) {
      return { l, time, index: -1, node: -1, gap: known };
    }
    const { index } = known;
    return { l, time, index, node: strobe.totals.nodeOfSample(loop, state.nodes.ofStack[l], index), gap: null };
  }

  function showTip(event) {
    if (!state.recording || event.buttons) {
      strobe.tip.hide();
      return;
    }
    const found = sampleAt(...strobe.surface.mousePlace(lanes, event));
    if (!found) {
      strobe.tip.hide();
      return;
    }
    const { recording } = state;
    const loop = recording.loops[found.l];
    const lines = [`${loop.label} at ${format.duration(found.time - state.bounds()[0])}`];
    if (found.gap) {
      lines.push(strobe.tip.lineOfGap(found.gap));
    } else if (found.index < 0) {
      lines.push("not recorded");
    } else {
      lines.push(palette.ACTIVITIES[loop.sampleActivity[found.index]].name);
      if (found.node >= 0) {
        lines.push(recording.functions.labels[state.nodes.func[found.node]]);
      }
    }
    strobe.tip.show(event, lines);
  }

  function openMenu(event) {
    const node = (state.recording && sampleAt(...strobe.surface.mousePlace(lanes, event)))?.node ?? -1;
    strobe.functionMenu.open(event, { func: node < 0 ? -1 : state.nodes.func[node], node });
  }

  // The wheel zooms; with Shift, or turned sideways, it pans.
  function wheel(event) {
    if (!state.recording) {
      return;
    }
    event.preventDefault();
    const target = event.currentTarget;
    if (event.altKey) {
      scroller.scrollTop += timeWindow.wheelDistance(event)[1];
      return;
    }
    const [x] = strobe.surface.mousePlace(target, event);
    const anchor = target === overview ? 0.5 : x / target.clientWidth;
    zoomByWheel(event, anchor);
  }

  function zoomByWheel(event, anchor) {
    setWindow(timeWindow.turned(state.window, event, anchor, state.bounds(), state.leastSpan()));
  }

  function panBy(part) {
    setWindow(timeWindow.pan(state.window, part, state.bounds()));
  }

  function setWindow(window) {
    state.change({ window }, "window");
  }

  function moveWindow([x]) {
    const [from, to] = state.bounds();
    const length = timeWindow.span(state.window);
    const middle = from + (x / overview.clientWidth) * (to - from);
    setWindow(timeWindow.within([middle - length / 2, middle + length / 2], [from, to]));
  }

  function zoomToRange() {
    if (state.range) {
      const length = Math.max(timeWindow.span(state.range), state.leastSpan());
      setWindow(timeWindow.within([state.range[0], state.range[0] + length], state.bounds()));
    }
  }

  function countVisible() {
    state.change({ range: state.window.slice() }, "range");
  }

  function clearRange() {
    state.change({ range: null }, "range");
  }

  // Handles the keys of all views along a time axis. True if the key was one of them.
  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return false;
    }
    const moved = timeWindow.keyed(state.window, event.key, state.bounds(), state.leastSpan());
    const action = moved ? () => setWindow(moved) : { s: countVisible, z: zoomToRange }[event.key];
    if (!action) {
      return false;
    }
    event.preventDefault();
    action();
    return true;
  }

  return {
    start, key, panBy, setWindow, zoomToRange, countVisible, clearRange, chooseRange, zoomByWheel, drawRuler, drawRange,
    activityWeight, nodesBelow,
  };
})();
