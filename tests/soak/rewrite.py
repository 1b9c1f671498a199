#!/usr/bin/env python3
"""install and uninstall while the client keeps rewriting its settings: the file is whole at every moment, and what the
client wrote is not lost.

    python3 tests/soak/rewrite.py PATH/TO/headspace [ROUNDS]

The client's file has no lock. Ours is exchanged with what is there, and what turns out to be newer is given back; a client that
reads in between (microseconds) does not see what it wrote before. How often that happens is counted; more than one in a
hundred rounds fails.
"""

import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

binary = os.path.abspath(sys.argv[1])
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 100
home = tempfile.mkdtemp(prefix="headspace-rewrite-")
atexit.register(shutil.rmtree, home, ignore_errors=True)
settings = os.path.join(home, ".claude", "settings.json")
os.makedirs(os.path.dirname(settings))
env = {"HOME": home, "PATH": "/usr/bin:/bin", "CLAUDE_HEADSPACE_URL": "http://127.0.0.1:9"}
problems, lost, written, stop = [], 0, 0, threading.Event()


def put(document):
    with open(settings + ".new", "w") as file:
        json.dump(document, file, indent=2)
    os.rename(settings + ".new", settings)


def client():
    """Reads, changes something of its own, writes: as the client does when a setting is changed in it."""
    global lost, written
    while not stop.is_set():
        with open(settings) as file:
            text = file.read()
        try:
            document = json.loads(text)
        except ValueError:
            problems.append("not whole: %r" % text[:100])
            return
        if document["n"] != written:
            lost += 1
        written += 1
        document["n"] = written
        put(document)
        time.sleep(0.003)


put({"n": 0, "model": "opus"})
writer = threading.Thread(target=client)
writer.start()
gave_up = 0
for number in range(rounds):
    done = subprocess.run([binary, "uninstall" if number % 2 else "install"], env=env, capture_output=True, text=True)
    if done.returncode:
        gave_up += 1
        if "another program keeps writing it" not in done.stderr:
            problems.append(done.stderr)
stop.set()
writer.join()
subprocess.run([binary, "install"], env=env, check=True, capture_output=True)
with open(settings) as file:
    document = json.load(file)
if document["n"] != written or document["model"] != "opus" or "Stop" not in document.get("hooks", {}):
    problems.append("the end is not right: %s" % list(document))
print("%d installs and uninstalls among %d writes of the client: %d of its writes lost, %d times given up"
      % (rounds, written, lost, gave_up))
if lost > rounds / 100:
    problems.append("too many writes were lost")
for problem in problems[:5]:
    print("PROBLEM: " + problem)
sys.exit(1 if problems else 0)
