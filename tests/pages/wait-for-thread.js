/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// This page has a different site than the page that profiles, so it has its own event loop.
runTest(async () => {
  for (;;) {
    const { profiled, threads } = await checkpoint("waiting");
    if (profiled && threads === 0) {
      return "ended";
    }
    // If it never happens, the time bound ends the test.
    await task();
  }
});
