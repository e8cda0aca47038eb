/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A window on a line: [from, to] within bounds, of time or of anything else. All functions give a new one.
strobe.timeWindow = (() => {
  const ZOOM_PER_PIXEL = 0.0022;
  // Pixels of the wheel that pan by the whole window.
  const WHOLE_TURN = 600;
  const KEY_ZOOM = 1.5;
  const KEY_PAN = 0.1;

  function span([from, to]) {
    return to - from;
  }

  // As long as it is, moved as little as keeps it within the bounds; never longer than they are.
  function within([from, to], [start, end]) {
    const length = Math.min(to - from, end - start);
    const begin = Math.min(Math.max(from, start), end - length);
    return [begin, begin + length];
  }

  // Longer by a factor, with the point `anchor` (0 to 1 in the window) where it is.
  function zoom(window, factor, anchor, bounds, least) {
    const length = Math.min(Math.max(span(window) * factor, least), span(bounds));
    const fixed = window[0] + span(window) * anchor;
    return within([fixed - length * anchor, fixed + length * (1 - anchor)], bounds);
  }

  // Moved by a part of its length.
  function pan(window, part, bounds) {
    const distance = span(window) * part;
    return within([window[0] + distance, window[1] + distance], bounds);
  }

  // By a turn of the wheel: zoomed about `anchor`, or, with Shift or turned sideways, panned.
  function turned(window, event, anchor, bounds, least) {
    const [dx, dy] = strobe.surface.wheelDistance(event);
    return event.shiftKey || Math.abs(dx) > Math.abs(dy)
      ? pan(window, (dx || dy) / WHOLE_TURN, bounds)
      : zoom(window, Math.exp(dy * ZOOM_PER_PIXEL), anchor, bounds, least);
  }

  // By a key; null if it is none that moves a window.
  function keyed(window, key, bounds, least) {
    const length = span(window);
    switch (key) {
      case "ArrowLeft": return pan(window, -KEY_PAN, bounds);
      case "ArrowRight": return pan(window, KEY_PAN, bounds);
      case "+": case "=": return zoom(window, 1 / KEY_ZOOM, 0.5, bounds, least);
      case "-": return zoom(window, KEY_ZOOM, 0.5, bounds, least);
      case "0": return [...bounds];
      case "Home": return [bounds[0], bounds[0] + length];
      case "End": return [bounds[1] - length, bounds[1]];
      default: return null;
    }
  }

  // The distance of marks, 1, 2 or 5 times a power of ten, so that there are at most `most` of them.
  function markStep(window, most) {
    const least = span(window) / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5, 10].find(times => times * power >= least * (1 - 1e-9)) ?? 10);
  }

  // Where the marks are.
  function marks(window, step) {
    const result = [];
    for (let number = Math.ceil(window[0] / step - 1e-9); number * step <= window[1]; number++) {
      result.push(number * step);
    }
    return result;
  }

  return { span, within, zoom, pan, turned, keyed, markStep, marks };
})();
