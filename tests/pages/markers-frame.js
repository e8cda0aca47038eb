/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A frame of another origin does the same work as the page for itself, when a message says so.
onmessage = async ({ ports: [port] }) => {
  repeat(() => forceStyle(document));
  repeat(() => forceLayout(document));
  repeat(spin);
  await render(document);
  port.postMessage("done");
};

addEventListener("DOMContentLoaded", () => fill(document));
