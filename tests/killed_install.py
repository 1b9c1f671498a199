#!/usr/bin/env python3
"""Kills `install` and `uninstall` at every one of their system calls (strace injects the signal).

    python3 tests/killed_install.py PATH/TO/headspace

After each kill the settings file is the old one or the new one, to the byte; the next install puts all in order and
uninstall gives the old bytes back. The last line is `N passed, N failed`, as tests/run counts it.
"""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

OLD = b'{\n  "model": "opus",\n  "hooks": {\n    "Stop": [ ]\n  }\n}\n'


class User:
    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.root = tempfile.mkdtemp(prefix="headspace-kill-")
        self.home = os.path.join(self.root, "home")
        self.settings = os.path.join(self.home, ".claude", "settings.json")
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin", "CLAUDE_HEADSPACE_URL": "http://127.0.0.1:9"}

    def call(self, *argv):
        return subprocess.run(argv, env=self.env, cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True)

    def run(self, command):
        done = self.call(self.binary, command)
        if done.returncode != 0:
            raise AssertionError("%s failed: %s" % (command, done.stderr.decode()))

    def read(self):
        with open(self.settings, "rb") as file:
            return file.read()

    def reset(self, command):
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(os.path.dirname(self.settings))
        with open(self.settings, "wb") as file:
            file.write(OLD)
        if command == "uninstall":
            self.run("install")

    def strace(self, command, *options):
        return self.call("strace", "-qq", *options, self.binary, command)


def main():
    user = User(sys.argv[1])
    if not shutil.which("strace"):
        print("skipped: strace is not here")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    user.reset("install")
    user.run("install")
    new = user.read()
    passed, failed = 0, 0
    for command in ("install", "uninstall"):
        user.reset(command)
        trace = os.path.join(user.root, "trace")
        user.strace(command, "-o", trace)
        with open(trace) as file:
            calls = collections.Counter(re.findall(r"^(\w+)\(", file.read(), re.M))
        for call, times in calls.items():
            for nth in range(1, times + 1):
                try:
                    user.reset(command)
                    user.strace(command, "-o", os.devnull, "-e", "inject=%s:signal=SIGKILL:when=%d" % (call, nth))
                    assert user.read() in (OLD, new), "neither the old file nor the new one"
                    user.run("install")
                    assert user.read() == new, "the next install does not put it in order"
                    user.run("uninstall")
                    assert user.read() == OLD, "uninstall does not give the old bytes back"
                    passed += 1
                except (AssertionError, OSError) as error:
                    failed += 1
                    print("FAILED: %s killed at %s no. %d: %s" % (command, call, nth, error))
    shutil.rmtree(user.root)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
