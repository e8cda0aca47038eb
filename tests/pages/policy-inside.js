/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs in a frame, a page or a worker. It tells its creator whether it may profile, under its given
// name. A worker whose name is "nested …" creates another worker with the same script and forwards
// that worker's answer.
(async () => {
  const tell = message => {
    if (typeof window === "undefined") {
      postMessage(message);
    } else {
      parent.postMessage(message, "*");
    }
  };

  const nested = /^nested (\S+) (.*)$/s.exec(name);
  if (nested) {
    const [, url, innerName] = nested;
    // A Worker that nothing refers to may be collected before it has answered.
    self.worker = new Worker(url, { name: innerName });
    self.worker.onmessage = ({ data }) => tell({ name, outcome: data.outcome });
    return;
  }

  const options = { sampleInterval: 10, maxBufferSize: 10 };
  let constructed;
  try {
    await new Profiler(options).stop();
    constructed = "allowed";
  } catch (error) {
    constructed = error.name;
  }
  const profiled = await performance.profile(options).then(
    async profiler => {
      await profiler.stop();
      return "allowed";
    },
    error => error.name);
  tell({ name, outcome: `${constructed}, ${profiled}` });
})();
