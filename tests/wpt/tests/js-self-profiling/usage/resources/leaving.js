/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The text that leaving.html sent. A hang fails this test before the harness ends the whole file.
async function received(uuid) {
  for (let i = 0; i < 250; i++) {
    const text = await (await fetch(`/common/dispatcher/dispatcher.py?uuid=${uuid}`)).text();
    if (text !== "not ready") {
      return JSON.parse(text);
    }
    await new Promise(resolve => step_timeout(resolve, 100));
  }
  throw new Error("nothing was sent");
}

function leavingPage(query) {
  return `resources/leaving.html?${new URLSearchParams(query)}`;
}

async function assert_sends_profile(uuid) {
  const { samples, names } = await received(uuid);
  assert_greater_than(samples, 0);
  assert_in_array("beforeLeaving", names);
}
