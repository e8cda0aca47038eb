/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Makes WebAssembly of given bytes, itself or by a reaction.
const hiddenCompiled = {
  "call": async bytes => new WebAssembly.Module(bytes),
  "reaction": bytes => Promise.resolve(bytes).then(WebAssembly.compile),
};
