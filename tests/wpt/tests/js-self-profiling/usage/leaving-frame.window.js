// META: timeout=long
// META: script=/common/utils.js
// META: script=resources/usage.js
// META: script=resources/leaving.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// As leaving.window.js, but with a frame in a page that stays. No code of the frame runs after the
// task in which it is unloaded, so the trace must come within this task. Chromium passes only the
// test of beforeunload.

function leaving(handler, event, title) {
  promise_test(async t => {
    const uuid = token();
    const { frame } = await messageOfFrame(t, leavingPage({ event, handler, uuid }));
    frame.contentWindow.location = "/common/blank.html";
    await assert_sends_profile(uuid);
  }, `${title}: ${event} of a frame that is navigated`);
}

leaving("rotate", "beforeunload", "DataDog/browser-sdk, one profiler follows the other");
leaving("then", "visibilitychange", "DataDog/browser-sdk, a session is paused");
leaving("chain", "visibilitychange", "pmeenan/rumcap, a chain of promises ends with a beacon");
for (const event of ["pagehide", "unload"]) {
  leaving("then", event, "the promise's reaction sends a beacon");
  leaving("chain", event, "a chain of promises ends with a beacon");
}
