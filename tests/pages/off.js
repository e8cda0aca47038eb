/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

runTest(async () => {
  work(50);
  const before = await checkpoint("before");
  const first = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const second = await performance.profile({ sampleInterval: 10, maxBufferSize: 100_000 });
  work(50);
  const during = await checkpoint("during");
  await first.stop();
  await second.stop();
  return { before, during };
});
