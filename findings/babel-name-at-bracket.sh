#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# The names that Babel's source maps have at the round brackets of functions.
#
# Version: @babel/core 7.29.13 (npm), read by @jridgewell/trace-mapping 0.3.31, with any Node.js from 18 on.
# Expected: none, as in the maps of other builders; or else what an engine calls the function (ECMA-426 has the bracket of a
#   function as a place for its name): `get size` of a getter, and `Shape` of the constructor of that class.
# Seen: each bracket has a name, and it is the word before it: `size` of a getter and of a setter, and `constructor`. What takes
#   the name at the bracket for that of the function has a getter and its setter as one function, and all constructors as another.
#
# Needs Node.js and npm, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --ignore-scripts --prefix . \
  @babel/core@7.29.13 @jridgewell/trace-mapping@0.3.31 >/dev/null
cat >names.cjs <<'EOS'
const babel = require("@babel/core");
const { TraceMap, eachMapping } = require("@jridgewell/trace-mapping");
const text = "class Shape { constructor() {} area() {} get size() { return 1; } set size(to) {} }\n";
const { code, map } = babel.transformSync(text, { configFile: false, babelrc: false, sourceMaps: true, filename: "a.js" });
const lines = code.split("\n");
const names = [];
eachMapping(new TraceMap(map), ({ generatedLine, generatedColumn, name }) => {
  if (lines[generatedLine - 1][generatedColumn] === "(") {
    names.push(name);
    console.log(`${lines[generatedLine - 1].trim()}: ${JSON.stringify(name)}`);
  }
});
const is = names.join() === "constructor,area,size,size";
console.log(is ? "as was seen" : "changed");
process.exit(is ? 0 : 1);
EOS
node names.cjs
