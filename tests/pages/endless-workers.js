/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Resolves when `count` workers are busy for ever. The workers profile themselves. Gives how many do as they should.
function startWorkers(count, isProfiled = true) {
  return Promise.all(Array.from({ length: count }, () => new Promise((resolve, reject) => {
    const worker = new Worker(`endless-worker.js?${isProfiled ? "profiled" : ""}`);
    worker.onmessage = event => resolve(event.data);
    worker.onerror = event => reject(new Error(event.message));
  }))).then(answers => answers.filter(profiles => profiles === isProfiled).length);
}

// Nobody calls the function if the address has a number.
if (location.search) {
  startWorkers(Number(location.search.slice(1))).then(count => console.log(`${count} workers are busy`));
}
