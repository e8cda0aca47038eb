/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Bundles each library with its work, as pages have them: one minified script without modules.
//
//     node bundle.mjs FOLDER LIBRARY…    writes FOLDER/LIBRARY.js from LIBRARY.mjs
//
// A work imports real texts by two more kinds of names: `text:PACKAGE/FILE` is the text of a file, and
// `texts:PACKAGE/FOLDER` is an object with the texts of all TypeScript files in a folder, by their paths in it.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const packages = join(here, "node_modules");

const texts = {
  name: "texts",
  setup({ onResolve, onLoad }) {
    for (const kind of ["text", "texts"]) {
      const prefix = `${kind}:`;
      onResolve({ filter: new RegExp(`^${prefix}`) }, ({ path }) => ({
        path: join(packages, path.slice(prefix.length)),
        namespace: kind,
      }));
    }
    onLoad({ filter: /.*/, namespace: "text" }, async ({ path }) => ({
      contents: await readFile(path, "utf8"),
      loader: "text",
    }));
    onLoad({ filter: /.*/, namespace: "texts" }, async ({ path }) => {
      const files = (await readdir(path, { recursive: true })).filter((file) => file.endsWith(".ts")).sort();
      const read = files.map(async (file) => [file, await readFile(join(path, file), "utf8")]);
      return { contents: JSON.stringify(Object.fromEntries(await Promise.all(read))), loader: "json" };
    });
  },
};

const [folder, ...libraries] = process.argv.slice(2);
await build({
  entryPoints: libraries.map((library) => join(here, `${library}.mjs`)),
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  // The exports of the work: see real.js.
  globalName: "library",
  platform: "browser",
  target: "es2022",
  define: { "process.env.NODE_ENV": '"production"' },
  legalComments: "none",
  logLevel: "error",
  plugins: [texts],
});
