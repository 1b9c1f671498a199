#!/bin/sh
# Puts the headspace binary into ~/.local/bin.
#
#   ./install/get.sh                                     from this checkout, with cargo
#   HEADSPACE_RELEASES=https://…/download/v1.2.3 ./get.sh
#                                                        a released binary from there, checked against its .sha256
#
# What is fetched are the files of a release as .github/workflows/release.yml makes it. HEADSPACE_BIN chooses another
# directory. Nothing else is touched: `headspace up` does the rest, and says what.
set -eu

bin=${HEADSPACE_BIN:-$HOME/.local/bin}

say() { printf '%s\n' "$*"; }
die() { printf 'get.sh: %s\n' "$*" >&2; exit 1; }

triple() {
    case "$(uname -s)-$(uname -m)" in
        Linux-x86_64) say x86_64-unknown-linux-gnu ;;
        Linux-aarch64 | Linux-arm64) say aarch64-unknown-linux-gnu ;;
        Darwin-x86_64) say x86_64-apple-darwin ;;
        Darwin-arm64) say aarch64-apple-darwin ;;
        *) die "there is no binary for $(uname -s) on $(uname -m); build it: cargo install --path . --locked" ;;
    esac
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --proto '=https,http' -o "$2" "$1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1"
    else
        die "needs curl or wget"
    fi
}

checksum() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum "$1"
    else
        shasum -a 256 "$1"
    fi | cut -d ' ' -f 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

if [ -n "${HEADSPACE_RELEASES:-}" ]; then
    name=headspace-$(triple).tar.gz
    say "fetching $name"
    fetch "$HEADSPACE_RELEASES/$name" "$work/$name" || die "could not fetch $HEADSPACE_RELEASES/$name"
    fetch "$HEADSPACE_RELEASES/$name.sha256" "$work/sha256" || die "could not fetch $HEADSPACE_RELEASES/$name.sha256"
    [ "$(cut -d ' ' -f 1 "$work/sha256")" = "$(checksum "$work/$name")" ] || die "the checksum of $name does not match"
    tar -xzf "$work/$name" -C "$work" headspace || die "could not unpack $name"
else
    here=$(cd "$(dirname "$0")/.." && pwd)
    [ -f "$here/Cargo.toml" ] || die "run it from a checkout, or name HEADSPACE_RELEASES"
    command -v cargo >/dev/null 2>&1 || die "needs cargo (https://rustup.rs)"
    say "building (a few minutes)"
    cargo install --path "$here" --locked --quiet --root "$work"
    mv "$work/bin/headspace" "$work/headspace"
fi

"$work/headspace" --version >/dev/null || die "the binary does not run on this machine"
mkdir -p "$bin"
# In one step, so that a running hook never meets half a file.
cp "$work/headspace" "$bin/.headspace.$$"
mv -f "$bin/.headspace.$$" "$bin/headspace"
say "installed $("$bin/headspace" --version) to $bin/headspace"
case ":$PATH:" in
    *":$bin:"*) say "now run: headspace up" ;;
    *) say "$bin is not on your PATH; now run: $bin/headspace up" ;;
esac
