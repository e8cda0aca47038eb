/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The keys, in an overlay that `?` opens.
strobe.help = (() => {
  const { element, byId } = strobe.dom;
  /** @type {[string, [string[], string][]][]} */
  const KEYS = [
    ["Everywhere", [
      [["?"], "this list"],
      [["/"], "go to the search; Enter there selects the heaviest match"],
      [["1", "…", "5"], "flame chart, flame graph, call tree, bottom-up, sources"],
      [["d"], "show or hide the details"],
      [["m"], "open a menu for the selected function: copy it, search for it, show it in another view"],
      [["Esc"], "close what is open; or clear the time range, and then the selection"],
    ]],
    ["Time line and flame chart", [
      [["←", "→"], "pan"],
      [["+", "−"], "zoom, wherever the focus is"],
      [["0"], "the whole recording, wherever the focus is"],
      [["Home", "End"], "go to its beginning, go to its end"],
      [["s"], "count only the time that is on the screen"],
      [["z"], "zoom to the time that counts"],
      [["↑", "↓"], "scroll the rows of the flame chart"],
    ]],
    ["Flame chart and flame graph", [
      [["Shift", "↑"], "select the caller"],
      [["Shift", "↓"], "select the heaviest callee"],
      [["Shift", "←"], "select the sibling before, or after with →"],
      [["z"], "in the flame graph: zoom to the selected box, and 0 for all"],
    ]],
    ["Call tree, bottom-up, sources", [
      [["↑", "↓"], "one row up or down"],
      [["→", "←"], "open a row; close it, or go to the row that contains it"],
      [["*"], "open all that is below a row"],
      [["h"], "in the sources: go to the hottest line of the script"],
      [["Home", "End"], "the first row, the last row"],
    ]],
    ["Mouse", [
      [["drag"], "on the time line: choose the time that counts; on the flame chart and graph: pan"],
      [["Shift", "drag"], "on the flame chart: choose the time that counts"],
      [["wheel"], "zoom; with Shift pan, with Alt scroll the rows"],
      [["double click"], "zoom to what is under the mouse"],
      [["right click"], "open a menu for the function under the mouse"],
    ]],
  ];

  /** @type {any} */
  let focusedBefore = null;

  function start() {
    byId("help-keys").replaceChildren(...KEYS.map(([title, keys]) => element("section", {},
      element("h3", { text: title }),
      element("dl", {}, ...keys.flatMap(([names, what]) => [
        element("dt", {}, ...names.map(name => (name === "…" ? name : element("kbd", { text: name })))),
        element("dd", { text: what }),
      ])))));
    byId("help-button").addEventListener("click", open);
    byId("help-close").addEventListener("click", close);
    byId("help").addEventListener("mousedown", (/** @type {MouseEvent} */ event) => {
      if (event.target === byId("help")) {
        close();
      }
    });
    byId("help").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      // The focus stays on the only control of the overlay.
      if (event.key === "Tab") {
        event.preventDefault();
      }
    });
  }

  function open() {
    focusedBefore = document.activeElement;
    byId("help").hidden = false;
    byId("help-close").focus();
  }

  // True if it was open.
  function close() {
    if (byId("help").hidden) {
      return false;
    }
    byId("help").hidden = true;
    focusedBefore?.focus?.();
    return true;
  }

  return { start, open, close, isOpen: () => !byId("help").hidden };
})();
