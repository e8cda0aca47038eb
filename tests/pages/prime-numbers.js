/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

import { genPrimes } from "./primes.js";

// Takes longer if the thread seldom gets a processor.
function generate(milliseconds, least) {
  const end = performance.now() + milliseconds;
  let count = 0;
  while (count < least || performance.now() < end) {
    count += genPrimes(100).length;
  }
  return count;
}

runTest(async () => {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  const start = performance.now();
  generate(5000, 60_000);
  const end = performance.now();
  const promise = profiler.stop();
  const stop = performance.now();
  generate(100, 0);
  return { start, end, stop, trace: await promise };
});
