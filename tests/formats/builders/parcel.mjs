/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Builds by Parcel: `node parcel.mjs ENTRY FOLDER`. It keeps its process alive, so it has one of its own.

import { createRequire } from "node:module";

import { Parcel } from "@parcel/core";

const [entry, distDir] = process.argv.slice(2);
const parcel = new Parcel({
  entries: entry,
  defaultConfig: createRequire(import.meta.url).resolve("@parcel/config-default"),
  mode: "production",
  shouldDisableCache: true,
  defaultTargetOptions: { distDir, sourceMaps: true, shouldOptimize: true, shouldScopeHoist: true },
});
await parcel.run();
process.exit(0);
