/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// What differs between the two sides of a comparison: the first process of the recording is the base, and the second one
// is new. Times are by session. A change is clear if it is more than the number of samples lets the times vary. The
// comparison in the terminal judges by sessions, which is stricter.
strobe.difference = (() => {
  const SIDES = [0, 1];
  // By how many standard errors times must differ.
  const CLEAR = 2;
  // The parts of the larger time from which on a change has the next colour.
  const STEPS = [0.02, 0.1, 0.25, 0.5];

  // The totals of both sides under the same filter; null if the recording is no comparison, or one side has nothing to
  // compare.
  /** @param {Recording} recording @param {CallNodes} nodes @param {Filter} filter @returns {Difference | null} */
  function compute(recording, nodes, filter) {
    if (!recording.isComparison) {
      return null;
    }
    const sides = SIDES.map(side => strobe.totals.compute(recording, nodes, {
      ...filter, loops: filter.loops.map((isShown, l) => (recording.loops[l].process === side ? isShown : 0)),
    }));
    return sides.every(({ shown }) => shown > 0) ? { sides } : null;
  }

  // Of a node or a function, by what is counted: "total", "functionSelf", "functionTotal". Times are in intervals.
  /** @param {Difference} difference @param {Counted} what @param {number} id */
  function change({ sides }, what, id) {
    const [base, now] = sides.map(side => side[what][id]);
    // A time that is made of n samples varies by the n-th root. Where there is no sample, there could have been one of
    // the other side's.
    const errors = sides.map((side, i) => {
      const samples = side.samples[what][id];
      return samples > 0 ? side[what][id] / Math.sqrt(samples) : [now, base][i] / Math.max(1, sides[1 - i].samples[what][id]);
    });
    const part = (now - base) / Math.max(now, base, Number.MIN_VALUE);
    const isClear = Math.abs(now - base) > CLEAR * Math.hypot(...errors) && Math.abs(part) >= STEPS[0];
    return { base, now, part, isClear };
  }

  /** @param {Difference} difference @param {number} node @param {Scheme} scheme */
  function colour(difference, node, scheme) {
    const { part, isClear } = change(difference, "total", node);
    if (!isClear) {
      return scheme.same;
    }
    const step = STEPS.findLastIndex(least => Math.abs(part) >= least);
    return (part > 0 ? scheme.slower : scheme.faster)[step];
  }

  // As in 12.0 ms → 15.0 ms a session, +25.0 %.
  /** @param {Difference} difference @param {Counted} what @param {number} id */
  function sentence(difference, what, id) {
    const { format } = strobe;
    const { interval } = difference.sides[0].recording;
    const { base, now, isClear } = change(difference, what, id);
    const [from, to] = [base, now].map(time => format.duration(time * interval));
    const grown = base > 0 ? `${now >= base ? "+" : ""}${format.percent(now - base, base)}` : now > 0 ? "new" : "no time";
    return `${from} → ${to} a session, ${grown}${isClear ? "" : ", not clear"}`;
  }

  return { compute, change, colour, sentence };
})();
