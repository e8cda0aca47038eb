/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A few lines beside the mouse that say what is under it. Everything in them is also in the details, which need no
// mouse. So the lines are hidden from screen readers.
strobe.tip = (() => {
  const DISTANCE = 14;
  /** @type {HTMLElement | null} */
  let box = null;

  /** @param {MouseEvent} event @param {string[]} lines */
  function show(event, lines) {
    box ??= /** @type {HTMLElement} */ (document.getElementById("tip"));
    box.replaceChildren(...lines.map((text, i) => strobe.dom.element("div", { class: i === 0 && "first", text })));
    box.hidden = false;
    const { width, height } = box.getBoundingClientRect();
    const x = event.clientX + DISTANCE + width > innerWidth ? event.clientX - DISTANCE - width : event.clientX + DISTANCE;
    const y = event.clientY + DISTANCE + height > innerHeight ? event.clientY - DISTANCE - height : event.clientY + DISTANCE;
    box.style.left = `${Math.max(2, x)}px`;
    box.style.top = `${Math.max(2, y)}px`;
  }

  function hide() {
    if (box) {
      box.hidden = true;
    }
  }

  // The lines about a node. If `time` is given, they are also about that stretch of time, in which the node was on the
  // stack. `at` says where the node was then: { place, isLeaf }.
  /** @param {number} node @param {Span | null} time @param {{ place: number, isLeaf: boolean } | null} at */
  function linesOf(node, time = null, at = null) {
    const { recording, totals, nodes, difference } = strobe.state;
    const { format } = strobe;
    const id = nodes.func[node];
    const place = recording.functions.place(id);
    const line = at && strobe.lines.sentence(recording, at.place);
    /** @type {(what: string, number: number, samples: number) => string} */
    const weight = (what, number, samples) => [
      `${what} ${format.duration(number * recording.interval)}`, format.percent(number, totals.shown),
      ...recording.interval === 1 && !recording.isTimed ? [] : [format.plural(samples, "sample", "samples")],
    ].join(" · ");
    return [
      recording.functions.labels[id],
      ...place ? [place] : [],
      ...at && line ? [`${at.isLeaf ? "executing" : "calling from"} ${line}`] : [],
      ...time ? [`this box ${spanOf(time)}`] : [],
      ...difference ? [`this call path ${strobe.difference.sentence(difference, "total", node)}`] : [],
      weight("this call path, in all", totals.total[node], totals.samples.total[node]),
      weight("self, everywhere", totals.functionSelf[id], totals.samples.functionSelf[id]),
      weight("total, everywhere", totals.functionTotal[id], totals.samples.functionTotal[id]),
    ];
  }

  // Times are counted from the beginning of the recording.
  /** @param {Gap} gap */
  function lineOfGap(gap) {
    const zero = strobe.state.bounds()[0];
    const [from, to] = [gap.from, gap.to].map(time => strobe.format.moment(time - zero));
    const why = strobe.gaps.whyOf(gap);
    return `no samples from ${from} to ${to}${why && `: ${why}`}`;
  }

  /** @param {Span} span */
  function spanOf([from, to]) {
    const { format, state } = strobe;
    return `${format.duration(to - from)}, from ${format.moment(from - state.bounds()[0])} on`;
  }

  return { show, hide, linesOf, lineOfGap, spanOf };
})();
