/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Builds by Metro, as for React Native: `node metro.mjs FOLDER OUT`, where FOLDER has main.js.

import { join } from "node:path";

import Metro from "metro";

const [projectRoot, out] = process.argv.slice(2);
const config = await Metro.loadConfig({ cwd: projectRoot }, { projectRoot, watchFolders: [projectRoot, import.meta.dirname] });
const getTransformOptions = async () => ({ transform: { experimentalImportSupport: true } });
// Modules of Metro's own are not in a folder above.
const nodeModulesPaths = [join(import.meta.dirname, "node_modules")];
const resolver = { ...config.resolver, nodeModulesPaths, useWatchman: false };
const transformer = { ...config.transformer, getTransformOptions };
await Metro.runBuild(
  { ...config, reporter: { update() {} }, resolver, transformer },
  { entry: join(projectRoot, "main.js"), out, dev: false, minify: true, sourceMap: true, platform: "web" },
);
process.exit(0);
