/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The names beside the lanes of the time line, with a box to leave an event loop out.
strobe.laneLabels = (() => {
  const { format, state } = strobe;
  const { element, button, byId } = strobe.dom;
  const { RULER_HEIGHT } = strobe.timeAxis;
  const LANE_HEIGHT = 27;
  // The font size of the names of lanes, in CSS pixels.
  const NAME_SIZE = 12;
  const MORE_SIZE = 10;
  const LABEL_MARGINS = 46;
  const LEAST_LABELS = 140;
  const MOST_LABELS = 340;
  const MOST_LABELS_PART = 0.3;

  /** @type {HTMLElement} */
  let scroller;
  // The event loops that have a lane.
  /** @type {number[]} */
  let order = [];

  function start() {
    scroller = byId("lane-list");
    byId("all-loops").addEventListener("click", () => setLoops(() => 1));
  }

  // A row per event loop, with a box to leave it out.
  /** @param {number[]} shown @param {number} width */
  function build(shown, width) {
    order = shown;
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

  /** @param {number} i @param {number} column */
  function makeLabel(i, column) {
    const loop = state.recording.loops[i];
    const process = state.recording.processes[loop.process];
    const pid = process.pid === null ? "" : ` (pid ${process.pid})`;
    const box = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", checked: true }));
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
  /** @param {number} i */
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
  /** @param {string} text @param {number} size @param {number} column */
  function fitted(text, size, column) {
    const room = (column - LABEL_MARGINS) * (strobe.surface.FONT_SIZE / size);
    return strobe.surface.fitMiddle(text, room) || text;
  }

  /** @param {(isShown: number, l: number) => number} value */
  function setLoops(value) {
    const { filters } = state;
    state.change({ filters: { ...filters, loops: filters.loops.map(value) } }, "totals");
  }

  // Marks the event loops that are left out.
  function mark() {
    for (const row of /** @type {NodeListOf<HTMLElement>} */ (scroller.querySelectorAll(".lane"))) {
      const isShown = state.isLoopShown(Number(row.dataset.eventLoop));
      row.classList.toggle("left-out", !isShown);
      /** @type {HTMLInputElement} */ (row.querySelector("input")).checked = isShown;
    }
    byId("all-loops").disabled = state.filters.loops.every(Boolean);
  }

  return { LANE_HEIGHT, start, build, mark };
})();
