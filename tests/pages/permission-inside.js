/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Run in a frame, and as a worker: tells whoever made it whether it may profile.
(async () => {
  const options = { sampleInterval: 10, maxBufferSize: 10 };
  const outcome = { exposed: typeof Profiler };
  try {
    new Profiler(options);
    outcome.constructor = "allowed";
  } catch (error) {
    outcome.constructor = `${error.name}: ${error.message}`;
  }
  try {
    await performance.profile(options);
    outcome.profile = "allowed";
  } catch (error) {
    outcome.profile = error.name;
  }
  if (typeof window === "undefined") {
    postMessage(outcome);
  } else {
    parent.postMessage(outcome, "*");
  }
})();
