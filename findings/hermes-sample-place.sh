#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# Where Hermes says that a function was which runs a loop and calls nothing.
#
# Version: hermes-engine-cli 0.12.0 (npm), `hermes -sample-profiling`, on Linux x86-64.
# Expected: `line` of a sample's frame is the line that was executing, so the samples of `leaf` are in its loop, at the lines
#   3 and 4 of the program.
# Seen: all of them are at line 1, column 1, where the function begins, the same place as `funcLine` and `funcColumn`. Only
#   functions that are calling another one have the place of the call.
#
# Needs npm, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --ignore-scripts --prefix . hermes-engine-cli@0.12.0 >/dev/null
hermes=node_modules/hermes-engine-cli/linux64-bin/hermes
chmod +x "$hermes"
cat >work.js <<'EOF'
function leaf(n) {
  let sum = 0;
  for (let i = 0; i < n; i++)
    sum += i & 7;
  return sum;
}
for (let round = 0; round < 200; round++)
  leaf(300000);
EOF
"$hermes" -sample-profiling work.js 2>profile.json
node - <<'EOF'
const { samples, stackFrames } = JSON.parse(require("fs").readFileSync("profile.json", "utf8"));
const places = {};
for (const { sf } of samples) {
  const { name } = stackFrames[sf];
  places[name] = (places[name] ?? 0) + 1;
}
const callers = Object.values(stackFrames).filter(({ name }) => name.startsWith("global("));
const leaves = Object.entries(places).filter(([name]) => name.startsWith("leaf("));
for (const [name] of leaves) {
  console.log(`the leaf of samples: ${name}`);
}
for (const { name } of callers) {
  console.log(`its caller: ${name}`);
}
const is = leaves.length === 1 && leaves[0][0] === "leaf(work.js:1:1)" && leaves[0][1] > 10;
console.log(is ? "as was seen" : `changed: ${JSON.stringify(places)}`);
process.exit(is ? 0 : 1);
EOF
