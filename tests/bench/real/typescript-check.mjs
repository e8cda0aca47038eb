/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// An editor in the page that checks types again after a change of one file. The other files stay parsed.

import ts from "typescript";
import es5 from "text:typescript/lib/lib.es5.d.ts";
import sources from "texts:rxjs/src/internal";

import { checksum } from "./checksum.mjs";

const LIBRARY = "/lib.es5.d.ts";
const ROOT = "/Subscription.ts";
const options = { target: ts.ScriptTarget.ES2015, strict: true, noEmit: true, lib: [LIBRARY], types: [] };
const files = new Map([[LIBRARY, es5], ...Object.entries(sources).map(([path, text]) => [`/${path}`, text])]);
const parsed = new Map();

const host = {
  fileExists: (path) => files.has(path),
  readFile: (path) => files.get(path),
  getSourceFile(path, version) {
    if (path === ROOT) {
      parsed.delete(path);
    }
    if (!parsed.has(path)) {
      const text = files.get(path);
      parsed.set(path, text === undefined ? undefined : ts.createSourceFile(path, text, version, true));
    }
    return parsed.get(path);
  },
  getDefaultLibFileName: () => LIBRARY,
  getCurrentDirectory: () => "/",
  getCanonicalFileName: (path) => path,
  useCaseSensitiveFileNames: () => true,
  getNewLine: () => "\n",
  writeFile() {},
};

export function unit() {
  const program = ts.createProgram([ROOT], options, host);
  const changed = program.getSourceFile(ROOT);
  const problems = [...program.getSyntacticDiagnostics(changed), ...program.getSemanticDiagnostics(changed)];
  return checksum(ts.formatDiagnostics(problems, host)) + program.getSourceFiles().length;
}
