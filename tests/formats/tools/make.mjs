/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Makes a small file with each tool: `node make.mjs FOLDER [TOOL=PROGRAM…]`, where TOOL is a name of PROGRAMS, and other tools are
// packages of npm. The name of a file has the tool and its version. Those in components/profile_formats/tests/tools/ were made
// in this way.

import { spawn } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const { resolve } = createRequire(import.meta.url);

/** Where the programs seem to be. */
const PLACE = "/project";

/** In microseconds. */
const INTERVAL = 4000;
/** Later than the last work of a page, which a timer does. */
const AFTER_WORK = "new Promise((resolve) => setTimeout(resolve, WAIT + 1))";
/** In samples per second. */
const RATE = 250;

/** What is no package of npm. */
const PROGRAMS = { chromium, firefox, inferno, "py-spy": pySpy, samply };

const [folder, ...named] = process.argv.slice(2);
const paths = Object.fromEntries(named.map((text) => text.split("=")));
mkdirSync(folder, { recursive: true });
const work = mkdtempSync(join(tmpdir(), "strobe-tools-"));
try {
  for (const file of ["work.js", "work.py"]) {
    cpSync(join(here, file), join(work, file));
  }
  writeFileSync(join(work, "page.html"), "<!doctype html><script src=work.js></script>");
  await engines();
  await workerd();
  for (const [tool, make] of Object.entries(PROGRAMS)) {
    if (paths[tool] !== undefined) {
      await make(paths[tool]);
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true, maxRetries: 9 });
}

async function engines() {
  const interval = `--cpu-prof-interval=${INTERVAL}`;
  for (const name of ["node-20", "node-24", "node-26"]) {
    const [node, version] = program(name, "bin/node");
    await run(node, ["--cpu-prof", interval, "--cpu-prof-name=out", "work.js"]);
    keep(`node-${version}.cpuprofile`, read("out"));
  }
  const [bun, bunVersion] = program("@oven/bun-linux-x64", "bin/bun");
  await run(bun, ["--cpu-prof", interval, "--cpu-prof-name=out", "work.js"]);
  keep(`bun-${bunVersion}.cpuprofile`, read("out"));

  const [deno, denoVersion] = program("@deno/linux-x64-glibc", "deno");
  const options = ["--cpu-prof", interval, "--cpu-prof-dir=.", "--cpu-prof-name=out.cpuprofile"];
  await run(deno, ["run", "--no-config", ...options, "work.js"]);
  keep(`deno-${denoVersion}.cpuprofile`, read("out.cpuprofile"));

  const [hermes, hermesVersion] = program("hermes-engine-cli", "linux64-bin/hermes");
  const { stderr } = await run(hermes, ["-sample-profiling", "work.js"]);
  keep(`hermes-${hermesVersion}.json`, stderr);
}

/** A worker may do nothing before it has a request. */
async function workerd() {
  const [file, version] = program("@cloudflare/workerd-linux-64", "bin/workerd");
  const script = `export default {
  async fetch() {
${read("work.js")}
    await new Promise((resolve) => setTimeout(resolve, WAIT + 1));
    return new Response("done");
  },
};
`;
  writeFileSync(join(work, "worker.js"), script);
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(
    name = "main",
    worker = (modules = [(name = "worker.js", esModule = embed "worker.js")], compatibilityDate = "2026-11-01"),
  )],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`;
  writeFileSync(join(work, "config.capnp"), config);
  const options = ["serve", "config.capnp", "--inspector-addr=127.0.0.1:0", "--control-fd=1"];
  const isReady = /"listen-inspector","port":(\d+)[^]*"socket":"http","port":(\d+)/;
  await whileRunning(file, options, "stdout", isReady, async ([, inspector, http]) => {
    await byProtocol("workerd", `ws://127.0.0.1:${inspector}/main`, `http://127.0.0.1:${http}/`);
  });
  keep(`workerd-${version}.cpuprofile`, read("out"));
}

