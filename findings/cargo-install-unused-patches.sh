#!/bin/sh
# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.
#
# What `--locked` of Cargo forbids, if the configuration of a folder above has patches that a package does not use.
#
# Version: cargo 1.95.0. The package depends on itoa 1.0.15, and the configuration patches ryu.
# Expected: `cargo install --locked --path` refuses as `cargo build --locked` does, because the lock file has no entry
#   for the unused patch.
# Seen: `cargo build --locked` refuses. `cargo install --locked` warns that the patch was not used, and installs.
#
# Needs cargo and the network, and exits with another status than 0 if that changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/top/tool/src" "$folder/top/ryu/src" "$folder/top/.cargo" "$folder/installed"
cat >"$folder/top/tool/Cargo.toml" <<'EOF'
[package]
name = "tool"
version = "1.0.0"
edition = "2024"
[dependencies]
itoa = "=1.0.15"
EOF
echo 'fn main() { println!("{}", itoa::Buffer::new().format(7)); }' >"$folder/top/tool/src/main.rs"
printf '[package]\nname = "ryu"\nversion = "1.0.20"\nedition = "2021"\n' >"$folder/top/ryu/Cargo.toml"
touch "$folder/top/ryu/src/lib.rs"
# The lock file is made before there is a patch.
(cd "$folder/top/tool" && cargo generate-lockfile --quiet)
cat >"$folder/top/.cargo/config.toml" <<EOF
[patch.crates-io]
ryu = { path = "$folder/top/ryu" }
EOF
cd "$folder/top"
cargo --version
build=0
cargo build --locked --manifest-path tool/Cargo.toml 2>"$folder/build.txt" || build=$?
install=0
cargo install --locked --debug --root "$folder/installed" --path tool 2>"$folder/install.txt" || install=$?
echo "cargo build --locked: status $build; $(grep -o 'cannot update the lock file' "$folder/build.txt" || true)"
echo "cargo install --locked: status $install; $(grep -o 'was not used in the crate graph' "$folder/install.txt" | head -1)"
if [ "$build" = 101 ] && [ "$install" = 0 ] && [ "$("$folder/installed/bin/tool")" = 7 ]; then
    echo "as was seen"
else
    echo "changed"
    exit 1
fi
