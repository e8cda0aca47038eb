/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// What the columns of the time line show: the activities of an event loop as steps, one above the other, and how busy all
// event loops were.
strobe.columns = (() => {
  const { lowerBound, IDLE, ACTIVITY_COUNT } = strobe.recording;
  // The greatest height of all steps together, and the unit that their heights are multiples of, in CSS pixels.
  const ROOM = 22;
  const STEP = 2;
  const IDLE_LINE = 2;
  // The index in a column's steps, after the activities, for a time without samples.
  const UNKNOWN = ACTIVITY_COUNT;

  // The steps of no column yet.
  function noSteps() {
    return new Uint8Array(UNKNOWN + 1);
  }

  // Sets the height of each activity in a column with the samples from `begin` to before `end`. `middle` is the time at
  // the column's middle. Idle time is left empty. If there is nothing else, a line shows it, so that it differs from the
  // time before and after the recording.
  /**
   * @param {Uint8Array} steps
   * @param {Loop} loop
   * @param {{ begin: number, end: number, middle: number }} column
   * @param {number} interval
   */
  function fillSteps(steps, loop, { begin, end, middle }, interval) {
    steps.fill(0);
    if (begin === end) {
      fillBetween(steps, loop, middle, interval);
      return;
    }
    const { of, weight } = strobe.activitySums;
    const sums = of(loop);
    let all = 0;
    for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
      all += weight(sums, activity, begin, end);
    }
    let used = 0;
    for (let activity = IDLE + 1; activity < ACTIVITY_COUNT; activity++) {
      const own = weight(sums, activity, begin, end);
      if (own > 0) {
        const tall = Math.max(1, Math.round((own / all) * (ROOM / STEP))) * STEP;
        steps[activity] = Math.min(tall, ROOM - used);
        used += steps[activity];
      }
    }
    if (!used) {
      steps[IDLE] = IDLE_LINE;
    }
  }

  // The same for a column within one sample, or between two.
  /** @param {Uint8Array} steps @param {Loop} loop @param {number} middle @param {number} interval */
  function fillBetween(steps, loop, middle, interval) {
    const known = strobe.gaps.at(loop, middle, interval);
    if (known?.index !== undefined) {
      const activity = loop.sampleActivity[known.index];
      steps[activity] = activity === IDLE ? IDLE_LINE : ROOM;
    } else if (known) {
      steps[UNKNOWN] = ROOM;
      // If the event loop did the same on both sides, that activity goes on below the diagonal lines. Idle time does not.
      const activity = loop.sampleActivity[known.before];
      if (activity !== IDLE && activity === loop.sampleActivity[known.after]) {
        steps[activity] = ROOM;
      }
    }
  }

  // For each of `count` columns from `from` to `to`, the part of the time in which the event loops that are shown were
  // busy: { busy[], isUnknown[] }. A column is unknown if nothing is known of any of them.
  /** @param {Recording} recording @param {(l: number) => boolean} isShown @param {Span} span @param {number} count */
  function busyParts({ loops, interval }, isShown, [from, to], count) {
    const busy = new Float64Array(count);
    const all = new Float64Array(count);
    const isUnknown = new Uint8Array(count);
    loops.forEach((loop, l) => {
      if (!isShown(l)) {
        return;
      }
      const sums = strobe.activitySums.of(loop);
      let first = 0;
      for (let column = 0; column < count; column++) {
        const end = lowerBound(loop.sampleTime, from + ((to - from) * (column + 1)) / count, first);
        if (first === end) {
          // Within one sample, or between two.
          const known = strobe.gaps.at(loop, from + ((to - from) * (column + 0.5)) / count, interval);
          if (known?.index !== undefined) {
            all[column]++;
            busy[column] += loop.sampleActivity[known.index] === IDLE ? 0 : 1;
          } else if (known) {
            isUnknown[column] = 1;
          }
          continue;
        }
        sums.forEach((sum, activity) => {
          if (sum) {
            const weight = sum[end] - sum[first];
            all[column] += weight;
            busy[column] += activity === IDLE ? 0 : weight;
          }
        });
        first = end;
      }
    });
    return {
      busy: busy.map((weight, column) => (all[column] ? weight / all[column] : 0)),
      isUnknown: isUnknown.map((unknown, column) => (unknown && !all[column] ? 1 : 0)),
    };
  }

  return { ROOM, UNKNOWN, noSteps, fillSteps, busyParts };
})();
