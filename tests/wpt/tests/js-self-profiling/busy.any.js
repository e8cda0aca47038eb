// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Tasks of the performance timeline in an event loop that always has other tasks.

// Until the test is over, there are always more messages than one iteration of the event loop handles.
function keepBusy(t) {
  let isOver = false;
  for (let i = 0; i < 30; i++) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      if (!isOver) {
        port2.postMessage(null);
      }
    };
    port2.postMessage(null);
  }
  t.add_cleanup(() => { isOver = true; });
}

promise_test(async t => {
  keepBusy(t);
  for (let i = 0; i < 10; i++) {
    await new Promise(resolve => {
      const observer = new PerformanceObserver(() => {
        observer.disconnect();
        resolve();
      });
      observer.observe({ entryTypes: ["mark"] });
      performance.mark(`mark ${i}`);
    });
  }
}, "an observer of marks gets them");

promise_test(async t => {
  keepBusy(t);
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 3 });
  await new Promise(resolve => { profiler.onsamplebufferfull = resolve; });
  assert_equals((await profiler.stop()).samples.length, 3);
}, "samplebufferfull is fired, and the trace comes");

promise_test(async t => {
  keepBusy(t);
  const name = await new Promise(resolve => {
    new PerformanceObserver(list => resolve(list.getEntries()[0].name)).observe({ entryTypes: ["profile"] });
    new Profiler({ sampleInterval: 1, maxBufferSize: 3, name: "in a busy page" }).stop();
  });
  assert_equals(name, "in a busy page");
}, "an observer of profiles gets them");
