// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A profiler has one global for everything: policy, realm, clock, entry and promise.

const options = { sampleInterval: 1, maxBufferSize: 100_000 };

function frameWith(address) {
  return new Promise(resolve => {
    const frame = document.createElement("iframe");
    frame.src = address;
    frame.onload = () => resolve(frame);
    document.body.append(frame);
  });
}

// A thread that waits for a processor meanwhile is not sampled.
function busy() {
  let last = performance.now();
  for (let worked = 0; worked < 60;) {
    const now = performance.now();
    worked += Math.min(now - last, 1);
    last = now;
  }
}

const namesOf = trace => trace.frames.map(({ name }) => name);

let profiled;
let unprofiled;
let insideBusy;

promise_setup(async () => {
  profiled = (await frameWith("resources/sampled.html")).contentWindow;
  unprofiled = (await frameWith("/common/blank.html")).contentWindow;
  insideBusy = new profiled.Function(`${busy} busy();`);
});

promise_test(async () => {
  const promise = profiled.performance.profile.call(performance, options);
  assert_true(promise instanceof Promise, "the promise belongs to the realm of `this`");
  const profiler = await promise;
  assert_true(profiler instanceof Profiler);
  busy();
  const stopped = profiled.Profiler.prototype.stop.call(profiler);
  assert_true(stopped instanceof Promise);
  const trace = await stopped;
  assert_in_array("busy", namesOf(trace));
  assert_array_equals(performance.getEntriesByType("profile").map(entry => entry.trace), [trace]);
  assert_array_equals(profiled.performance.getEntriesByType("profile"), []);
}, "performance.profile() of another realm samples the realm of `this`");

promise_test(async t => {
  const { performance: other } = unprofiled;
  const error = await performance.profile.call(other, options).then(
    () => assert_unreached("started by the permission of another global"),
    error => error);
  assert_equals(error.name, "SecurityError");
  await promise_rejects_dom(t, "SecurityError", unprofiled.DOMException, unprofiled.performance.profile(options));
}, "performance.profile() uses the policy of `this`");

promise_test(async () => {
  const profiler = await unprofiled.performance.profile.call(performance, options);
  assert_true(profiler instanceof Profiler);
  await profiler.stop();
}, "the policy of the function's realm does not matter");

promise_test(async () => {
  const before = profiled.performance.now();
  const profiler = new profiled.Profiler({ ...options, name: "of another realm" });
  assert_true(profiler instanceof profiled.Profiler);
  insideBusy();
  const promise = Profiler.prototype.stop.call(profiler);
  assert_true(promise instanceof profiled.Promise);
  const trace = await promise;
  assert_true(trace instanceof profiled.Object);
  assert_in_array("anonymous", namesOf(trace));
  const [entry] = profiled.performance.getEntriesByName("of another realm");
  assert_true(entry instanceof profiled.PerformanceProfileEntry);
  assert_equals(entry.trace, trace);
  assert_greater_than_equal(entry.startTime, before);
  assert_greater_than_equal(trace.samples[0].timestamp, before);
  assert_array_equals(performance.getEntriesByName("of another realm"), []);
}, "a Profiler of another realm has the global of that realm");

promise_test(async () => {
  class Subclass extends profiled.Profiler {}
  const profiler = new Subclass({ ...options, name: "of a subclass" });
  assert_true(profiler instanceof Subclass);
  const promise = profiler.stop();
  assert_true(promise instanceof profiled.Promise);
  await promise;
  assert_equals(profiled.performance.getEntriesByName("of a subclass").length, 1);
}, "a subclass has the global of the class that it extends");

promise_test(async () => {
  const profiler = Reflect.construct(Profiler, [{ ...options, name: "constructed" }], profiled.Object);
  assert_true(profiler instanceof profiled.Object);
  const promise = Profiler.prototype.stop.call(profiler);
  assert_true(promise instanceof Promise);
  await promise;
  assert_equals(performance.getEntriesByName("constructed").length, 1);
}, "new.target of another realm determines only the prototype");

promise_test(async () => {
  assert_throws_dom("NotAllowedError", unprofiled.DOMException, () => new unprofiled.Profiler(options));
  class Subclass extends unprofiled.Profiler {}
  assert_throws_dom("NotAllowedError", unprofiled.DOMException, () => new Subclass(options));
}, "a Profiler of another realm uses the policy of that realm");

promise_test(async t => {
  const frame = await frameWith("resources/sampled.html");
  const { Profiler: Saved, performance: saved, DOMException: SavedException } = frame.contentWindow;
  frame.remove();
  assert_throws_dom("InvalidStateError", SavedException, () => new Saved(options));
  const error = await saved.profile(options).then(() => assert_unreached(), error => error);
  assert_equals(error.name, "InvalidStateError");
}, "a Profiler of a removed frame cannot be started");
