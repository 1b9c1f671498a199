#!/bin/sh
# Prints install/headspace.rb filled in for a release: its version, its repository, the checksums of its archives.
#
#   install/formula.sh VERSION OWNER/NAME DIRECTORY      with the headspace-TARGET.tar.gz.sha256 files in DIRECTORY
set -eu
version=$1 repository=$2 files=$3
# The tag and the sources must mean the same version.
grep -q "^version = \"$version\"$" "$(dirname "$0")/../Cargo.toml" || {
    echo "formula.sh: Cargo.toml is not of version $version" >&2
    exit 1
}
formula=$(sed -e '/^#/d' -e "s|OWNER/headspace|$repository|" -e "s|VERSION|$version|" "$(dirname "$0")/headspace.rb")
for target in aarch64-apple-darwin x86_64-apple-darwin aarch64-unknown-linux-gnu x86_64-unknown-linux-gnu; do
    sum=$(cut -d ' ' -f 1 "$files/headspace-$target.tar.gz.sha256")
    place=SHA256_$(printf %s "$target" | tr 'a-z-' 'A-Z_')
    formula=$(printf '%s\n' "$formula" | sed "s|$place|$sum|")
done
printf '%s\n' "$formula"
