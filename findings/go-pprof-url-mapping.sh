#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# What Go's pprof makes of a mapping whose file is a URL, such as that of a script.
#
# Version: `go tool pprof` of Go 1.26 on Linux x86-64.
# Expected: `-proto` writes the mapping as it was read, since it has functions, files and line numbers, and no symbols are to be
#   looked for: `https://a.test/app.js`. `-lines` shows the file of a function as it is.
# Seen: the name of the mapping's file is empty, with no warning. A file name that is no URL stays. In `-lines` the file of the
#   function has lost a slash: `https:/a.test/app.js`.
#
# Needs Go 1.26 and python3, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
go version
cat >make.py <<'EOF'
import sys


def varint(number):
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def message(*fields):
    data = b""
    for field, value in fields:
        if isinstance(value, int):
            data += varint(field << 3) + varint(value)
        else:
            data += varint(field << 3 | 2) + varint(len(value)) + value
    return data


texts = ["", "samples", "count", "work", sys.argv[1]]
profile = message(
    (1, message((1, 1), (2, 2))),
    (2, message((1, varint(1)), (2, varint(5)))),
    (3, message((1, 1), (5, 4), (7, 1), (8, 1), (9, 1))),
    (4, message((1, 1), (2, 1), (4, message((1, 1), (2, 7))))),
    (5, message((1, 1), (2, 3), (4, 4), (5, 6))),
    *[(6, text.encode()) for text in texts],
)
open(sys.argv[2], "wb").write(profile)
EOF
python3 make.py https://a.test/app.js url.pb
python3 make.py /srv/app.js path.pb
mapping() { go tool pprof -raw "$1" 2>/dev/null | sed -n '/^Mappings/,$p' | tail -n +2 | head -n 1; }
of_url=$(mapping url.pb)
of_path=$(mapping path.pb)
line=$(go tool pprof -top -lines url.pb 2>/dev/null | tail -n 1)
echo "mapping of a URL:  $of_url"
echo "mapping of a path: $of_path"
echo "line of a URL:     $line"
case "$of_url|$of_path|$line" in
*a.test*"|"*"|"*) echo "changed: the URL stays" && exit 1 ;;
*"|"*/srv/app.js*"|"*" work https:/a.test/app.js:7"*) echo "as was seen" ;;
*) echo "changed" && exit 1 ;;
esac
