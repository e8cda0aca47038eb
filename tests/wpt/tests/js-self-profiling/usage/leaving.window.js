// META: timeout=long
// META: script=/common/utils.js
// META: script=resources/usage.js
// META: script=resources/leaving.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A trace that is asked for while a page is unloaded comes in time for a beacon.

function leaving(handler, event, title) {
  promise_test(async () => {
    const uuid = token();
    open(leavingPage({ event, handler, uuid, next: "close.html" }), "_blank", "noopener");
    await assert_sends_profile(uuid);
  }, `${title}: ${event} of a page that is left`);
}

// After DataDog/browser-sdk, packages/browser-rum/src/domain/profiling/datadogProfiler.ts.
leaving("rotate", "beforeunload", "DataDog/browser-sdk, one profiler follows the other");
leaving("then", "visibilitychange", "DataDog/browser-sdk, a session is paused");

// After pmeenan/rumcap, examples/capture/rumcap-capture.js, with the beacon of its README.md.
leaving("chain", "visibilitychange", "pmeenan/rumcap, a chain of promises ends with a beacon");

// The same with the events that other code uses.
leaving("then", "pagehide", "the promise's reaction sends a beacon");
leaving("chain", "pagehide", "a chain of promises ends with a beacon");