async function chromium(file) {
  const [version] = /\d[\d.]+/.exec((await run(file, ["--version"])).stdout);
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  const options = [...flags, "--remote-debugging-port=0", `--user-data-dir=${join(work, "chromium")}`];
  await whileRunning(file, options, "stderr", /DevTools listening on (\S+)/, async ([, address]) => {
    for (const [way, ending] of [
      ["page", "cpuprofile"],
      ["trace", "chrome-trace.json"],
    ]) {
      await byProtocol(way, address, page());
      keep(`chromium-${version}.${ending}`, read("out"));
    }
  });
}

/** What Firefox itself writes when it ends. */
async function firefox(file) {
  const [version] = /\d[\w.]+/.exec((await run(file, ["--version"])).stdout);
  const profile = join(work, "firefox");
  mkdirSync(profile);
  const environment = {
    HOME: work,
    MOZ_PROFILER_STARTUP: "1",
    MOZ_PROFILER_STARTUP_FEATURES: "js",
    MOZ_PROFILER_STARTUP_FILTERS: "GeckoMain",
    MOZ_PROFILER_STARTUP_INTERVAL: String(INTERVAL / 1000),
    MOZ_PROFILER_SHUTDOWN: join(work, "out"),
  };
  await run(file, ["--headless", "--profile", profile, "--screenshot", join(work, "picture.png"), page()], environment);
  const text = placed(JSON.stringify(withoutRest(JSON.parse(read("out")))));
  keep(`firefox-${version}.json.gz`, gzipSync(text));
  writeFileSync(join(work, "raw.json"), text);
  await firefoxProfiler("raw.json", `firefox-${version}`);
}

/** What the Firefox Profiler makes of such a file. Its command-line tool has no command that saves it, so that is added. */
async function firefoxProfiler(raw, name) {
  const [file, version] = program("@firefox-devtools/profiler-cli", "dist/profiler-cli.js");
  const reading = /readFileSync\(\w+,null\),\w+=\{\},(\w+)=await \w+\(\w+,\w+,\w+\);/;
  const flat = "(key, value) => ArrayBuffer.isView(value) ? Array.from(value) : value";
  const text = readFileSync(file, "utf8");
  const saving = text.replace(reading, (call, profile) => {
    return `${call}require("fs").writeFileSync("out", JSON.stringify(${profile}, ${flat}));process.exit(0);`;
  });
  if (saving === text) {
    throw new Error(`${file}: it reads files in another way`);
  }
  writeFileSync(join(work, "profiler-cli.js"), saving);
  const [node] = program("node-24", "bin/node");
  const environment = { PROFILER_CLI_SESSION_DIR: join(work, "sessions"), PROFILER_CLI_NO_SYMBOLICATE: "1" };
  await run(node, ["profiler-cli.js", "--daemon", raw, "--session", "make"], environment);
  keep(`profiler-cli-${version}-${name}.firefox.json.gz`, gzipSync(placed(read("out"))));
}

/** Of megabytes of a browser, the process of the page, and of the first one what it says about itself: all clocks are its own. */
function withoutRest(profile) {
  const ofPage = profile.processes.filter(({ threads }) =>
    threads.some(({ stringTable }) => stringTable.some((text) => text.includes("work.js"))),
  );
  for (const process of [profile, ...ofPage]) {
    Object.assign(process, { libs: [], pages: [] });
    process.meta.markerSchema = [];
    process.threads.forEach(({ markers }) => {
      markers.data = [];
    });
  }
  return { ...profile, threads: [], processes: ofPage };
}

/** Stacks that perf has recorded, collapsed. Node.js says where its functions are in memory. */
async function inferno(file) {
  const [node] = program("node-26", "bin/node");
  const options = ["--perf-basic-prof", "--interpreted-frames-native-stack"];
  const [perfVersion] = /\d[\d.]+/.exec((await run(paths.perf, ["--version"])).stdout);
  // It does not say its version, but its folder does.
  const [, version] = /inferno-([\d.]+)/.exec(file);
  await run(paths.perf, ["record", "-q", `-F${RATE}`, "-g", "-o", "perf.data", "--", node, ...options, "work.js"]);
  const { stdout } = await run(paths.perf, ["script", "-i", "perf.data"]);
  writeFileSync(join(work, "stacks"), stdout);
  keep(`perf-${perfVersion}-inferno-${version}.folded`, (await run(file, ["stacks"])).stdout);
}

