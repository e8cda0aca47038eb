// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Traces that a page asks for while it is unloaded.

function frameWith(address) {
  return new Promise(resolve => {
    const frame = document.createElement("iframe");
    frame.src = address;
    frame.onload = () => resolve(frame);
    document.body.append(frame);
  });
}

function told(channel) {
  return new Promise(resolve => {
    const receiver = new BroadcastChannel(channel);
    receiver.onmessage = ({ data }) => {
      receiver.close();
      resolve(data);
    };
  });
}

let channels = 0;

for (const event of ["pagehide", "visibilitychange", "unload", "beforeunload"]) {
  for (const way of ["Profiler", "profile"]) {
    promise_test(async t => {
      const channel = `unload-${channels++}`;
      const message = told(channel);
      const frame = await frameWith(`resources/unloaded.html?event=${event}&way=${way}&channel=${channel}`);
      t.add_cleanup(() => frame.remove());
      frame.contentWindow.location = "about:blank";
      const { settled, samples, frames } = await message;
      assert_equals(settled, "resolved");
      assert_greater_than(samples, 0);
      assert_in_array("work", frames);
    }, `a trace that is asked for in ${event} is delivered (${way})`);
  }
}

promise_test(async t => {
  const channel = `unload-${channels++}`;
  const message = told(channel);
  const frame = await frameWith(`resources/unloaded.html?event=pagehide&way=json-gzip&channel=${channel}`);
  t.add_cleanup(() => frame.remove());
  frame.contentWindow.location = "about:blank";
  const { settled, samples } = await message;
  assert_equals(settled, "resolved");
  assert_greater_than(samples, 0, "bytes");
}, "a trace in the format json-gzip is delivered");

promise_test(async t => {
  const channel = `unload-${channels++}`;
  const message = told(channel);
  const frame = await frameWith(`resources/unloaded.html?event=pagehide&way=chain&channel=${channel}`);
  t.add_cleanup(() => frame.remove());
  frame.contentWindow.location = "about:blank";
  const { settled, samples } = await message;
  assert_equals(settled, "resolved");
  assert_greater_than(samples, 0);
}, "a trace that is asked for after another one was delivered is delivered, too");

promise_test(async () => {
  const worker = new Worker("resources/closing-worker.js");
  const { settled, samples } = await new Promise(resolve => { worker.onmessage = ({ data }) => resolve(data); });
  assert_equals(settled, "resolved");
  assert_greater_than(samples, 0);
}, "a trace that a worker asks for before it calls close() is delivered");
