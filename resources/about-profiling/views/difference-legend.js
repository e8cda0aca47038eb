/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// What the colours of the flame graph mean when it shows a comparison.
strobe.differenceLegend = (() => {
  const { state, theme } = strobe;
  const { element, byId } = strobe.dom;

  function start() {
    theme.onChange(build);
    state.listeners.push(() => {
      byId("difference-legend").hidden = !state.difference || state.tab !== "flame-graph";
    });
    build();
  }

  function build() {
    const scheme = theme.scheme();
    /** @type {(colours: string[], text: string) => HTMLElement} */
    const entry = (colours, text) => element("li", {},
      ...colours.map(backgroundColor => element("span", { class: "swatch", style: { backgroundColor } })), text);
    byId("difference-legend").replaceChildren(
      entry(scheme.faster.toReversed(), "faster"), entry([scheme.same], "no clear change"), entry(scheme.slower, "slower"));
  }

  return { start };
})();
