/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A playground that compiles one file at each key: parse, transform, emit.

import ts from "typescript";
import source from "text:rxjs/src/internal/Observable.ts";

import { checksum } from "./checksum.mjs";

const compilerOptions = { target: ts.ScriptTarget.ES5, module: ts.ModuleKind.CommonJS, importHelpers: true };

export function unit() {
  return checksum(ts.transpileModule(source, { compilerOptions, fileName: "Observable.ts" }).outputText);
}
