/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Of another site than the page that profiles, so that it has an event loop of its own.
runTest(async () => {
  for (;;) {
    const { profiled, threads } = await checkpoint("waiting");
    if (profiled && threads === 0) {
      return "ended";
    }
    // A page that never sees it is stopped by the time bound.
    await task();
  }
});
