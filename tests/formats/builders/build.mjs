/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Builds the program in src/ by each builder, into FOLDER: `node build.mjs FOLDER [BUILDER…]`. A script is FOLDER/NAME.js, and its map is
// beside it.

import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve as resolvePath } from "node:path";

import * as babel from "@babel/core";
import remapping from "@jridgewell/remapping";
import * as svelte from "@sveltejs/vite-plugin-svelte";
import * as swc from "@swc/core";
import vue from "@vitejs/plugin-vue";
import { rspack } from "@rspack/core";
import * as esbuild from "esbuild";
import { minifySync } from "oxc-minify";
import * as rolldown from "rolldown";
import { rollup } from "rollup";
import { minify as terser } from "terser";
import uglify from "uglify-js";
import * as vite from "vite";
import webpack from "webpack";

const folder = resolvePath(process.argv[2]);
const { resolve } = createRequire(import.meta.url);
const here = import.meta.dirname;

/** Files of sources, and what builders find beside them. */
const work = join(folder, "..", "build");
rmSync(work, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
cpSync(join(here, "src"), work, { recursive: true });
cpSync(join(here, "src", "pack"), join(work, "node_modules", "kinds-pack"), { recursive: true });
const entry = join(work, "main.js");
const out = (name) => join(folder, `${name}.js`);

/** The same program with types, which move nothing to another line. */
const typed = join(work, "typed");
mkdirSync(typed);
for (const name of ["main", "shapes", "tasks"]) {
  const text = readFileSync(join(work, `${name}.js`), "utf8");
  writeFileSync(join(typed, `${name}.ts`), text.replaceAll("(count)", "(count: any)").replace(/\((\w+): any\)(?= *;|\)|,|\.)/gu, "($1)"));
}

const BUILDERS = {
  "esbuild-minified": () => byEsbuild("esbuild-minified", { minify: true }),
  "esbuild-es2017": () => byEsbuild("esbuild-es2017", { target: "es2017" }),
  "esbuild-unminified": () => byEsbuild("esbuild-unminified", {}),
  "rollup-iife": () => byRollup("rollup-iife", "iife"),
  "rollup-es": () => byRollup("rollup-es", "es"),
  rolldown: async () => {
    const build = await rolldown.rolldown({ input: entry });
    await build.write({ file: out("rolldown"), format: "iife", minify: true, sourcemap: true });
  },
  vite: () => byVite("vite", entry, []),
  svelte: async () => byVite("svelte", component("Kinds.svelte", "svelte"), [svelte.svelte()]),
  vue: async () => byVite("vue", component("Kinds.vue", "vue"), [vue()]),
  "webpack-production": () => byWebpack(webpack, "webpack-production", { mode: "production", devtool: "source-map" }),
  "webpack-development": () => byWebpack(webpack, "webpack-development", { mode: "development", devtool: "source-map" }),
  "webpack-cheap-module": () =>
    byWebpack(webpack, "webpack-cheap-module", { mode: "development", devtool: "cheap-module-source-map" }),
  "webpack-eval": () => byWebpack(webpack, "webpack-eval", { mode: "development", devtool: "eval-source-map" }),
  rspack: () => byWebpack(rspack, "rspack", { mode: "production", devtool: "source-map" }),
  "rspack-eval": () => byWebpack(rspack, "rspack-eval", { mode: "development", devtool: "eval-source-map" }),
  terser: () =>
    minified("terser", async (code, map) => {
      const options = { module: true, compress: true, mangle: true };
      return terser({ "terser.js": code }, { ...options, sourceMap: { content: map, includeSources: true } });
    }),
  "uglify-js": () =>
    minified("uglify-js", (code, map) => {
      const options = { module: true, sourceMap: { content: map, includeSources: true } };
      const made = uglify.minify({ "uglify-js.js": code }, options);
      if (made.error) {
        throw made.error;
      }
      return made;
    }),
  swc: () =>
    minified("swc", (code, map) =>
      swc.minify(code, { compress: true, mangle: true, module: true, sourceMap: true }).then((made) => ({
        code: made.code,
        map: composed(made.map, map),
      })),
    ),
  // It puts the maps together by itself.
  babel: () =>
    minified("babel", (code, map) => {
      const options = { configFile: false, babelrc: false, compact: true, comments: false, sourceMaps: true };
      return babel.transformAsync(code, { ...options, inputSourceMap: JSON.parse(map) });
    }),
  "oxc-minify": () =>
    minified("oxc-minify", (code, map) => {
      const made = minifySync("oxc-minify.js", code, { sourcemap: true, module: true });
      return { code: made.code, map: composed(made.map, map) };
    }),
  // It knows no private methods.
  "google-closure-compiler": () =>
    minified("google-closure-compiler", async (text, ofText) => {
      const lowered = await esbuild.transform(text, { target: "es2021", sourcemap: "external", sourcefile: "in.js" });
      const [code, map] = [lowered.code, JSON.stringify(composed(lowered.map, ofText))];
      const [input, inputMap, output] = ["in.js", "in.js.map", "out.js"].map((name) => join(work, name));
      writeFileSync(input, code);
      writeFileSync(inputMap, map);
      const program = join(dirname(resolve("google-closure-compiler-linux/package.json")), "compiler");
      chmodSync(program, 0o755);
      execFileSync(program, [
        "--warning_level=QUIET",
        "--language_out=ES_NEXT",
        `--js=${input}`,
        `--source_map_input=${input}|${inputMap}`,
        "--source_map_include_content",
        `--create_source_map=${output}.map`,
        `--js_output_file=${output}`,
      ]);
      return { code: readFileSync(output, "utf8"), map: readFileSync(`${output}.map`, "utf8") };
    }),
  bun: () => {
    const bun = join(dirname(resolve("@oven/bun-linux-x64/package.json")), "bin", "bun");
    chmodSync(bun, 0o755);
    execFileSync(bun, ["build", entry, "--minify", "--sourcemap=linked", `--outdir=${join(work, "bun")}`]);
    moved("bun", join(work, "bun", "main.js"));
  },
  parcel: () => {
    writeFileSync(join(work, "package.json"), '{ "targets": { "main": false } }');
    execFileSync(process.execPath, [join(here, "parcel.mjs"), entry, join(work, "parcel")], { cwd: work });
    moved("parcel", join(work, "parcel", "main.js"));
  },
  metro: () => {
    execFileSync(process.execPath, [join(here, "metro.mjs"), work, join(work, "metro.js")], { cwd: work });
    renameSync(join(work, "metro.map"), join(work, "metro.js.map"));
    moved("metro", join(work, "metro.js"));
  },
  "esbuild-typescript": () => byEsbuild("esbuild-typescript", { entryPoints: [join(typed, "main.ts")] }),
  "typescript-es2022": () => byTypescript("typescript-es2022", "es2022"),
  "typescript-es2015": () => byTypescript("typescript-es2015", "es2015"),
};

