/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Told to, a frame of another origin does for itself what the page does.
onmessage = async ({ ports: [port] }) => {
  repeat(() => forceStyle(document));
  repeat(() => forceLayout(document));
  repeat(spin);
  await render(document);
  port.postMessage("done");
};

addEventListener("DOMContentLoaded", () => fill(document));
