/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Checks the recordings of the built scripts: `node check.mjs SCRIPTS FOLDER PROGRAM`, where FOLDER has what record.mjs wrote, and
// PROGRAM is the example mapped_functions. Each kind of function must have its name, its file and the line of its definition, and
// its samples must be in its loop.

import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";

import { LACKS, kinds } from "./kinds.mjs";

const [scripts, folder, program] = process.argv.slice(2);
const names = readdirSync(scripts)
  .filter((name) => name.endsWith(".js"))
  .map((name) => name.slice(0, -3));
let failed = 0;
for (const name of names) {
  const script = (one) => one.script?.endsWith(`/${name}.js`);
  const results = [
    ["with columns", functionsOf(`${name}.firefox.json`).filter(script), true],
    ["without columns", functionsOf(`${name}.cpuprofile`), false],
  ];
  const texts = results.map(([way, functions, hasColumns]) => {
    const problems = kinds.map((kind) => [kind.name, problemOf(kind, functions, hasColumns)]);
    const wrong = problems.filter(([, problem]) => problem !== null);
    const strays = functions.filter((one) => LACKS[name]?.kinds !== "all" && isStray(one)).map((one) => `${one.name} at ${fileOf(one)}:${one.line}`);
    const lacks = LACKS[name]?.kinds ?? [];
    const isLacking = (kind) => lacks === "all" || lacks.includes(kind);
    const isRight = problems.every(([kind, problem]) => (problem === null) !== isLacking(kind)) && strays.length === 0;
    if (!isRight) {
      failed += 1;
    }
    const said = wrong.map(([kind, problem]) => `${kind}: ${problem}`).concat(strays);
    const what = said.length === 0 || (isRight && lacks === "all") ? "" : ` (${said.join("; ")})`;
    return `${isRight ? "" : "WRONG "}${way} ${kinds.length - wrong.length} of ${kinds.length}${what}`;
  });
  console.log(`${name}: ${texts.join(", ")}`);
}
console.log(`${names.length} scripts, ${failed} wrong`);
process.exitCode = failed === 0 ? 0 : 1;

function functionsOf(file) {
  const options = { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] };
  return JSON.parse(execFileSync(program, [join(folder, file), scripts], options));
}

function fileOf({ file }) {
  return basename(file ?? "").replace(/\?.*$/u, "");
}

function isOf(kind, one) {
  // webpack calls what it evaluates webpack-internal:///./main.js.
  const isOriginal = !one.file?.startsWith("webpack-internal:");
  return isOriginal && [`${kind.stem}.js`, `${kind.stem}.ts`].includes(fileOf(one)) && one.line === kind.line;
}

function problemOf(kind, functions, hasColumns) {
  const found = functions.filter((one) => isOf(kind, one));
  if (found.length === 0) {
    return "not there";
  }
  const [one] = found.filter(({ name }) => kind.names.includes(name));
  // The initial values of a class's fields are set by a function that begins where the first of them does.
  const others = found.filter((other) => other !== one && other.samples > (one?.samples ?? 0));
  if (one === undefined || others.length > 0) {
    return `called ${found.map(({ name }) => JSON.stringify(name)).join()}`;
  }
  const [start, end] = kind.loop;
  const isInLoop = ([first, last]) => first <= end && last >= start;
  const isWithin = ([first, last]) => first >= kind.line && last <= kind.end && (!hasColumns || first === last);
  const wrong = one.lines.filter((lines) => !isWithin(lines));
  if (wrong.length > 0) {
    return `at ${JSON.stringify(wrong)}`;
  }
  if (!one.lines.some(isInLoop)) {
    return `${one.samples} samples, not in its loop: ${JSON.stringify(one.lines)}`;
  }
  return null;
}

/** Whether something else has the name of a kind. Without a line it is code of that function within another one. */
function isStray(one) {
  const isOfProgram = /^(?:main|shapes|tasks|index)\.[jt]s$/u.test(fileOf(one)) && one.line !== null;
  return isOfProgram && kinds.some((kind) => kind.names.includes(one.name) && !isOf(kind, one));
}
