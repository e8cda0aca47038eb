/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A window on a line: [from, to] within bounds, of time or of anything else. All functions give a new one.
strobe.timeWindow = (() => {
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

  return { span, within, zoom, pan, markStep, marks };
})();
