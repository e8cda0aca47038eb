/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// Which colours the page has now: those of the palette for the light or for the dark theme, as the person's system asks.
strobe.theme = (() => {
  const { ACTIVITIES, LIGHT, DARK } = strobe.palette;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  function scheme() {
    return dark.matches ? DARK : LIGHT;
  }

  /** @param {number} activity */
  function activityColour(activity) {
    const entry = ACTIVITIES[activity < 0 ? ACTIVITIES.length - 1 : activity];
    return dark.matches ? entry.dark : entry.light;
  }

  // The colour of the mark beside a function's name.
  /** @param {FunctionTable} functions @param {number} id */
  function swatch(functions, id) {
    return functions.isActivity(id) ? activityColour(id - functions.count) : functions.colour(id, scheme());
  }

  return { scheme, activityColour, swatch, onChange: (/** @type {() => void} */ listener) => dark.addEventListener("change", listener) };
})();
