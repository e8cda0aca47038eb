/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Bundles the programs, into `dist/` of this folder, and prints their names: `node bundle.mjs`.

import { rmSync } from "node:fs";
import { join } from "node:path";

import { PROGRAMS, ROOT } from "./programs.mjs";

rmSync(join(ROOT, "dist"), { force: true, recursive: true });
for (const program of PROGRAMS) {
  await program.bundle(program);
}
console.log(JSON.stringify(PROGRAMS.map(({ name }) => name)));
