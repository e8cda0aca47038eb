/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The axis of time of the views that have one: its ruler and the time that counts, and the gestures and keys that move
// the window or choose a time.
strobe.timeAxis = (() => {
  const { format, state, timeWindow } = strobe;
  // In CSS pixels.
  const RULER_HEIGHT = 20;
  const MARK_DISTANCE = 90;

  // Draws the ruler at the top, over what is there.
  /** @param {DrawingSurface} surface @param {Scheme} scheme */
  function drawRuler(surface, scheme) {
    const { width } = surface;
    const height = RULER_HEIGHT;
    const [from, to] = state.window;
    const step = timeWindow.markStep(state.window, width / MARK_DISTANCE);
    const zero = state.bounds()[0];
    /** @type {Span} */
    const relative = [from - zero, to - zero];
    surface.rect(scheme.header, 0, 0, width, height);
    surface.rect(scheme.line, 0, height - 1, width, 1);
    /** @type {[string, number][]} */
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
  /** @param {DrawingSurface} surface @param {Scheme} scheme */
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
  /** @param {number} x @param {number} width */
  function timeAt(x, width) {
    return state.window[0] + (x / width) * timeWindow.span(state.window);
  }

  /** @param {number} time */
  function clamped(time) {
    const [from, to] = state.bounds();
    return Math.min(Math.max(time, from), to);
  }

  // Makes only the time between two places count.
  /** @param {number} x @param {number} fromX @param {number} width */
  function chooseRange(x, fromX, width) {
    const [from, to] = [Math.min(x, fromX), Math.max(x, fromX)].map(place => clamped(timeAt(place, width)));
    if (to > from) {
      state.change({ range: [from, to] }, "range");
    }
  }

  /** @param {WheelEvent} event @param {number} anchor */
  function zoomByWheel(event, anchor) {
    setWindow(timeWindow.turned(state.window, event, anchor, state.bounds(), state.leastSpan()));
  }

  /** @param {number} part */
  function panBy(part) {
    setWindow(timeWindow.pan(state.window, part, state.bounds()));
  }

  /** @param {Span} window */
  function setWindow(window) {
    state.change({ window }, "window");
  }

  function zoomToRange() {
    if (state.range) {
      const length = Math.max(timeWindow.span(state.range), state.leastSpan());
      setWindow(timeWindow.within([state.range[0], state.range[0] + length], state.bounds()));
    }
  }

  function countVisible() {
    state.change({ range: [...state.window] }, "range");
  }

  function clearRange() {
    state.change({ range: null }, "range");
  }

  // Handles the keys of all views along a time axis. True if the key was one of them.
  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) {
      return false;
    }
    const moved = timeWindow.keyed(state.window, event.key, state.bounds(), state.leastSpan());
    /** @type {Record<string, () => void>} */
    const others = { s: countVisible, z: zoomToRange };
    const action = moved ? () => setWindow(moved) : others[event.key];
    if (!action) {
      return false;
    }
    event.preventDefault();
    action();
    return true;
  }

  return {
    RULER_HEIGHT, drawRuler, drawRange, timeAt, chooseRange, setWindow, panBy, zoomByWheel, zoomToRange, countVisible,
    clearRange, key,
  };
})();
