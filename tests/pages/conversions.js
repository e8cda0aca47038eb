/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Values that are converted to the unsigned long 2, 0 or 1.
const BUFFER_SIZES = {
  two: [2, 2.9, "2", " 0x2 ", [2], { valueOf() { return 2; } }, 2 ** 32 + 2, 2 - 2 ** 32, -(2 ** 33) + 1.5],
  one: [1, true, "1e0"],
  none: [0, -0, 0.9, -0.9, "", null, false, NaN, Infinity, -Infinity, "two", {}, 2 ** 32, 2 ** 53],
};

// The number of samples of a session with a full buffer.
async function sampleCount(maxBufferSize) {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize });
  await event(profiler, "samplebufferfull");
  return (await profiler.stop()).samples.length;
}

// Logs the accesses to the options while they are converted, in order.
function recording(members) {
  const log = [];
  const options = new Proxy({}, {
    get(target, name) {
      log.push(`get ${String(name)}`);
      const convert = () => {
        log.push(`convert ${name}`);
        return members[name];
      };
      return name in members ? { valueOf: convert, toString: convert } : undefined;
    },
    has(target, name) {
      log.push(`has ${String(name)}`);
      return name in members;
    },
  });
  return { log, options };
}

async function logOf(members) {
  const outcomes = {};
  const { log, options } = recording(members);
  try {
    const profiler = new Profiler(options);
    await profiler.stop();
    log.push("started");
  } catch (error) {
    log.push(error.name);
  }
  outcomes.constructor = log;
  const other = recording(members);
  const promise = performance.profile(other.options);
  // The log before the promise is settled.
  const converted = other.log.slice();
  try {
    const profiler = await promise;
    await profiler.stop();
    converted.push("started");
  } catch (error) {
    converted.push(error.name);
  }
  outcomes.profile = converted;
  return outcomes;
}

runTest(async () => {
  const counts = {};
  for (const [expected, sizes] of Object.entries(BUFFER_SIZES)) {
    counts[expected] = [];
    for (const size of sizes) {
      counts[expected].push(await sampleCount(size));
    }
  }
  // Room for 2³² - 1.
  const large = [];
  for (const size of [-1, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER, -(2 ** 32) - 1]) {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: size });
    // Sessions with the same interval have the same samples, apart from their first ones.
    await sampleCount(5);
    large.push([profiler.stopped, (await profiler.stop()).samples.length > 2]);
  }
  const all = { format: "default", maxBufferSize: 10, name: "n", sampleInterval: 1 };
  const { maxBufferSize: _, ...noSize } = all;
  const { sampleInterval: __, ...noInterval } = all;
  return {
    counts,
    large,
    logs: {
      all: await logOf(all),
      negative: await logOf({ ...all, sampleInterval: -1 }),
      "no maxBufferSize": await logOf(noSize),
      "no sampleInterval": await logOf(noInterval),
      "unknown format, no sampleInterval": await logOf({ ...noInterval, format: "object" }),
      "NaN and negative": await logOf({ ...all, maxBufferSize: NaN, sampleInterval: -0.5 }),
    },
  };
});
