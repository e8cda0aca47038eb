/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// speedscope's own importer, taken out of the application, which is a bundle in the package.

import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { JSDOM, VirtualConsole } from "jsdom";

import { functionKey, isStackless, readName } from "./labels.mjs";
import { entryOf } from "./totals.mjs";

const IMPORTER = "importProfileGroupFromText";
const ANONYMOUS = "(anonymous";

const manifest = createRequire(import.meta.url).resolve("speedscope/package.json");
const folder = join(dirname(manifest), "dist", "release");

export const { version } = JSON.parse(readFileSync(manifest, "utf8"));

/** Returns a function from a file's name and text to speedscope's profiles, or to null if it recognises none. */
export async function loadImporter() {
  const bundle = readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
  // It reports that WebGL, with which it draws, is missing.
  const { window } = new JSDOM("<!DOCTYPE html><body><div></div></body>", {
    pretendToBeVisual: true,
    runScripts: "outside-only",
    url: "http://localhost/",
    virtualConsole: new VirtualConsole(),
  });
  // jsdom lacks these.
  Object.assign(window, { TextDecoder, TextEncoder });
  window.matchMedia = () => ({ matches: false, addListener() {}, removeListener() {} });
  // The bundle defines the exported names of its modules as properties.
  let importers = null;
  const { defineProperty } = window.Object;
  window.Object.defineProperty = (target, name, descriptor) => {
    if (name === IMPORTER) {
      importers = target;
    }
    return defineProperty(target, name, descriptor);
  };
  window.eval(readFileSync(join(folder, bundle), "utf8"));
  // The importers are in a module that the application loads when it has started.
  await new Promise((resolve) => setTimeout(resolve, 0));
  if (!importers) {
    throw new Error(`speedscope ${version} has no ${IMPORTER}`);
  }
  return async (name, text) => {
    const group = await importers[IMPORTER](name, text);
    return group && group.profiles;
  };
}

/** The weights of a profile's functions. Frames whose key is null are not functions. */
export function totals(profile, unit, keyOf) {
  const found = new Map();
  profile.forEachFrame((frame) => {
    const key = keyOf(frame);
    if (key !== null) {
      const entry = entryOf(found, key);
      entry.itself += frame.getSelfWeight() / unit;
      entry.total += frame.getTotalWeight() / unit;
    }
  });
  return found;
}

/** The key of a frame in speedscope's own format. */
export function keyOfFrame({ name, file, line, col }) {
  return isStackless(name) && file === undefined
    ? null
    : functionKey({ name: readName(name), resource: file, line, column: col });
}

/** The key of a frame that speedscope makes of a .cpuprofile's. */
export function keyOfCallFrame({ name, file, line, col }) {
  return isStackless(name)
    ? null
    : functionKey({ name: name.startsWith(ANONYMOUS) ? "" : readName(name), resource: file, line, column: col });
}
