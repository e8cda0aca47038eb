/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The model of a .cpuprofile in Chrome's DevTools, compiled from their published sources.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { build } from "esbuild";

import { functionKey, isStackless, lineKey, readName } from "./labels.mjs";
import { entryOf } from "./totals.mjs";

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

/** The functions and lines of a profile, as the model of it counts them: in hits, which all have the same time. */
export function totals(model, { startTime, endTime }) {
  const functions = new Map();
  const lines = new Map();
  if (model.totalHitCount === 0) {
    return { functions, lines };
  }
  const hit = (endTime - startTime) / 1000 / model.totalHitCount;
  const visit = (node, callers) => {
    const key = keyOfCallFrame(node.callFrame);
    if (key !== null) {
      for (const { line, ticks } of node.positionTicks ?? []) {
        const keyOfLine = lineKey(key, line);
        lines.set(keyOfLine, (lines.get(keyOfLine) ?? 0) + ticks);
      }
      const entry = entryOf(functions, key);
      entry.itself += node.self / hit;
      entry.total += callers.has(key) ? 0 : node.total / hit;
    }
    const isNew = !callers.has(key);
    callers.add(key);
    node.children.forEach((child) => visit(child, callers));
    if (isNew) {
      callers.delete(key);
    }
  };
  visit(model.profileHead, new Set());
  return { functions, lines };
}

/** The key of a function, or null if it stands for samples without a stack. */
export function keyOfCallFrame({ functionName, url, lineNumber, columnNumber }) {
  if ((isStackless(functionName) || functionName === "(root)") && url === "") {
    return null;
  }
  return functionKey({
    name: readName(functionName),
    resource: url,
    line: lineNumber + 1,
    column: columnNumber + 1,
  });
}
