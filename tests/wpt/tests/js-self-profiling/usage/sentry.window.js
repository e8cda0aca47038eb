// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After getsentry/sentry-javascript: packages/browser/src/profiling/, and what its own tests in
// dev-packages/browser-integration-tests/suites/profiling/ expect of the profiles.

function startJSSelfProfile(maxBufferSize = 3000) {
  return new Profiler({ sampleInterval: 10, maxBufferSize });
}

function fibonacci(milliseconds) {
  busy(milliseconds);
}

function largeSum(milliseconds) {
  busy(milliseconds);
}

function notProfiled(milliseconds) {
  busy(milliseconds);
}

// startProfileForSpan.ts: a profile for each span, and a handler that may be called again.
function profileSpan() {
  const profiler = startJSSelfProfile();
  const span = { profile: null, errors: [] };
  span.end = async () => {
    if (span.profile === null) {
      await profiler.stop().then(
        profile => { span.profile = profile; },
        error => { span.errors.push(error); });
    }
  };
  return span;
}

promise_test(async () => {
  const span = profileSpan();
  fibonacci(100);
  await span.end();
  const { profile } = span;
  assert_true(sampledNames(profile).has("fibonacci"));
  await span.end();
  assert_equals(span.profile, profile);
  assert_array_equals(span.errors, []);
}, "getsentry/sentry-javascript: a span that is ended again keeps its profile");

promise_test(async () => {
  const span = profileSpan();
  fibonacci(100);
  await Promise.all([span.end(), span.end()]);
  assert_true(sampledNames(span.profile).has("fibonacci"));
  assert_array_equals(span.errors.map(({ name }) => name), ["InvalidStateError"]);
}, "getsentry/sentry-javascript: a span that is ended twice at once has one profile and one caught error");

promise_test(async t => {
  const profiler = startJSSelfProfile(5);
  await fillBuffer(profiler);
  largeSum(100);
  const profile = await profiler.stop();
  assert_equals(profile.samples.length, 5);
  await promise_rejects_dom(t, "InvalidStateError", profiler.stop());
}, "getsentry/sentry-javascript: the timeout of a span comes after its buffer was full, and a second end is refused");

// UIProfiler.ts: a chunk's profiler is dropped and stopped, and the next one is started at once.
function chunked(send) {
  let current;
  const begin = () => {
    if (current?.stopped !== false) {
      current = startJSSelfProfile();
    }
  };
  const collect = async () => {
    const previous = current;
    current = undefined;
    if (previous !== undefined) {
      send(await previous.stop());
    }
  };
  return { begin, collect };
}

promise_test(async () => {
  const chunks = [];
  const { begin, collect } = chunked(chunk => chunks.push(chunk));
  begin();
  begin();
  fibonacci(100);
  const first = collect();
  begin();
  largeSum(100);
  await Promise.all([first, collect()]);
  await collect();
  assert_equals(chunks.length, 2);
  const [one, two] = chunks.map(sampledNames);
  assert_true(one.has("fibonacci"));
  assert_false(one.has("largeSum"));
  assert_true(two.has("largeSum"));
  assert_false(two.has("fibonacci"));
  const last = chunks[0].samples.at(-1).timestamp;
  assert_greater_than_equal(chunks[1].samples[0].timestamp, last, "the chunks follow each other");
}, "getsentry/sentry-javascript: chunks follow each other, each with its own functions");

promise_test(async () => {
  const chunks = [];
  const { begin, collect } = chunked(chunk => chunks.push(chunk));
  begin();
  fibonacci(60);
  await collect();
  notProfiled(60);
  begin();
  largeSum(60);
  await collect();
  assert_equals(chunks.length, 2);
  const [one, two] = chunks.map(sampledNames);
  assert_true(one.has("fibonacci"));
  assert_true(two.has("largeSum"));
  assert_false(one.has("notProfiled"));
  assert_false(two.has("notProfiled"));
}, "getsentry/sentry-javascript: what runs between two manual sessions is in neither profile");

// traceLifecycleMode_overlapping-spans: two spans overlap, and each profile covers its own time.
promise_test(async () => {
  const first = profileSpan();
  largeSum(100);
  const second = profileSpan();
  fibonacci(100);
  await first.end();
  await second.end();
  const [one, two] = [first, second].map(({ profile }) => sampledNames(profile));
  assert_true(one.has("largeSum"));
  assert_true(one.has("fibonacci"));
  assert_false(two.has("largeSum"));
  assert_true(two.has("fibonacci"));
}, "getsentry/sentry-javascript: overlapping spans each have the functions of their own time");

// test-utils.ts: the function that starts the profiler is in every profile, and the profile is
// longer than 20 ms. utils.ts: a chunk without frames, stacks or samples is
// discarded, and so is a profile of fewer than two samples.
promise_test(async () => {
  for (let i = 0; i < 10; i++) {
    const profiler = startJSSelfProfile();
    fibonacci(60);
    await new Promise(resolve => step_timeout(resolve, 25));
    const { frames, stacks, samples } = await profiler.stop();
    for (const list of [frames, stacks, samples]) {
      assert_greater_than(list.length, 0);
    }
    assert_true(frames.some(({ name }) => name === "startJSSelfProfile"));
    assert_greater_than_equal(samples.length, 2);
    assert_greater_than(samples.at(-1).timestamp - samples[0].timestamp, 20);
  }
}, "getsentry/sentry-javascript: a profile of a short span is not discarded");

// utils.ts, convertJSSelfProfileToSampledFormat and convertToContinuousProfile. A time origin that
// differs much from the clock is replaced, as in packages/core/src/utils/time.ts.
function timeOrigin() {
  const ofClock = Date.now() - performance.now();
  return Math.abs(performance.timeOrigin - ofClock) < 3_600_000 ? performance.timeOrigin : ofClock;
}

promise_test(async () => {
  const profiler = startJSSelfProfile();
  fibonacci(60);
  await new Promise(resolve => step_timeout(resolve, 200));
  largeSum(60);
  const now = Date.now();
  const trace = await profiler.stop();
  const start = trace.samples[0].timestamp;
  const origin = timeOrigin();
  let previous = -Infinity;
  for (const sample of trace.samples) {
    const elapsed = ((sample.timestamp - start) * 1e6).toFixed(0);
    assert_regexp_match(elapsed, /^\d+$/);
    const seconds = (origin + sample.timestamp) / 1000;
    assert_greater_than_equal(seconds, previous);
    assert_less_than(Math.abs(seconds - now / 1000), 60);
    previous = seconds;
    for (const { name, resourceId, line, column } of framesOf(trace, sample)) {
      assert_equals(typeof name, "string");
      if (resourceId !== undefined) {
        assert_equals(typeof trace.resources[resourceId], "string");
        assert_equals(typeof line, "number");
        assert_equals(typeof column, "number");
      }
    }
  }
  assert_true(trace.samples.some(({ stackId }) => stackId === undefined), "idle samples have no stack");
}, "getsentry/sentry-javascript: a trace converts to both of its sample formats");
