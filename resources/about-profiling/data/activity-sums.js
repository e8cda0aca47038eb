/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// How much of an event loop's time each activity has, in any stretch of its samples, without adding it up anew.
/** @typedef {Uint32Array | Float64Array | null} Sum */
strobe.activitySums = (() => {
  const { ACTIVITY_COUNT } = strobe.recording;
  /** @type {WeakMap<Loop, Sum[]>} */
  const sumsByLoop = new WeakMap();

  // For each activity the weights of its samples before each sample, in intervals; null for activities that do not occur.
  /** @param {Loop} loop */
  function of(loop) {
    let sums = sumsByLoop.get(loop);
    if (!sums) {
      sums = add(loop);
      sumsByLoop.set(loop, sums);
    }
    return sums;
  }

  /** @param {Loop} loop @returns {Sum[]} */
  function add(loop) {
    const { sampleCount, sampleActivity, sampleIntervals } = loop;
    const Sums = !loop.sampleWorth && loop.weight < 2 ** 32 ? Uint32Array : Float64Array;
    /** @type {Sum[]} */
    const sums = Array.from({ length: ACTIVITY_COUNT }, () => null);
    for (let i = 0; i < sampleCount; i++) {
      sums[sampleActivity[i]] ??= new Sums(sampleCount + 1);
    }
    sums.forEach((sum, activity) => {
      if (sum) {
        let weight = 0;
        for (let i = 0; i < sampleCount; i++) {
          if (sampleActivity[i] === activity) {
            weight += sampleIntervals ? sampleIntervals[i] : 1;
          }
          sum[i + 1] = weight;
        }
      }
    });
    return sums;
  }

  // The weight of an activity in the samples from `first` to before `end`. `sums` are those of the event loop.
  /** @param {Sum[]} sums @param {number} activity @param {number} first @param {number} end */
  function weight(sums, activity, first, end) {
    const sum = sums[activity];
    return sum ? sum[end] - sum[first] : 0;
  }

  return { of, weight };
})();