/** The Firefox Profiler's format, with code of the machine. Node.js says where its functions are in memory. */
async function samply(file) {
  const [node] = program("node-26", "bin/node");
  const [version] = /\d[\d.]+/.exec((await run(file, ["--version"])).stdout);
  const options = ["--perf-basic-prof", "--interpreted-frames-native-stack"];
  // At its own interval: at ours, `loop` might have no sample.
  await run(file, ["record", "--save-only", "--output=out.json.gz", "--", node, ...options, "work.js"]);
  const text = gunzipSync(readFileSync(join(work, "out.json.gz"))).toString();
  keep(`samply-${version}.firefox.json.gz`, gzipSync(placed(text.replaceAll(dirname(node), "/usr/bin"))));
}

async function pySpy(file) {
  const [version] = /\d[\d.]+/.exec((await run(file, ["--version"])).stdout);
  for (const [format, ending] of [
    ["raw", "folded"],
    ["speedscope", "speedscope.json"],
  ]) {
    const options = ["record", "--rate=50", `--format=${format}`, "--output=out"];
    await run(file, [...options, "--", paths.python, "-IS", "work.py"]);
    const { stdout } = await run(paths.python, ["-c", "import sys; print(sys.base_prefix)"]);
    keep(`py-spy-${version}.${ending}`, read("out").replaceAll(stdout.trim(), "/usr"));
  }
}

function page() {
  return pathToFileURL(join(work, "page.html")).href;
}

async function byProtocol(way, address, url) {
  const [node] = program("node-26", "bin/node");
  const words = [join(here, "devtools-protocol.mjs"), way, address, join(work, "out"), url];
  await run(node, [...words, AFTER_WORK], { INTERVAL: String(INTERVAL) });
}

/** The path of a package's program, and the version of the package. */
function program(name, path) {
  const manifest = resolve(`${name}/package.json`);
  const file = join(dirname(manifest), path);
  // npm leaves it to a script of the package, which does not run.
  chmodSync(file, 0o755);
  return [file, JSON.parse(readFileSync(manifest, "utf8")).version];
}

/** What a program prints, which must end well. */
async function run(file, options, environment = {}) {
  const child = start(file, options, environment);
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"]) {
    child[name].setEncoding("utf8").on("data", (text) => {
      said[name] += text;
    });
  }
  const status = await ended(child);
  if (status !== 0) {
    throw new Error(`${file} ${options.join(" ")}: ${status}: ${said.stderr}`);
  }
  return said;
}

/** Runs a program that ends when we are done, and does something once it has written a text. */
async function whileRunning(file, options, stream, isReady, use) {
  const child = start(file, options, { HOME: work });
  let said = "";
  const ready = new Promise((resolve, reject) => {
    for (const name of ["stdout", "stderr"]) {
      child[name].setEncoding("utf8").on("data", (text) => {
        said += text;
        const match = name === stream && isReady.exec(said);
        if (match) {
          resolve(match);
        }
      });
    }
    child.once("error", reject);
    child.once("close", () => reject(new Error(`${file} ended: ${said}`)));
  });
  try {
    await use(await ready);
  } finally {
    const end = ended(child);
    child.kill();
    await end;
  }
}

function start(file, options, environment) {
  return spawn(file, options, { cwd: work, env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "pipe"] });
}

/** The status with which a program ends, or its signal. */
function ended(child) {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status, signal) => resolve(status ?? signal));
  });
}

function read(name) {
  return readFileSync(join(work, name), "utf8");
}

function placed(text) {
  return text.replaceAll(work, PLACE);
}

function keep(name, content) {
  writeFileSync(join(folder, name), typeof content === "string" ? placed(content) : content);
  console.log(name);
}
