/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Records the built scripts: `node record.mjs SCRIPTS FOLDER NODE CHROMIUM FIREFOX`. FOLDER gets a .cpuprofile by Chromium of
// each script, which has lines and no columns, and what Firefox writes, which has columns.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [scripts, folder, node, chromium, firefox] = process.argv.slice(2);
const here = import.meta.dirname;
const names = readdirSync(scripts)
  .filter((name) => name.endsWith(".js"))
  .map((name) => name.slice(0, -3));
mkdirSync(folder, { recursive: true });

let waiting = [];
const server = createServer((request, response) => {
  const path = new URL(request.url, "http://host").pathname.slice(1);
  if (path === "after-work") {
    waiting.push(response);
    return;
  }
  if (path === "done") {
    waiting.forEach((one) => one.end());
    waiting = [];
    response.end();
    return;
  }
  const type = path.endsWith(".js") ? "text/javascript" : "text/html";
  try {
    const content = readFileSync(path === "page.html" ? join(here, path) : join(scripts, path));
    response.setHeader("Content-Type", `${type}; charset=utf-8`).end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const page = (of) => `http://127.0.0.1:${server.address().port}/page.html?${of}`;
const home = mkdtempSync(join(tmpdir(), "strobe-builders-"));
try {
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const browser = start(chromium, [...flags, "--remote-debugging-port=0", `--user-data-dir=${join(home, "chromium")}`], {});
  const address = await new Promise((resolve, reject) => {
    let said = "";
    browser.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
      const match = /DevTools listening on (\S+)/.exec(said);
      if (match) {
        resolve(match[1]);
      }
    });
    browser.once("close", () => reject(new Error(said)));
  });
  for (const name of names) {
    const client = join(here, "..", "tools", "devtools-protocol.mjs");
    const words = ["page", address, join(folder, `${name}.cpuprofile`), page(name), "globalThis.finished"];
    await ended(start(node, [client, ...words], { INTERVAL: "1000" }), name);
  }
  const end = new Promise((resolve) => browser.once("close", resolve));
  browser.kill();
  await end;

  const environment = {
    HOME: home,
    MOZ_PROFILER_STARTUP: "1",
    MOZ_PROFILER_STARTUP_FEATURES: "js,nomarkerstacks",
    MOZ_PROFILER_STARTUP_FILTERS: "GeckoMain",
    MOZ_PROFILER_STARTUP_INTERVAL: "1",
  };
  const profile = join(home, "firefox");
  mkdirSync(profile);
  // In the code of its optimising compiler, the lines and columns of Firefox ESR 153 are often those of other functions.
  const preferences = { "javascript.options.ion": false, "toolkit.asyncshutdown.crash_timeout": 600000 };
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref("${name}", ${value});\n`);
  writeFileSync(join(profile, "user.js"), lines.join(""));
  for (const name of names) {
    const options = ["--headless", "--profile", profile, "--screenshot", join(home, "picture.png"), page(name)];
    const out = { MOZ_PROFILER_SHUTDOWN: join(folder, `${name}.firefox.json`) };
    await ended(start(firefox, options, { ...environment, ...out }), `firefox: ${name}`);
  }
} finally {
  server.closeAllConnections();
  server.close();
  rmSync(home, { recursive: true, force: true, maxRetries: 9 });
}

function start(file, options, environment) {
  return spawn(file, options, { env: { ...process.env, ...environment }, stdio: ["ignore", "ignore", "pipe"] });
}

async function ended(child, what) {
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said += text;
  });
  const status = await new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
  if (status !== 0) {
    throw new Error(`${what}: ${status}: ${said}`);
  }
}
