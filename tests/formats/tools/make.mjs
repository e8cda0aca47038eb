/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Makes a small file with each tool: `node make.mjs FOLDER [PY-SPY PYTHON]`. The name of a file has the tool and its version.
// Those in components/profile_formats/tests/tools/ were made in this way.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { resolve } = createRequire(import.meta.url);

/** Where the programs seem to be. */
const PLACE = "/project";

const [folder, pySpy, python] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "strobe-tools-"));
try {
  for (const file of ["work.js", "work.py"]) {
    cpSync(join(here, file), join(work, file));
  }
  for (const name of ["node-20", "node-24", "node-26"]) {
    const [node, version] = program(name, "bin/node");
    run(node, ["--cpu-prof", "--cpu-prof-interval=4000", "--cpu-prof-name=out", "work.js"]);
    keep(`node-${version}.cpuprofile`, read("out"));
  }
  const [bun, bunVersion] = program("@oven/bun-linux-x64", "bin/bun");
  run(bun, ["--cpu-prof", "--cpu-prof-interval=4000", "--cpu-prof-name=out", "work.js"]);
  keep(`bun-${bunVersion}.cpuprofile`, read("out"));

  const [deno, denoVersion] = program("@deno/linux-x64-glibc", "deno");
  const options = ["--cpu-prof", "--cpu-prof-interval=4000", "--cpu-prof-dir=.", "--cpu-prof-name=out.cpuprofile"];
  run(deno, ["run", "--no-config", ...options, "work.js"]);
  keep(`deno-${denoVersion}.cpuprofile`, read("out.cpuprofile"));

  const [hermes, hermesVersion] = program("hermes-engine-cli", "linux64-bin/hermes");
  keep(`hermes-${hermesVersion}.json`, run(hermes, ["-sample-profiling", "work.js"]).stderr);

  if (pySpy !== undefined) {
    const [, version] = /(\d+\.\d+\.\d+)/.exec(run(pySpy, ["--version"]).stdout);
    for (const [format, ending] of [
      ["raw", "folded"],
      ["speedscope", "speedscope.json"],
    ]) {
      run(pySpy, ["record", "--rate=50", `--format=${format}`, "--output=out", "--", python, "-IS", "work.py"]);
      const libraries = execFileSync(python, ["-c", "import sys; print(sys.base_prefix)"], { encoding: "utf8" });
      keep(`py-spy-${version}.${ending}`, read("out").replaceAll(libraries.trim(), "/usr"));
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** The path of a package's program, and the version of the package. */
function program(name, path) {
  const manifest = resolve(`${name}/package.json`);
  const file = join(dirname(manifest), path);
  // npm leaves it to a script of the package, which does not run.
  chmodSync(file, 0o755);
  return [file, JSON.parse(readFileSync(manifest, "utf8")).version];
}

function run(file, options) {
  const result = spawnSync(file, options, { cwd: work, encoding: "utf8", maxBuffer: 1 << 28 });
  if (result.status !== 0) {
    throw new Error(`${file} ${options.join(" ")}: ${result.error ?? result.stderr}`);
  }
  return result;
}

function read(name) {
  return readFileSync(join(work, name), "utf8");
}

function keep(name, text) {
  writeFileSync(join(folder, name), text.replaceAll(work, PLACE));
  console.log(name);
}
