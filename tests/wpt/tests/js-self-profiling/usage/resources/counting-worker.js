/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

onmessage = ({ data: { frames, stacks, samples } }) => {
  const self = {};
  for (const { stackId } of samples) {
    const name = stackId === undefined ? "(idle)" : frames[stacks[stackId].frameId].name;
    self[name] = (self[name] ?? 0) + 1;
  }
  postMessage(self);
};
