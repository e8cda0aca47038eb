/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

function stopInside(profiler) {
  return profiler.stop();
}

async function stopThrice(profiler) {
  const states = [profiler.stopped];
  work(200);
  states.push(profiler.stopped);
  const first = profiler.stop();
  states.push(profiler.stopped);
  const second = stopInside(profiler);
  second.catch(() => {});
  const trace = await first;
  states.push(profiler.stopped);
  work(20);
  const third = profiler.stop();
  const nameOf = error => error.name;
  return {
    states,
    arePromises: first instanceof Promise && second instanceof Promise,
    areSame: [first === second, first === third],
    trace,
    later: [await second.catch(nameOf), await third.catch(nameOf)],
  };
}

runTest(async () => {
  const options = { sampleInterval: 1, maxBufferSize: 1000 };
  return {
    constructed: await stopThrice(new Profiler(options)),
    profiled: await stopThrice(await performance.profile(options)),
  };
});
