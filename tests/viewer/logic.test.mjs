/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The checks that a browser runs in tests/pages/viewer-logic.html, of what views calculate from a recording together with
// the state of the page.

import test from "node:test";
import vm from "node:vm";

import { run, runPart } from "./page.mjs";

globalThis.requestAnimationFrame = () => 1;
globalThis.cancelAnimationFrame = () => {};
globalThis.WheelEvent = class WheelEvent {
  static DOM_DELTA_LINE = 1;

  constructor(_type, members) {
    Object.assign(this, { deltaX: 0, deltaY: 0, deltaMode: 0, shiftKey: false }, members);
  }
};
// The page's harness would run the checks.
globalThis.runTest = () => {};

runPart("state.js");
run(new URL("generate.js", import.meta.url));
run(new URL("../pages/viewer-logic.js", import.meta.url));
for (const [name, check] of Object.entries(vm.runInThisContext("checks"))) {
  test(name, check);
}
