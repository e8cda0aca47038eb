/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The programs, how each is bundled, and functions that its profile must have, as they were written.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import nodeResolve from "@rollup/plugin-node-resolve";
import terser from "@rollup/plugin-terser";
import typescript from "@rollup/plugin-typescript";
import * as esbuild from "esbuild";
import * as rollup from "rollup";

/** All paths are relative to this folder. */
export const ROOT = fileURLToPath(new URL(".", import.meta.url));

// The text of `definition` is once in its file, on the line of the function's definition, and `hottest` on the line with
// the most samples. The first function is the one with the most samples of its own.
const OF_TOKENS = [
  {
    name: "mixed",
    file: "programs/tokens/shingles.ts",
    definition: "function mixed(numbers",
    hottest: "hash = (Math.imul(hash, 31)",
  },
  { name: "hashes", file: "programs/tokens/shingles.ts", definition: "private hashes(numbers" },
  {
    name: "pp$5.parseExprSubscripts",
    file: "node_modules/acorn/dist/acorn.mjs",
    definition: "pp$5.parseExprSubscripts = function(",
  },
  { name: "pp.nextToken", file: "node_modules/acorn/dist/acorn.mjs", definition: "pp.nextToken = function(" },
];

export const PROGRAMS = [
  {
    name: "list",
    entry: "programs/list/main.jsx",
    bundle: withEsbuild,
    known: [
      {
        name: "editDistance",
        file: "programs/list/ranking.mjs",
        definition: "function editDistance(",
        hottest: "const best = Math.min(",
      },
      { name: "turn", file: "programs/list/main.jsx", definition: "= function turn()" },
      // Preact is minified as it is published, with a map of its own.
      { name: "diff", file: "node_modules/preact/src/diff/index.js", definition: "export function diff(" },
      {
        name: "diffChildren",
        file: "node_modules/preact/src/diff/children.js",
        definition: "export function diffChildren(",
      },
    ],
  },
  {
    name: "compiler",
    entry: "programs/compiler/main.mjs",
    bundle: withEsbuild,
    known: [
      {
        name: "checksum",
        file: "programs/compiler/checksum.mjs",
        definition: "checksum = (text, times) =>",
        hottest: "hash = Math.imul((hash ^",
      },
      { name: "turn", file: "programs/compiler/main.mjs", definition: "= function turn()" },
      {
        name: "transpileWorker",
        file: "node_modules/typescript/lib/typescript.js",
        definition: "function transpileWorker(",
      },
      {
        name: "parseSourceFileWorker",
        file: "node_modules/typescript/lib/typescript.js",
        definition: "function parseSourceFileWorker(",
      },
    ],
  },
  { name: "tokens-esbuild", entry: "programs/tokens/main.ts", bundle: withEsbuild, known: OF_TOKENS },
  { name: "tokens-rollup", entry: "programs/tokens/main.ts", bundle: withRollup, known: OF_TOKENS },
];

/** The script of a program. Its map is beside it. */
export function scriptOf({ name }) {
  return `dist/${name}/app.js`;
}

async function withEsbuild(program) {
  await esbuild.build({
    absWorkingDir: ROOT,
    bundle: true,
    entryPoints: [program.entry],
    format: "iife",
    jsx: "automatic",
    jsxImportSource: "preact",
    logLevel: "error",
    minify: true,
    outfile: scriptOf(program),
    sourcemap: true,
  });
}

async function withRollup(program) {
  const bundle = await rollup.rollup({
    input: join(ROOT, program.entry),
    onLog: (level, { message }) => {
      throw new Error(`rollup: ${level}: ${message}`);
    },
    plugins: [
      nodeResolve(),
      typescript({
        include: [join(ROOT, "programs", "tokens", "*.ts")],
        module: "esnext",
        moduleResolution: "bundler",
        noEmitOnError: true,
        strict: true,
        target: "es2022",
        tsconfig: false,
      }),
      terser(),
    ],
  });
  await bundle.write({ file: join(ROOT, scriptOf(program)), format: "iife", sourcemap: true });
  await bundle.close();
}
