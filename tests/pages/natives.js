/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const MARKUP = "<p>Some <b>bold</b> text</p>".repeat(60);
const element = document.createElement("div");
let rounds = 0;

// The native `set` calls the setter, which is a native, too.
function setByNative() {
  Reflect.set(element, "innerHTML", MARKUP);
}

function run() {
  setByNative();
  rounds++;
  setTimeout(run);
}
run();
