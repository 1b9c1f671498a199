# Sourced: finds the binary and a browser, installs what is missing, exports HEADSPACE_BIN and CHROMIUM.
# Wants $here (tests/browser) and $root (the checkout).
# shellcheck shell=bash disable=SC2154

stop() { echo "tests/browser/run: $*" >&2; echo "0 passed, 1 failed"; exit 1; }

if [ -z "${HEADSPACE_BIN:-}" ]; then
    host=$(rustc -vV | sed -n 's/^host: //p')
    for profile in release debug; do
        if [ -x "$root/target/$host/$profile/headspace" ]; then HEADSPACE_BIN=$root/target/$host/$profile/headspace; break; fi
    done
fi
[ -x "${HEADSPACE_BIN:-}" ] || stop "no headspace binary: build one, or name it in HEADSPACE_BIN"
HEADSPACE_BIN=$(realpath "$HEADSPACE_BIN")

# need PROGRAM PACKAGE: there, or installed now.
need() {
    command -v "$1" >/dev/null && return
    if command -v apt-get >/dev/null && [ "$(id -u)" -eq 0 ]; then
        apt-get update -qq >/dev/null 2>&1
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null 2>&1
    fi
    command -v "$1" >/dev/null || stop "$1 is not installed and cannot be"
}
need node nodejs
need npm npm
CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
if [ -z "$CHROMIUM" ]; then need chromium chromium; CHROMIUM=$(command -v chromium); fi
if [ ! -d "$here/node_modules/playwright-core" ] || [ ! -d "$here/node_modules/axe-core" ]; then
    (cd "$here" && npm ci --no-audit --no-fund --silent) || stop "npm could not install the test libraries"
fi
export HEADSPACE_BIN CHROMIUM