const only = process.argv.slice(3);
let failed = 0;
for (const [name, build] of Object.entries(BUILDERS)) {
  if (only.length > 0 && !only.includes(name)) {
    continue;
  }
  try {
    await build();
    if (!existsSync(out(name))) {
      throw new Error("it wrote no script");
    }
  } catch (error) {
    failed += 1;
    console.log(`${name}: ${error.stack}`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;

async function byEsbuild(name, options) {
  const all = { entryPoints: [entry], bundle: true, format: "iife", sourcemap: true, outfile: out(name), absWorkingDir: work };
  await esbuild.build({ ...all, logLevel: "error", nodePaths: [join(work, "node_modules")], ...options });
}

function resolved() {
  return {
    name: "kinds-pack",
    resolveId: (source) => (source === "kinds-pack" ? join(work, "node_modules", "kinds-pack", "index.js") : null),
  };
}

async function byRollup(name, format) {
  const build = await rollup({ input: entry, plugins: [resolved()] });
  await build.write({ file: out(name), format, sourcemap: true });
}

/** Makes the code of the program that a framework compiles. */
function component(name, framework) {
  const file = join(work, name);
  cpSync(join(here, "components", name), file);
  const start = join(work, `${framework}.js`);
  cpSync(join(here, "components", `${framework}.js`), start);
  // The packages are not in a folder above.
  symlinkSync(dirname(resolve(`${framework}/package.json`)), join(work, "node_modules", framework), "dir");
  return start;
}

async function byVite(name, input, plugins) {
  const build = { outDir: join(work, name), emptyOutDir: false, sourcemap: true, lib: undefined };
  const files = { input, output: { entryFileNames: `${name}.js`, format: "es" } };
  await vite.build({
    root: work,
    configFile: false,
    logLevel: "error",
    plugins,
    build: { ...build, rollupOptions: files, modulePreload: false, minify: true },
  });
  moved(name, join(work, name, `${name}.js`));
}

function byWebpack(compiler, name, options) {
  const output = { path: folder, filename: `${name}.js` };
  const all = { context: work, entry, output, performance: { hints: false }, ...options };
  return new Promise((done, failed) => {
    const running = compiler(all, (error, stats) => {
      running.close(() => {});
      if (error || stats.hasErrors()) {
        failed(error ?? new Error(stats.toString({ all: false, errors: true })));
      } else {
        done();
      }
    });
  });
}

/** Minifies what Rollup has written as a module. */
async function minified(name, minify) {
  await byRollup(name, "es");
  const code = readFileSync(out(name), "utf8").replace(/^\/\/# sourceMappingURL=.*$/mu, "");
  const made = await minify(code, readFileSync(`${out(name)}.map`, "utf8"));
  writeFileSync(out(name), `${made.code}\n//# sourceMappingURL=${name}.js.map\n`);
  writeFileSync(`${out(name)}.map`, typeof made.map === "string" ? made.map : JSON.stringify(made.map));
}

/** The map of what was made of code, to the sources of that code. */
function composed(map, ofCode) {
  const outer = typeof map === "string" ? JSON.parse(map) : map;
  let isFirst = true;
  return remapping(outer, () => {
    const inner = isFirst ? JSON.parse(ofCode) : null;
    isFirst = false;
    return inner;
  });
}

function moved(name, file) {
  const text = readFileSync(file, "utf8").replace(/^\/\/# sourceMappingURL=.*$/mu, `//# sourceMappingURL=${name}.js.map`);
  renameSync(`${file}.map`, `${out(name)}.map`);
  writeFileSync(out(name), text);
}

/** Types are not checked. What it writes is put together by esbuild, and the maps too. */
async function byTypescript(name, target) {
  const built = join(work, name);
  const tsc = join(dirname(resolve("typescript/package.json")), "bin", "tsc");
  const options = ["--target", target, "--module", "esnext", "--moduleResolution", "bundler", "--inlineSourceMap", "--inlineSources"];
  try {
    execFileSync(process.execPath, [tsc, join(typed, "main.ts"), ...options, "--noCheck", "--outDir", built]);
  } catch (error) {
    if (!existsSync(join(built, "main.js"))) {
      throw new Error(String(error.stdout), { cause: error });
    }
  }
  await byEsbuild(name, { entryPoints: [join(built, "main.js")] });
}
