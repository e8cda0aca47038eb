// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

promise_test(async t => {
  const { data } = await messageOfFrame(t, "resources/feature-checks-with-policy.html");
  assert_array_equals(data.sentry, [true, true], "getsentry/sentry-javascript");
  assert_equals(data.datadog, "running", "DataDog/browser-sdk");
  assert_equals(data.errorName, null, "DataDog/browser-sdk, the worker's part");
  assert_equals(data.rumcap.status, "started", "pmeenan/rumcap");
  assert_equals(data.rumcap.profiler, "available", "pmeenan/rumcap");
  assert_greater_than(data.rumcap.interval, 0, "pmeenan/rumcap");
  assert_true(data.homyakov, "victor-homyakov/self-profiling-api-demo");
  assert_object_equals(data.jupyterlab, { offered: true, started: true }, "jupyterlab/ui-profiler");
}, "feature checks of six kinds find the profiler if the header is sent");

promise_test(async t => {
  const { data } = await messageOfFrame(t, "resources/feature-checks-without-policy.html");
  assert_array_equals(data.sentry, [false, false], "getsentry/sentry-javascript");
  assert_equals(data.datadog, "missing-document-policy-header", "DataDog/browser-sdk");
  assert_equals(data.errorName, "NotAllowedError", "DataDog/browser-sdk, the worker's part");
  assert_equals(data.rumcap.status, "threw NotAllowedError", "pmeenan/rumcap");
  assert_equals(data.rumcap.profiler, "needs a policy", "pmeenan/rumcap");
  assert_false(data.homyakov, "victor-homyakov/self-profiling-api-demo");
  assert_object_equals(data.jupyterlab, { offered: true, started: false }, "jupyterlab/ui-profiler");
}, "feature checks of six kinds find the interface but no permission if the header is missing");
