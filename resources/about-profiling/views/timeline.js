/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The time line: what each event loop did when. The upper part, overview.js, shows the whole recording. The lower part has
// a ruler and a lane for each event loop. Dragging chooses the time that counts.
strobe.timeline = (() => {
  const { palette, format, state, theme, timeWindow } = strobe;
  const { lowerBound, ACTIVITY_COUNT } = strobe.recording;
  const { ROOM, UNKNOWN, noSteps, fillSteps } = strobe.columns;
  const { element, byId, inNextFrame } = strobe.dom;
  const { RULER_HEIGHT, timeAt, key } = strobe.timeAxis;
  const { LANE_HEIGHT } = strobe.laneLabels;
  // In CSS pixels. A lane's shares are calculated for each column. If a pixel has many samples, columns are wider,
  // because narrow ones would show nothing clearly.
  const COLUMN_WIDTH = 2;
  const DENSE_COLUMN_WIDTH = 3;
  const DENSE = 2;

  /** @type {HTMLCanvasElement} */
  let lanes;
  /** @type {HTMLElement} */
  let scroller;
  /** @type {DrawingSurface} */
  let surface;
  // The event loops that have a lane.
  /** @type {number[]} */
  let order = [];
  let labelledWidth = 0;
  // [colour of the lines, x, y, width, height] of the stretches without samples that are drawn.
  /** @type {[string, number, number, number, number][]} */
  let unknown = [];
  // The event loops that were shown when the overview was drawn.
  /** @type {Uint8Array | null} */
  let overviewLoops = null;

  function start() {
    strobe.overview.start();
    strobe.laneLabels.start();
    lanes = byId("lanes");
    scroller = byId("lane-list");
    surface = new strobe.surface.Surface(lanes);
    scroller.addEventListener("scroll", drawLanesSoon);
    strobe.surface.drag(lanes, { move: dragRange, end: endRange });
    lanes.addEventListener("mousemove", showTip);
    lanes.addEventListener("mouseleave", () => strobe.tip.hide());
    for (const canvas of [lanes, byId("overview")]) {
      canvas.addEventListener("wheel", wheel, { passive: false });
    }
    lanes.addEventListener("dblclick", strobe.timeAxis.zoomToRange);
    lanes.addEventListener("contextmenu", openMenu);
    lanes.addEventListener("keydown", key);
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

  /** @param {Set<string>} changed */
  function refresh(changed) {
    if (!state.recording) {
      return;
    }
    const width = byId("timeline").clientWidth;
    if (changed.has("recording") || changed.has("lanes") || (changed.has("size") && width !== labelledWidth)) {
      labelledWidth = width;
      order = state.lanes();
      strobe.laneLabels.build(order, width);
    }
    if (["recording", "lanes", "size", "theme"].some(name => changed.has(name)) || overviewLoops !== state.filters.loops) {
      overviewLoops = state.filters.loops;
      strobe.laneLabels.mark();
      strobe.overview.draw();
    }
    if (["recording", "window", "range"].some(name => changed.has(name))) {
      strobe.overview.placeWindow();
    }
    if (!(changed.size === 1 && changed.has("tab"))) {
      drawLanes();
    }
  }

  const drawLanesSoon = inNextFrame(drawLanes);

  function drawLanes() {
    if (!state.recording || !surface.begin()) {
      return;
    }
    const scheme = theme.scheme();
    const { height } = surface;
    unknown = [];
    const top = scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / LANE_HEIGHT));
    const last = Math.min(order.length, Math.ceil((top + height - RULER_HEIGHT) / LANE_HEIGHT));
    for (let lane = first; lane < last; lane++) {
      drawLane(order[lane], RULER_HEIGHT + lane * LANE_HEIGHT - top, scheme);
    }
    surface.flush();
    for (const [colour, x, y, width, tall] of unknown) {
      surface.hatch(colour, x, y, width, tall);
    }
    strobe.timeAxis.drawRange(surface, scheme);
    // Lanes that are partly scrolled away would cover the ruler.
    strobe.timeAxis.drawRuler(surface, scheme);
    surface.flush();
  }

  // Draws a step for each activity, one above the other. Its height is the activity's share of the column's samples.
  /** @param {number} l @param {number} y @param {Scheme} scheme */
  function drawLane(l, y, scheme) {
    const process = state.recording.processes[state.recording.loops[l].process];
    const { width } = surface;
    const [from, to] = state.window;
    const perPixel = (to - from) / width;
    const baseline = y + LANE_HEIGHT - 1;
    surface.rect(scheme.line, 0, baseline, width, 1);
    if (!state.isLoopShown(l)) {
      surface.rect(scheme.dim, 0, baseline - ROOM, width, ROOM);
      return;
    }
    // Columns at multiples of their length, so that they look the same wherever they are on the screen.
    const columnWidth = perPixel > DENSE * state.recording.interval ? DENSE_COLUMN_WIDTH : COLUMN_WIDTH;
    const length = perPixel * columnWidth;
    const columns = { width: columnWidth, length, perPixel, first: Math.floor(from / length), end: Math.ceil(to / length) };
    drawSteps(l, baseline, columns);
    if (process.ended !== null && process.ended < to) {
      drawEnd(process.ended, baseline, perPixel, scheme);
    }
    drawTicks(l, y, columns, scheme);
  }

  // Neighbours with equal steps are drawn as one.
  /** @param {number} l @param {number} baseline @param {LaneColumns} columns */
  function drawSteps(l, baseline, columns) {
    const loop = state.recording.loops[l];
    const { sampleTime } = loop;
    const [from] = state.window;
    let steps = noSteps();
    let last = noSteps();
    let lastX = 0;
    let begin = lowerBound(sampleTime, columns.first * columns.length);
    for (let column = columns.first; column <= columns.end; column++) {
      const start = column * columns.length;
      const x = Math.round((start - from) / columns.perPixel);
      if (column === columns.end) {
        steps.fill(0);
      } else {
        const end = lowerBound(sampleTime, start + columns.length, begin);
        fillSteps(steps, loop, { begin, end, middle: start + columns.length / 2 }, state.recording.interval);
        begin = end;
      }
      if (steps.some((tall, activity) => tall !== last[activity])) {
        let top = baseline;
        for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
          if (last[activity]) {
            top -= last[activity];
            surface.rect(theme.activityColour(activity), lastX, top, x - lastX, last[activity]);
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

  // Draws the end of a process.
  /** @param {number} time @param {number} baseline @param {number} perPixel @param {Scheme} scheme */
  function drawEnd(time, baseline, perPixel, scheme) {
    const x = Math.max(0, Math.round((time - state.window[0]) / perPixel));
    surface.rect(scheme.dim, x, baseline - ROOM, surface.width - x, ROOM);
    surface.flush();
    if (time >= state.window[0]) {
      surface.rect(scheme.text, x, baseline - ROOM, 2, ROOM);
      surface.flush();
    }
    const sentence = `process ended at ${format.duration(time - state.bounds()[0])}`;
    const text = strobe.surface.fit(sentence, surface.width - x - 16);
    if (text) {
      surface.text(text, x + 8, baseline - ROOM / 2, scheme.onDim);
    }
  }

  // Draws where the matches of the search are or, without a search, where the selected function is.
  /** @param {number} l @param {number} y @param {LaneColumns} columns @param {Scheme} scheme */
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
          surface.rect(colour, Math.round((start - from) / columns.perPixel), y + 1, columns.width, 3);
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
    const { selection: { func }, nodes, recording } = state;
    return func < 0 ? null : strobe.callNodes.below(nodes, func, recording.functions.total);
  }

  /** @param {Place} place @param {Place} from */
  function dragRange([x], [fromX]) {
    strobe.timeAxis.chooseRange(x, fromX, lanes.clientWidth);
  }

  // A click selects the function that ran there.
  /** @param {Place} place @param {Place} _from @param {boolean} moved */
  function endRange([x, y], _from, moved) {
    if (moved || !state.recording) {
      return;
    }
    const found = sampleAt(x, y);
    if (found && found.node >= 0) {
      state.selectNode(found.node);
    }
  }

  /** @param {number} x @param {number} y */
  function sampleAt(x, y) {
    const l = order[Math.floor((y - RULER_HEIGHT + scroller.scrollTop) / LANE_HEIGHT)];
    if (y < RULER_HEIGHT || l === undefined) {
      return null;
    }
    const loop = state.recording.loops[l];
    const time = timeAt(x, lanes.clientWidth);
    const known = strobe.gaps.at(loop, time, state.recording.interval);
    if (known?.index === undefined) {
      return { l, time, index: -1, node: -1, gap: known };
    }
    const { index } = known;
    return { l, time, index, node: strobe.totals.nodeOfSample(loop, state.nodes.ofStack[l], index), gap: null };
  }

  /** @param {MouseEvent} event */
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

  /** @param {MouseEvent} event */
  function openMenu(event) {
    const node = (state.recording && sampleAt(...strobe.surface.mousePlace(lanes, event)))?.node ?? -1;
    strobe.functionMenu.open(event, { func: node < 0 ? -1 : state.nodes.func[node], node });
  }

  // The wheel zooms; with Shift, or turned sideways, it pans.
  /** @param {WheelEvent} event */
  function wheel(event) {
    if (!state.recording) {
      return;
    }
    event.preventDefault();
    const target = /** @type {HTMLElement} */ (event.currentTarget);
    if (event.altKey) {
      scroller.scrollTop += timeWindow.wheelDistance(event)[1];
      return;
    }
    const [x] = strobe.surface.mousePlace(target, event);
    const anchor = target !== lanes ? 0.5 : x / target.clientWidth;
    strobe.timeAxis.zoomByWheel(event, anchor);
  }

  return { start };
})();
