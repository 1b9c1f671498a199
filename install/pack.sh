#!/bin/sh
# Packs a built binary as releases have it: headspace-TARGET.tar.gz with the binary alone, and its .sha256 beside it.
#
#   install/pack.sh TARGET DIRECTORY       after cargo build --release --target TARGET
#
# install/get.sh, install/headspace.rb and cargo-binstall (Cargo.toml) fetch what has these names.
set -eu
target=$1 name=headspace-$1.tar.gz
mkdir -p "$2"
tar -C "${CARGO_TARGET_DIR:-target}/$target/release" -czf "$2/$name" headspace
cd "$2"
if command -v sha256sum >/dev/null 2>&1; then sha256sum "$name"; else shasum -a 256 "$name"; fi >"$name.sha256"
