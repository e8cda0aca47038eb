/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The upper part of the time line: the whole recording, and which part of it is on the screen and which counts.
strobe.overview = (() => {
  const { state, theme, timeWindow } = strobe;
  const { byId } = strobe.dom;
  const { setWindow, key } = strobe.timeAxis;
  // In CSS pixels.
  const COLUMN_WIDTH = 2;

  /** @type {HTMLCanvasElement} */
  let canvas;
  /** @type {DrawingSurface} */
  let surface;

  function start() {
    canvas = byId("overview");
    surface = new strobe.surface.Surface(canvas);
    canvas.addEventListener("contextmenu", event => event.preventDefault());
    strobe.surface.drag(canvas, { start: moveWindow, move: moveWindow });
    canvas.addEventListener("keydown", event => key(event));
  }

  // How busy all event loops together are, over the whole recording.
  function draw() {
    if (!surface.begin()) {
      return;
    }
    const scheme = theme.scheme();
    const { width, height } = surface;
    const columns = Math.max(1, Math.floor(width / COLUMN_WIDTH));
    const { busy, isUnknown } = strobe.columns.busyParts(state.recording, state.isLoopShown, state.bounds(), columns);
    surface.rect(scheme.header, 0, 0, width, height);
    surface.flush();
    for (let column = 0; column < columns; column++) {
      if (busy[column] > 0) {
        const tall = Math.max(1, Math.round(busy[column] * (height - 2)));
        surface.rect(scheme.strong, column * COLUMN_WIDTH, height - tall, COLUMN_WIDTH, tall);
      }
    }
    surface.flush();
    // The columns in which nothing is known about any event loop.
    let begin = -1;
    for (let column = 0; column <= columns; column++) {
      const isHatched = column < columns && isUnknown[column] === 1;
      if (isHatched && begin < 0) {
        begin = column;
      } else if (!isHatched && begin >= 0) {
        surface.hatch(scheme.faint, begin * COLUMN_WIDTH, 1, (column - begin) * COLUMN_WIDTH, height - 2);
        begin = -1;
      }
    }
  }

  // The frame around what is on the screen.
  function placeWindow() {
    const [from, to] = state.bounds();
    /** @param {number} time */
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

  /** @param {Place} value */
  function moveWindow([x]) {
    const [from, to] = state.bounds();
    const length = timeWindow.span(state.window);
    const middle = from + (x / canvas.clientWidth) * (to - from);
    setWindow(timeWindow.within([middle - length / 2, middle + length / 2], [from, to]));
  }

  return { start, draw, placeWindow };
})();
