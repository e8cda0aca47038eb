#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Makes the scripts and maps of this folder anew, in the folder that is given, which has the bundlers:
#   npm install --prefix DIR esbuild@0.28.2 rollup@4.68.7 terser@5.51.2 typescript@7.0.2
#   sh build.sh DIR
# A script is SCRIPT/script here, and its map SCRIPT/map.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$1"
modules=$PWD/node_modules
rm -rf src out
cp -r "$here/src" src
mkdir out
sed -i 's/$/\r/' src/windows.mjs

esbuild="$modules/@esbuild/linux-x64/bin/esbuild --bundle --charset=utf8 --format=iife --log-level=warning"
$esbuild src/main.mjs --minify --sourcemap --outfile=out/esbuild.min.js
$esbuild src/main.mjs --sourcemap=inline --outfile=out/esbuild.inline.js
$esbuild src/typed-main.ts --minify --jsx=transform --sourcemap --outfile=out/typed.min.js
node "$modules/rollup/dist/bin/rollup" src/main.mjs --silent --format iife --sourcemap --file out/rollup.js
cd out
node "$modules/terser/bin/terser" rollup.js --compress --mangle --toplevel \
  --source-map "content='rollup.js.map',includeSources,url='terser.min.js.map'" -o terser.min.js
# It reports that types are missing.
node "$modules/typescript/bin/tsc" ../src/typed.tsx --target es2022 --jsx react --sourceMap --outDir . > /dev/null || true

for script in *.js; do
  folder=$here/${script%.js}
  rm -rf "$folder"
  mkdir "$folder"
  cp "$script" "$folder/script"
  [ ! -e "$script.map" ] || cp "$script.map" "$folder/map"
done
