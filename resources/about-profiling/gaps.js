/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Where an event loop was not sampled between its first sample and its last: nobody knows what it did there, so it is
// shown neither as idle nor as what it did before.
strobe.gaps = (() => {
  const { lowerBound } = strobe.recording;
  // Intervals. Samples come early or late by parts of one; from here on one is missing.
  const LONGEST = 1.5;

  // Up to when a sample says what its event loop did: to the next one, or for its own time if samples are missing
  // behind it. Nothing else decides what a gap is. A recording does not say which samples are missing, so this is told
  // by their times.
  function endOf(loop, index, interval) {
    const begin = loop.sampleTime[index];
    const weight = loop.sampleWeight ? loop.sampleWeight[index] : 1;
    const next = index + 1 < loop.sampleCount ? loop.sampleTime[index + 1] : Infinity;
    return next - begin <= (weight - 1 + LONGEST) * interval ? next : begin + weight * interval;
  }

  // What is known of a time: { index } of the sample that stands for it, or { before, after, from, to } of the gap it is
  // in, between the samples `before` and `after`; null before the first sample and after the last.
  function at(loop, time, interval) {
    const index = lowerBound(loop.sampleTime, time + 1e-9) - 1;
    if (index < 0) {
      return null;
    }
    const end = endOf(loop, index, interval);
    if (time < end) {
      return { index };
    }
    return index + 1 < loop.sampleCount
      ? { before: index, after: index + 1, from: end, to: loop.sampleTime[index + 1] } : null;
  }

  return { endOf, at };
})();
