#!/usr/bin/env python3
"""What a release's files are called, and that what fetches them finds them: install/pack.sh packs a binary as the release
workflow does, a server on loopback offers it, install/get.sh installs it or says why not.

    python3 tests/release.py PATH/TO/release/headspace

The last line is `N passed, N failed`, as tests/run counts it.
"""
import functools, http.server, os, pathlib, re, shutil, subprocess, sys, tempfile, threading

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"]
binary = pathlib.Path(sys.argv[1]).resolve()
host = binary.parent.parent.name
failed = passed = 0


def check(what, holds, said=""):
    global failed, passed
    passed, failed = passed + bool(holds), failed + (not holds)
    if not holds:
        print("FAILED: %s\n%s" % (what, said))


def run(*command, **env):
    done = subprocess.run([str(word) for word in command], env={**os.environ, **env}, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


work = pathlib.Path(tempfile.mkdtemp())
try:
    good, archive = work / "v1", "headspace-%s.tar.gz" % host
    said = run(ROOT / "install/pack.sh", host, good, CARGO_TARGET_DIR=str(binary.parent.parent.parent))
    check("a binary is packed", said[0] == 0 and sorted(os.listdir(good)) == [archive, archive + ".sha256"], said)

    def spoiled(name, spoil):
        shutil.copytree(good, work / name)
        spoil(work / name)

    def cut_short(release):
        file = release / archive
        file.write_bytes(file.read_bytes()[:1000])

    spoiled("changed", cut_short)
    spoiled("without-sum", lambda release: (release / (archive + ".sha256")).unlink())
    spoiled("empty-sum", lambda release: (release / (archive + ".sha256")).write_text(""))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=work))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    for release, complaint in [
        ("v1", None),
        ("changed", "checksum of %s does not match" % archive),
        ("empty-sum", "checksum of %s does not match" % archive),
        ("without-sum", "could not fetch"),
        ("no-such-release", "could not fetch"),
    ]:
        place = work / ("bin-" + release)
        releases = "http://127.0.0.1:%d/%s" % (server.server_port, release)
        status, out, err = run("sh", ROOT / "install/get.sh", HEADSPACE_RELEASES=releases, HEADSPACE_BIN=str(place))
        if complaint:
            check("%s is refused" % release, status == 1 and complaint in err and not place.exists(), err)
        else:
            same = status == 0 and (place / "headspace").read_bytes() == binary.read_bytes()
            check("a release is installed", same and os.access(place / "headspace", os.X_OK), out + err)

    manifest = (ROOT / "Cargo.toml").read_text()
    version = re.search(r'^version = "(.+)"', manifest, re.M)[1]
    for number, target in enumerate(TARGETS):
        (good / ("headspace-%s.tar.gz.sha256" % target)).write_text("%064d  x\n" % number)
    status, formula, err = run(ROOT / "install/formula.sh", version, "somebody/somewhere", good)
    sums = re.findall(r'/somebody/somewhere/releases/download/v#\{version\}/headspace-(\S+)\.tar\.gz"\s+sha256 "(\d+)"', formula)
    check("the formula is filled in", {t: int(s) for t, s in sums} == {t: n for n, t in enumerate(TARGETS)}, formula + err)
    check("no placeholder is left in it", not re.search("OWNER|VERSION|SHA256_", formula), formula)
    status, _, err = run(ROOT / "install/formula.sh", "9.9.9", "somebody/somewhere", good)
    check("a tag of another version is refused", status == 1 and "9.9.9" in err, err)

    names = manifest.split("[package.metadata.binstall]")[1]
    check("cargo-binstall looks for the same names", '/releases/download/v{ version }/headspace-{ target }.tar.gz"' in names)
    built = re.findall(r"target: ([\w-]+) \}", (ROOT / ".github/workflows/release.yml").read_text())
    check("the workflow builds for each target", sorted(built) == sorted(TARGETS), built)
finally:
    shutil.rmtree(work)
print("%d passed, %d failed" % (passed, failed))
sys.exit(bool(failed))
