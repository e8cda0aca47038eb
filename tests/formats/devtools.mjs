/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The model of a .cpuprofile in Chrome's DevTools, compiled from their published sources.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { build } from "esbuild";

const manifest = createRequire(import.meta.url).resolve("chrome-devtools-frontend/package.json");

export const { version } = JSON.parse(readFileSync(manifest, "utf8"));

/** Returns the class CPUProfileDataModel. */
export async function loadModel() {
  const model = join(dirname(manifest), "front_end", "models", "cpu_profile", "CPUProfileDataModel.ts");
  const { outputFiles } = await build({
    entryPoints: [model],
    bundle: true,
    format: "esm",
    logLevel: "error",
    platform: "node",
    target: "node18",
    write: false,
    // The sources import each other by the names of the compiled files.
    plugins: [
      {
        name: "typescript-names",
        setup({ onResolve }) {
          onResolve({ filter: /^\..*\.js$/ }, ({ path, resolveDir }) => ({
            path: join(resolveDir, path.replace(/\.js$/, ".ts")),
          }));
        },
      },
    ],
  });
  const module = `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`;
  return (await import(module)).CPUProfileDataModel;
}
