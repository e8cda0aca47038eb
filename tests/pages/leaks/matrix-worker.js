/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Runs cells of the matrix in a worker.

onmessage = async ({ data: { cells, other } }) => {
  globalThis.ownOrigin = location.origin;
  globalThis.otherOrigin = other;
  importScripts("matrix-work.js", "matrix-sides.js", `${other}/leaks/matrix-sides.js?hidden=1`);
  const results = [];
  for (const asked of cells) {
    results.push(await bothSides(asked, globalThis, globalThis));
  }
  postMessage(results);
};
