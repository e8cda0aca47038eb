/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The times at which an event loop was not sampled. What it did then is not known, so it is shown neither as idle nor
// as doing what it did before. A recording says which samples were missed. If it does not, the times of its samples
// show it.
strobe.gaps = (() => {
  const { lowerBound, MISSED_REASONS } = strobe.recording;
  // In intervals. A sample comes early or late by a part of an interval. If the distance is longer than this, a sample
  // is missing.
  const LONGEST = 1.5;
  // The same if it is known which samples were missed. Then a sample may be late by almost one interval. If the
  // distance is longer than this, samples were left out, as between long tasks.
  const LONGEST_OF_KNOWN = 2.5;
  // In milliseconds. Times are whole microseconds, so a time plus this is between that time and the next one.
  const BEHIND = 0.0005;

  // Until when a sample says what its event loop did: until the next sample, or for the sample's own time if samples
  // are missing after it. Only this function decides what a gap is.
  /** @param {Loop} loop @param {number} index @param {number} interval */
  function endOf(loop, index, interval) {
    const begin = loop.sampleTime[index];
    const weight = loop.sampleWeight ? loop.sampleWeight[index] : 1;
    const next = nextTime(loop, index);
    if (loop.sampleWorth) {
      const end = begin + loop.sampleWorth[index];
      return end + BEHIND < next ? end : next;
    }
    const longest = loop.missed ? LONGEST_OF_KNOWN : LONGEST;
    const isMissing = firstMissed(loop, begin, next) >= 0 || next - begin > (weight - 1 + longest) * interval;
    return isMissing ? Math.min(begin + weight * interval, next) : next;
  }

  /** @param {Loop} loop @param {number} index */
  function nextTime(loop, index) {
    return index + 1 < loop.sampleCount ? loop.sampleTime[index + 1] : Infinity;
  }

  // The first stretch of missed samples that overlaps the time from `from` to `to`; -1 if there is none, or if the
  // recording does not say.
  /** @param {Loop} loop @param {number} from @param {number} to */
  function firstMissed({ missed }, from, to) {
    if (!missed) {
      return -1;
    }
    const first = lowerBound(missed.end, from + BEHIND);
    return first < missed.count && missed.start[first] < to ? first : -1;
  }

  // What is known about a time: { index } of the sample that stands for it, or the gap that it is in, { before, after,
  // from, to }, which is between the samples `before` and `after`. A gap also has `missed` if that is known: how many
  // samples were missed for each of MISSED_REASONS. Before the first sample and after the last one there is a gap only
  // where samples are known to be missed, and otherwise null. There `before` or `after` is not the index of a sample.
  /** @param {Loop} loop @param {number} time @param {number} interval @returns {Known | null} */
  function at(loop, time, interval) {
    const index = lowerBound(loop.sampleTime, time + 1e-9) - 1;
    const begin = index < 0 ? -Infinity : loop.sampleTime[index];
    const next = nextTime(loop, index);
    let from = index < 0 ? -Infinity : endOf(loop, index, interval);
    if (time < from) {
      return { index };
    }
    let to = next;
    const { missed } = loop;
    const first = firstMissed(loop, begin, next);
    if (index < 0 || next === Infinity) {
      // About the time before the first sample and after the last one, only the stretches say anything.
      if (!missed || first < 0 || time < missed.start[first]) {
        return null;
      }
      from = Math.max(from, missed.start[first]);
      to = Math.min(next, endOfMissed(missed, first, next));
      if (time >= to) {
        return null;
      }
    }
    const gap = { before: index, after: index + 1, from, to };
    return !missed || first < 0 ? gap : { ...gap, missed: countMissed(missed, first, next) };
  }

  // The end of the last stretch that begins before `to`. The search begins at the stretch `first`.
  /** @param {MissedTable} missed @param {number} first @param {number} to */
  function endOfMissed(missed, first, to) {
    return missed.end[lowerBound(missed.start, to, first) - 1];
  }

  /** @param {MissedTable} missed @param {number} first @param {number} to */
  function countMissed(missed, first, to) {
    const counts = MISSED_REASONS.map(() => 0);
    for (let i = first; i < missed.count && missed.start[i] < to; i++) {
      counts[missed.why[i]] += missed.samples[i];
    }
    return counts;
  }

  // How many samples were missed in a gap and why, as a part of a line; empty if it is not known.
  /** @param {Gap} gap */
  function whyOf({ missed }) {
    if (!missed) {
      return "";
    }
    const all = missed.reduce((sum, count) => sum + count, 0);
    const reasons = missed.flatMap((count, why) => (count ? [`${strobe.format.count(count)} ${MISSED_REASONS[why]}`] : []));
    return `${strobe.format.count(all)} missed: ${reasons.join(", ")}`;
  }

  return { endOf, at, whyOf };
})();
