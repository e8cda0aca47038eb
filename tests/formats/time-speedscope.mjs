/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// How long speedscope's importer takes for a file, and the most memory that was resident. `./mach bench formats` runs it.

import { readFileSync } from "node:fs";
import { basename } from "node:path";

import { loadImporter } from "./speedscope.mjs";

// Node.js itself would end with its version, and not with what went wrong.
process.on("uncaughtException", (error) => {
  console.error(String(error));
  process.exit(1);
});

const [file] = process.argv.slice(2);
const importText = await loadImporter();
const start = performance.now();
const profiles = await importText(basename(file), readFileSync(file, "utf8"));
const seconds = (performance.now() - start) / 1000;
if (!profiles) {
  throw new Error("speedscope does not recognise the file");
}
console.log(JSON.stringify({ seconds, memory: 1024 * process.resourceUsage().maxRSS }));
