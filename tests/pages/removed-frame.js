/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const OPTIONS = { sampleInterval: 1, maxBufferSize: 100_000 };
const SHORT = { sampleInterval: 1, maxBufferSize: 3 };

const BOUND = 30_000;

function attempt(run) {
  try {
    run();
    return "nothing thrown";
  } catch (error) {
    return error.name;
  }
}

function outcome(promise) {
  return promise.then(() => "resolved", error => error.name);
}

const WAYS = {
  async "removed by a getter of the options"(frame) {
    return attempt(() => new frame.contentWindow.Profiler({
      get sampleInterval() {
        frame.remove();
        return 1;
      },
      maxBufferSize: 100_000,
    }));
  },

  async "removed by a getter of the options of profile()"(frame) {
    return outcome(frame.contentWindow.performance.profile({
      get sampleInterval() {
        frame.remove();
        return 1;
      },
      maxBufferSize: 100_000,
    }));
  },

  async "removed before the constructor is called"(frame) {
    const { Profiler } = frame.contentWindow;
    frame.remove();
    return attempt(() => new Profiler(OPTIONS));
  },

  async "removed before stop()"(frame) {
    const profiler = new frame.contentWindow.Profiler(OPTIONS);
    frame.remove();
    return outcome(profiler.stop());
  },

  async "removed after stop()"(frame) {
    const profiler = new frame.contentWindow.Profiler(OPTIONS);
    work(20);
    const stopped = outcome(profiler.stop());
    frame.remove();
    return stopped;
  },

  async "removed after stop(), with a compressed trace"(frame) {
    const profiler = new frame.contentWindow.Profiler({ ...OPTIONS, format: "json-gzip" });
    work(20);
    const stopped = outcome(profiler.stop());
    frame.remove();
    return stopped;
  },

  async "removed by the event, then stop()"(frame) {
    const profiler = new frame.contentWindow.Profiler(SHORT);
    const full = event(profiler, "samplebufferfull");
    profiler.addEventListener("samplebufferfull", () => frame.remove());
    work(50);
    await full;
    return outcome(profiler.stop());
  },

  async "stop(), then removed, both by the event"(frame) {
    const profiler = new frame.contentWindow.Profiler(SHORT);
    const stopped = new Promise(resolve => {
      profiler.addEventListener("samplebufferfull", () => {
        resolve(outcome(profiler.stop()));
        frame.remove();
      });
    });
    work(50);
    return stopped;
  },
};

runTest(async () => {
  const outcomes = {};
  for (const [way, run] of Object.entries(WAYS)) {
    const frame = await addFrame();
    const unsettled = new Promise(resolve => setTimeout(resolve, BOUND, "unsettled"));
    outcomes[way] = await Promise.race([run(frame), unsettled]);
  }
  return outcomes;
});
