/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page that logs its wheel events and its scroll position to the console.

"use strict";

let turns = 0;
addEventListener("wheel", ({ deltaX, deltaY, deltaMode }) => {
  turns++;
  console.log(`turn ${turns}: ${deltaX}, ${deltaY} in unit ${deltaMode}`);
});
addEventListener("scroll", () => console.log(`at ${Math.round(scrollX)}, ${Math.round(scrollY)}`));
addEventListener("resize", () => console.log(`zoom ${devicePixelRatio.toFixed(2)}`));
// Over this element the page does not scroll.
document.getElementById("keeper").addEventListener("wheel", event => event.preventDefault(), { passive: false });
