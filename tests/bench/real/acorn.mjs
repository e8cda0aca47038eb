/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A bundler's parser: reads a library's text, and collects what it defines and uses.

import { parse } from "acorn";
import { simple } from "acorn-walk";
import source from "text:acorn-walk/dist/walk.mjs";

import { checksum } from "./checksum.mjs";

export function unit() {
  const tree = parse(source, { ecmaVersion: 2022, sourceType: "module", locations: true });
  const names = [];
  simple(tree, {
    Identifier: ({ name }) => names.push(name),
    Function: ({ loc, params }) => names.push(`${loc.start.line}:${loc.start.column}:${params.length}`),
    ExportNamedDeclaration: ({ specifiers }) => names.push(...specifiers.map(({ exported }) => exported.name)),
  });
  return checksum(names.join(" "));
}
