/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The flame chart: what ran when. It has a section for each event loop and a row for each depth of the stack. Callers
// are above their callees.
//
// Each column of pixels shows the sample that was current at the middle of the column. Equal neighbours become one box.
// So drawing takes as long for a million samples as for a thousand, and the visible shares are true. Columns begin at
// multiples of their length, so that panning moves the picture and does not make it flicker.
/** @typedef {{ l: number, top: number, rows: number }} Section */
strobe.flameChart = (() => {
  const { state, theme, timeWindow } = strobe;
  const { lowerBound, IDLE, UNKNOWN_ACTIVITY } = strobe.recording;
  const { meeting } = strobe.callNodes;
  const { Boxes, Scroll, ROW_HEIGHT, point, walk } = strobe.flameBoxes;
  const { RULER_HEIGHT } = strobe.timeAxis;
  const HEADER_HEIGHT = 22;
  const SECTION_GAP = 8;

  /** @type {HTMLCanvasElement} */
  let canvas;
  /** @type {DrawingSurface} */
  let surface;
  /** @type {InstanceType<typeof Boxes>} */
  let boxes;
  const scroll = new Scroll();
  // { l, top, rows } of the event loops that are shown.
  /** @type {Section[]} */
  let sections = [];
  // { l, x, y, width, height } of the stretches without samples that were drawn.
  /** @type {{ l: number, x: number, y: number, width: number, height: number }[]} */
  let unknown = [];

  function start() {
    canvas = /** @type {HTMLCanvasElement} */ (document.getElementById("flame-chart-canvas"));
    surface = new strobe.surface.Surface(canvas);
    boxes = new Boxes(surface);
    strobe.surface.drag(canvas, { start: beginDrag, move: continueDrag, end: endDrag });
    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("mousemove", hover);
    canvas.addEventListener("mouseleave", () => strobe.tip.hide());
    canvas.addEventListener("contextmenu", openMenu);
    canvas.addEventListener("dblclick", zoomToBox);
    canvas.addEventListener("keydown", key);
    state.listeners.push(refresh);
  }

  /** @param {Set<string>} changed */
  function refresh(changed) {
    if (state.recording && state.tab === "flame-chart") {
      if (changed.has("recording")) {
        scroll.top = 0;
      }
      if ((changed.has("selection") || changed.has("tab")) && !dragging) {
        revealSelection();
      }
      draw();
    }
  }

  function measure() {
    let top = RULER_HEIGHT;
    sections = [];
    state.lanes().forEach(l => {
      if (state.isLoopShown(l)) {
        const rows = state.nodes.depths[l];
        sections.push({ l, top, rows });
        top += HEADER_HEIGHT + rows * ROW_HEIGHT + SECTION_GAP;
      }
    });
    // The present sections, which may not have been drawn yet.
    scroll.measure(top, canvas.clientHeight);
  }

  // Brings the selected function onto the screen if it is not there: moves to a time at which it ran, and to its row.
  function revealSelection() {
    const { node, func } = state.selection;
    const height = canvas.clientHeight;
    if (node < 0 || !height) {
      return;
    }
    if (boxes.list().some(box => box.node === node && box.y >= RULER_HEIGHT && box.y + box.height <= height)) {
      return;
    }
    const found = nearestSample(node) ?? nearestSample(strobe.totals.heaviestNode(state.totals, func));
    if (!found) {
      return;
    }
    const [from, to] = state.window;
    if (found.time < from || found.time >= to) {
      const length = to - from;
      strobe.timeAxis.setWindow(timeWindow.within([found.time - length / 2, found.time + length / 2], state.bounds()));
    }
    measure();
    const { top } = /** @type {Section} */ (sections.find(({ l }) => l === found.l));
    const y = top + HEADER_HEIGHT + state.nodes.depth[node] * ROW_HEIGHT;
    scroll.reveal(y - RULER_HEIGHT, y + ROW_HEIGHT);
  }

  // The sample that has a node on its path and is nearest to the middle of the screen: { l, time }.
  /** @param {number} node */
  function nearestSample(node) {
    if (node < 0) {
      return null;
    }
    const { nodes, recording, range } = state;
    const below = strobe.callNodes.below(nodes, nodes.func[node], recording.functions.total);
    const middle = (state.window[0] + state.window[1]) / 2;
    /** @type {{ l: number, time: number } | null} */
    let best = null;
    for (const l of state.lanes().filter(state.isLoopShown)) {
      const loop = recording.loops[l];
      const [first, end] = strobe.totals.samplesWithin(loop, range);
      for (let i = first; i < end; i++) {
        const time = loop.sampleTime[i];
        if (best && Math.abs(time - middle) >= Math.abs(best.time - middle)) {
          continue;
        }
        const leaf = strobe.totals.nodeOfSample(loop, nodes.ofStack[l], i);
        if (leaf >= 0 && below[leaf] && isOnPath(node, leaf)) {
          best = { l, time };
        }
      }
    }
    return best;
  }

  /** @param {number} node @param {number} leaf */
  function isOnPath(node, leaf) {
    const { parent, depth } = state.nodes;
    while (leaf >= 0 && depth[leaf] > depth[node]) {
      leaf = parent[leaf];
    }
    return leaf === node;
  }

  function draw() {
    if (!surface.begin()) {
      return;
    }
    measure();
    const scheme = theme.scheme();
    boxes.clear();
    unknown = [];
    for (const section of sections) {
      const y = section.top - scroll.top;
      if (y < surface.height && y + HEADER_HEIGHT + section.rows * ROW_HEIGHT > 0) {
        layOut(section, y + HEADER_HEIGHT);
      }
    }
    boxes.draw();
    for (const { x, y, width, height } of unknown) {
      surface.hatch(scheme.faint, x, y, width, height);
    }
    drawHeaders(scheme);
    strobe.timeAxis.drawRange(surface, scheme);
    strobe.timeAxis.drawRuler(surface, scheme);
    surface.flush();
    scroll.draw(surface, scheme);
  }

  // The boxes of an event loop whose first row is at y. A call that is on the stack on both sides of a stretch without
  // samples is drawn as one box.
  /** @param {Section} section @param {number} y */
  function layOut({ l, rows }, y) {
    const loop = state.recording.loops[l];
    const { parent, depth } = state.nodes;
    const [from, to] = state.window;
    const perPixel = (to - from) / surface.width;
    // The rows that are on the screen.
    const firstRow = Math.max(0, Math.floor((RULER_HEIGHT - y) / ROW_HEIGHT));
    const endRow = Math.min(rows, Math.ceil((surface.height - y) / ROW_HEIGHT));
    // The box that is open in each row; below, where it begins and with which sample.
    const open = new Int32Array(rows).fill(-1);
    const since = new Float64Array(rows);
    const firstSample = new Int32Array(rows);
    // The sample of the column before.
    let lastSample = -1;
    let openRows = 0;
    let last = -1;
    const firstColumn = Math.floor(from / perPixel);
    const endColumn = Math.ceil(to / perPixel);
    const { sampleTime, sampleCount } = loop;
    const { interval } = state.recording;
    let index = 0;
    // The stretch without samples that the column before is in: where it begins, and how many rows the stacks beside it
    // have.
    /** @type {{ x: number, rows: number } | null} */
    let gap = null;
    /** @param {number} x */
    const endGap = x => {
      if (gap) {
        unknown.push({ l, x: gap.x, y, width: x - gap.x, height: Math.max(1, gap.rows) * ROW_HEIGHT - 1 });
        gap = null;
      }
    };
    for (let column = firstColumn; column <= endColumn; column++) {
      const x = (column * perPixel - from) / perPixel;
      let node = -1;
      let isInGap = false;
      if (column < endColumn) {
        const time = (column + 0.5) * perPixel;
        // The index after that of the current sample.
        if (index < sampleCount && sampleTime[index] <= time) {
          index = lowerBound(sampleTime, time + 1e-9, index);
        }
        if (index > 0) {
          const end = strobe.gaps.endOf(loop, index - 1, interval);
          const isBetween = index < sampleCount;
          // A gap that is narrower than a pixel cannot be seen.
          if (time < end || (isBetween && sampleTime[index] - end < perPixel)) {
            node = nodeAt(l, index - 1);
          } else if (isBetween) {
            const [before, after] = [nodeAt(l, index - 1), nodeAt(l, index)];
            node = meeting(state.nodes, before, after);
            isInGap = true;
            gap ??= { x, rows: 0 };
            gap.rows = Math.max(gap.rows, before < 0 ? 0 : depth[before] + 1, after < 0 ? 0 : depth[after] + 1);
          }
        }
      }
      if (!isInGap) {
        endGap(x);
      }
      if (node === last) {
        lastSample = index - 1;
        continue;
      }
      // Up to where the two paths meet.
      let common = node;
      const rowsNow = node < 0 ? 0 : depth[node] + 1;
      while (common >= 0 && open[depth[common]] !== common) {
        common = parent[common];
      }
      const kept = common < 0 ? 0 : depth[common] + 1;
      for (let row = kept; row < openRows; row++) {
        if (row >= firstRow && row < endRow) {
          boxes.add(open[row], since[row], x, y + row * ROW_HEIGHT, l, firstSample[row], lastSample);
        }
        open[row] = -1;
      }
      for (let at = node; at !== common; at = parent[at]) {
        open[depth[at]] = at;
        since[depth[at]] = x;
        firstSample[depth[at]] = index - 1;
      }
      openRows = rowsNow;
      last = node;
      lastSample = index - 1;
    }
  }

  // The time that a box stands for, including the part that is off the screen: that of its samples, and of the
  // neighbouring samples that have the same call on the stack. If the call is on both sides of a stretch without
  // samples, it went on in that stretch.
  /** @param {Pick<FlameBox, "node" | "l" | "first" | "last">} box @returns {Span} */
  function timeOf({ node, l, first, last }) {
    const loop = state.recording.loops[l];
    /** @param {number} index */
    const isThere = index => {
      const leaf = nodeAt(l, index);
      return leaf >= 0 && isOnPath(node, leaf);
    };
    while (first > 0 && isThere(first - 1)) {
      first--;
    }
    while (last + 1 < loop.sampleCount && isThere(last + 1)) {
      last++;
    }
    return [loop.sampleTime[first], strobe.gaps.endOf(loop, last, state.recording.interval)];
  }

  // The node of a sample; -1 if no part of it is shown.
  /** @param {number} l @param {number} index */
  function nodeAt(l, index) {
    const loop = state.recording.loops[l];
    const activity = loop.sampleActivity[index];
    const isIdle = loop.sampleStack[index] < 0 && (activity === IDLE || activity === UNKNOWN_ACTIVITY);
    return isIdle && !state.filters.idle ? -1 : strobe.totals.nodeOfSample(loop, state.nodes.ofStack[l], index);
  }

  /** @param {Scheme} scheme */
  function drawHeaders(scheme) {
    /** @type {[string, number][]} */
    const labels = [];
    const several = state.recording.processes.length > 1;
    for (const { l, top, rows } of sections) {
      const y = top - scroll.top;
      if (y > surface.height || y + HEADER_HEIGHT < RULER_HEIGHT) {
        continue;
      }
      const loop = state.recording.loops[l];
      const process = state.recording.processes[loop.process];
      surface.rect(scheme.line, 0, y + HEADER_HEIGHT - 2, surface.width, 1);
      const ended = process.ended === null ? "" : " · process ended";
      labels.push([`${several ? `${process.label} · ` : ""}${loop.label}${ended}`, y]);
      if (process.ended !== null && process.ended < state.window[1]) {
        const x = ((process.ended - state.window[0]) / timeWindow.span(state.window)) * surface.width;
        surface.rect(scheme.text, Math.max(0, Math.round(x)), y + HEADER_HEIGHT, 2, rows * ROW_HEIGHT);
      }
    }
    surface.flush();
    for (const [label, y] of labels) {
      surface.text(strobe.surface.fit(label, surface.width - 24), 6, y + HEADER_HEIGHT / 2, scheme.faint);
    }
  }

  /** @param {MouseEvent} event */
  function openMenu(event) {
    const [x, y] = strobe.surface.mousePlace(canvas, event);
    const box = y < RULER_HEIGHT ? undefined : boxes.boxAt(x, y);
    if (box) {
      state.selectNode(box.node, timeOf(box));
    }
    strobe.functionMenu.open(event, box ? { func: state.nodes.func[box.node], node: box.node } : {});
  }

  // Dragging pans, or, with Shift, chooses the time that counts.
  /** @type {any} */
  let dragging = null;

  /** @param {Place} place @param {MouseEvent} event */
  function beginDrag([x, y], event) {
    if (!state.recording) {
      return false;
    }
    const onBar = scroll.isOnBar(x, surface.width);
    dragging = { kind: onBar ? "bar" : event.shiftKey ? "range" : "pan", window: state.window, top: scroll.top, y };
    return true;
  }

  /** @param {Place} place @param {Place} from */
  function continueDrag([x, y], [fromX, fromY]) {
    strobe.tip.hide();
    const { kind, window, top } = dragging;
    if (kind === "range") {
      strobe.timeAxis.chooseRange(x, fromX, surface.width);
      return;
    }
    scroll.top = top;
    if (kind === "bar") {
      scroll.dragBy(y - fromY);
      state.change({}, "window");
      return;
    }
    scroll.by(fromY - y);
    strobe.timeAxis.setWindow(timeWindow.pan(window, (fromX - x) / surface.width, state.bounds()));
  }

  /** @param {Place} place @param {Place} _from @param {boolean} moved */
  function endDrag([x, y], _from, moved) {
    const { kind } = dragging;
    if (!moved && kind !== "bar" && y >= RULER_HEIGHT) {
      const box = boxes.boxAt(x, y);
      state.selectNode(box?.node ?? -1, box ? timeOf(box) : null);
    }
    // The box that was clicked stays where it is.
    state.flush();
    dragging = null;
  }

  /** @param {MouseEvent} event */
  function hover(event) {
    if (!state.recording || event.buttons) {
      return;
    }
    const [x, y] = strobe.surface.mousePlace(canvas, event);
    if (y < RULER_HEIGHT) {
      point(canvas, event);
      return;
    }
    const box = boxes.boxAt(x, y);
    const gap = gapAt(x, y);
    point(canvas, event, box?.node, [
      ...box ? strobe.tip.linesOf(box.node, timeOf(box), gap ? null : placeAt(box, x)) : [], ...gap ? [strobe.tip.lineOfGap(gap)] : [],
    ]);
  }

  // Where in the source a box's call was, at the time that a place on the canvas stands for.
  /** @param {FlameBox} box @param {number} x */
  function placeAt({ node, l, first, last }, x) {
    const [from, to] = state.window;
    const time = from + (x / surface.width) * (to - from);
    const index = lowerBound(state.recording.loops[l].sampleTime, time + 1e-9) - 1;
    return strobe.lines.inSample(state.totals, l, Math.max(first, Math.min(index, last)), node);
  }

  // The stretch without samples that is drawn at a place.
  /** @param {number} x @param {number} y */
  function gapAt(x, y) {
    const drawn = unknown.find(one => x >= one.x && x < one.x + one.width && y >= one.y && y < one.y + one.height);
    if (!drawn) {
      return null;
    }
    const [from, to] = state.window;
    const known = strobe.gaps.at(
      state.recording.loops[drawn.l], from + (x / surface.width) * (to - from), state.recording.interval);
    return known?.after === undefined ? null : known;
  }

  /** @param {WheelEvent} event */
  function wheel(event) {
    if (!state.recording) {
      return;
    }
    event.preventDefault();
    strobe.tip.hide();
    const [x] = strobe.surface.mousePlace(canvas, event);
    if (event.altKey || scroll.isOnBar(x, surface.width)) {
      scrollBy(timeWindow.wheelDistance(event)[1]);
    } else {
      strobe.timeAxis.zoomByWheel(event, x / surface.width);
    }
  }

  /** @param {number} distance */
  function scrollBy(distance) {
    scroll.by(distance);
    state.change({}, "window");
  }

  // To the box that is under the mouse.
  /** @param {MouseEvent} event */
  function zoomToBox(event) {
    const [x, y] = strobe.surface.mousePlace(canvas, event);
    const box = boxes.boxAt(x, y);
    if (box) {
      const [begin, end] = timeOf(box);
      const length = Math.max(end - begin, state.leastSpan());
      strobe.timeAxis.setWindow(timeWindow.within([begin - length * 0.02, begin + length * 1.02], state.bounds()));
    }
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (!state.recording || walk(event) || strobe.timeAxis.key(event)) {
      return;
    }
    const distance = scroll.distanceOf(event.key);
    if (distance !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      scrollBy(distance);
    }
  }

  return { start, timeOf, boxes: () => boxes.list(), gaps: () => unknown, canvas: () => canvas };
})();
