/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The lines between parts of the page. The mouse or the arrow keys move them, to make a part larger.
strobe.splitter = (() => {
  const { byId } = strobe.dom;
  const root = document.documentElement;
  const KEY_STEP = 16;
  // Each side keeps at least this many CSS pixels.
  const LEAST = 60;

  function start() {
    attach(byId("timeline-splitter"), {
      part: byId("lane-list"), isAcross: () => true, direction: 1, variable: () => "--lanes-limit",
      most: () => innerHeight - 320,
    });
    const areBelow = () => getComputedStyle(byId("source-panes")).flexDirection === "column";
    attach(byId("sources-splitter"), {
      part: byId("source-list"), isAcross: areBelow, direction: 1,
      variable: () => (areBelow() ? "--sources-height" : "--sources-width"),
      most: () => (areBelow() ? byId("source-panes").clientHeight : byId("source-panes").clientWidth) - 2 * LEAST,
    });
    const isBelow = () => getComputedStyle(byId("content")).flexDirection === "column";
    attach(byId("details-splitter"), {
      part: byId("details-panel"), isAcross: isBelow, direction: -1,
      variable: () => (isBelow() ? "--details-height" : "--details-width"),
      most: () => (isBelow() ? byId("content").clientHeight : byId("content").clientWidth) - 2 * LEAST,
    });
  }

  // `part` is the part to resize, `direction` is 1 if the part comes before the line, `isAcross` says whether the line
  // is horizontal, and `variable` is the CSS variable for the part's size.
  /**
   * @param {HTMLElement} line
   * @param {{ part: HTMLElement, isAcross: () => boolean, direction: number, variable: () => string, most: () => number }} part
   */
  function attach(line, { part, isAcross, direction, variable, most }) {
    const size = () => (isAcross() ? part.clientHeight : part.clientWidth);
    /** @param {number} value */
    const set = value => {
      root.style.setProperty(variable(), `${Math.round(Math.max(LEAST, Math.min(value, most())))}px`);
      line.setAttribute("aria-orientation", isAcross() ? "horizontal" : "vertical");
      line.setAttribute("aria-valuenow", String(Math.round(size())));
      strobe.state.change({}, "size");
    };
    line.setAttribute("aria-orientation", isAcross() ? "horizontal" : "vertical");
    line.addEventListener("mousedown", press => {
      if (press.button !== 0) {
        return;
      }
      press.preventDefault();
      line.focus({ preventScroll: true });
      const before = size();
      /** @param {MouseEvent} event */
      const moving = event => {
        const distance = isAcross() ? event.clientY - press.clientY : event.clientX - press.clientX;
        set(before + direction * distance);
      };
      const ending = () => {
        removeEventListener("mousemove", moving, true);
        removeEventListener("mouseup", ending, true);
      };
      addEventListener("mousemove", moving, true);
      addEventListener("mouseup", ending, true);
    });
    line.addEventListener("dblclick", () => {
      root.style.removeProperty(variable());
      strobe.state.change({}, "size");
    });
    line.addEventListener("keydown", event => {
      const [less, more] = isAcross() ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
      const step = { [less]: -KEY_STEP, [more]: KEY_STEP }[event.key];
      if (step) {
        event.preventDefault();
        set(size() + direction * step);
      }
    });
  }

  return { start };
})();
