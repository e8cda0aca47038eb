/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A window on a line, of time or of anything else: [from, to] within bounds. All functions return a new
// window.
strobe.timeWindow = (() => {
  const ZOOM_PER_PIXEL = 0.0022;
  // A turn of the wheel by this many pixels pans by the whole window.
  const WHOLE_TURN = 600;
  const KEY_ZOOM = 1.5;
  const KEY_PAN = 0.1;

  /** @param {Span} span */
  function span([from, to]) {
    return to - from;
  }

  // The window, moved as little as possible to be within the bounds. If it is longer than the bounds, it
  // becomes the bounds.
  /** @param {Span} span @param {Span} bounds @returns {Span} */
  function within([from, to], [start, end]) {
    const length = Math.min(to - from, end - start);
    const begin = Math.min(Math.max(from, start), end - length);
    return [begin, begin + length];
  }

  // The window, longer by a factor. The point `anchor` (0 to 1 in the window) stays where it is.
  /** @param {Span} window @param {number} factor @param {number} anchor @param {Span} bounds @param {number} least */
  function zoom(window, factor, anchor, bounds, least) {
    const length = Math.min(Math.max(span(window) * factor, least), span(bounds));
    const fixed = window[0] + span(window) * anchor;
    return within([fixed - length * anchor, fixed + length * (1 - anchor)], bounds);
  }

  // The window, moved by a part of its length.
  /** @param {Span} window @param {number} part @param {Span} bounds */
  function pan(window, part, bounds) {
    const distance = span(window) * part;
    return within([window[0] + distance, window[1] + distance], bounds);
  }

  // The turn of a wheel in pixels, whatever its unit is. The distance is read before the unit, because Firefox
  // then gives it in pixels. If the unit were read first, Firefox would give lines, whose height is not known.
  /** @param {WheelEvent} event */
  function wheelDistance(event) {
    const { deltaX, deltaY } = event;
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    return [deltaX * unit, deltaY * unit];
  }

  // The window after a turn of the wheel: zoomed around `anchor`. With Shift, or with a sideways turn, it
  // is panned.
  /**
   * @param {Span} window
   * @param {WheelEvent} event
   * @param {number} anchor
   * @param {Span} bounds
   * @param {number} least
   */
  function turned(window, event, anchor, bounds, least) {
    const [dx, dy] = wheelDistance(event);
    return event.shiftKey || Math.abs(dx) > Math.abs(dy)
      ? pan(window, (dx || dy) / WHOLE_TURN, bounds)
      : zoom(window, Math.exp(dy * ZOOM_PER_PIXEL), anchor, bounds, least);
  }

  // The window after a key; null if the key does not move windows.
  /** @param {Span} window @param {string} key @param {Span} bounds @param {number} least @returns {Span | null} */
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

  // The distance between marks, which is 1, 2 or 5 times a power of ten. There are at most `most` marks.
  /** @param {Span} window @param {number} most */
  function markStep(window, most) {
    const least = span(window) / Math.max(most, 1);
    const power = 10 ** Math.floor(Math.log10(least));
    return power * ([1, 2, 5, 10].find(times => times * power >= least * (1 - 1e-9)) ?? 10);
  }

  // Where the marks are.
  /** @param {Span} window @param {number} step */
  function marks(window, step) {
    const result = [];
    for (let number = Math.ceil(window[0] / step - 1e-9); number * step <= window[1]; number++) {
      result.push(number * step);
    }
    return result;
  }

  return { span, within, zoom, pan, wheelDistance, turned, keyed, markStep, marks };
})();
