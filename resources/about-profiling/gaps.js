/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Where an event loop was not sampled: nobody knows what it did there, so it is shown neither as idle nor as what it did
// before. A recording says which samples were missed. Where it does not, that is told by the times of its samples.
strobe.gaps = (() => {
  const { lowerBound, MISSED_REASONS } = strobe.recording;
  // Intervals. Samples come early or late by parts of one; from here on one is missing.
  const LONGEST = 1.5;
  // The same where it is known which were missed: a sample may come late by almost one interval. From here on samples
  // were left out, as those between long tasks are.
  const LONGEST_OF_KNOWN = 2.5;
  // Milliseconds. Times are whole microseconds, so that this is behind a time and before the next one.
  const BEHIND = 0.0005;

  // Up to when a sample says what its event loop did: to the next one, or for its own time if samples are missing
  // behind it. Nothing else decides what a gap is.
  function endOf(loop, index, interval) {
    const begin = loop.sampleTime[index];
    const weight = loop.sampleWeight ? loop.sampleWeight[index] : 1;
    const next = nextTime(loop, index);
    const longest = loop.missed ? LONGEST_OF_KNOWN : LONGEST;
    const isMissing = firstMissed(loop, begin, next) >= 0 || next - begin > (weight - 1 + longest) * interval;
    return isMissing ? Math.min(begin + weight * interval, next) : next;
  }

  function nextTime(loop, index) {
    return index + 1 < loop.sampleCount ? loop.sampleTime[index + 1] : Infinity;
  }

  // The first stretch of missed samples that has a part between two times; -1 if there is none or it is not known.
  function firstMissed({ missed }, from, to) {
    if (!missed) {
      return -1;
    }
    const first = lowerBound(missed.end, from + BEHIND);
    return first < missed.count && missed.start[first] < to ? first : -1;
  }

  // What is known of a time: { index } of the sample that stands for it, or { before, after, from, to } of the gap it is
  // in, between the samples `before` and `after`, with `missed` if that is known: how many samples were missed for each
  // of MISSED_REASONS. Before the first sample and after the last there is a gap only where samples are known to be
  // missed, else null; then `before` or `after` is the index of no sample.
  function at(loop, time, interval) {
    const index = lowerBound(loop.sampleTime, time + 1e-9) - 1;
    const begin = index < 0 ? -Infinity : loop.sampleTime[index];
    const next = nextTime(loop, index);
    let from = index < 0 ? -Infinity : endOf(loop, index, interval);
    if (time < from) {
      return { index };
    }
    let to = next;
    const first = firstMissed(loop, begin, next);
    if (index < 0 || next === Infinity) {
      // Of time before the first sample or after the last one only what the stretches say is known.
      if (first < 0 || time < loop.missed.start[first]) {
        return null;
      }
      from = Math.max(from, loop.missed.start[first]);
      to = Math.min(next, endOfMissed(loop, first, next));
      if (time >= to) {
        return null;
      }
    }
    const gap = { before: index, after: index + 1, from, to };
    return first < 0 ? gap : { ...gap, missed: countMissed(loop, first, next) };
  }

  // Where the last stretch ends of those from `first` on that begin before `to`.
  function endOfMissed({ missed }, first, to) {
    return missed.end[lowerBound(missed.start, to, first) - 1];
  }

  function countMissed({ missed }, first, to) {
    const counts = MISSED_REASONS.map(() => 0);
    for (let i = first; i < missed.count && missed.start[i] < to; i++) {
      counts[missed.why[i]] += missed.samples[i];
    }
    return counts;
  }

  // How many samples were missed in a gap and why, as a part of a line; empty if it is not known.
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
