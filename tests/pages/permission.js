/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

runTest(async () => {
  const options = { sampleInterval: 10, maxBufferSize: 10 };
  const outcome = {};
  try {
    await new Profiler(options).stop();
    outcome.constructor = "allowed";
  } catch (error) {
    outcome.constructor = error.name;
  }
  try {
    await (await performance.profile(options)).stop();
    outcome.profile = "allowed";
  } catch (error) {
    outcome.profile = error.name;
  }
  return outcome;
});
