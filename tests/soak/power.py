#!/usr/bin/env python3
"""A power cut, without a machine to cut: what would be on disk if everything since the last sync were lost?

    python3 tests/soak/power.py PATH/TO/headspace [EVENTS]

strace writes down every write and every sync of the server under load. From that the files are built again as they were
at many moments, with only what was synced by then, and opened: the database must be sound, and have every event that was
answered more than 50 ms before (and twice what the longest sync took: a disk cannot be asked to be faster).
"""

import ast
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

from stage import Server

SYNC_WITHIN = 0.050
MOMENTS = 60

if not shutil.which("strace"):
    sys.exit("strace is not installed")
events = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
server = Server(sys.argv[1])
state = server.home + "/.local/state/headspace/"
names = {state + "headspace.db": "headspace.db", state + "headspace.db-wal": "headspace.db-wal"}
# What is on disk before anything is watched.
client = server.client()
client.hook("session-start", session_id="warm", cwd="/p")
time.sleep(1)
disk = {name: open(path, "rb").read() for path, name in names.items()}

trace = tempfile.mktemp(prefix="headspace-trace-")
tracer = subprocess.Popen(["strace", "-f", "-qq", "-y", "-xx", "-ttt", "-T", "-s", "200000", "-o", trace,
                           "-e", "trace=pwrite64,write,fdatasync,fsync,ftruncate", "-p", str(server.child.pid)])
while open("/proc/%d/status" % server.child.pid).read().find("TracerPid:\t0\n") >= 0:
    time.sleep(0.01)
answered, lock = {}, threading.Lock()


def work(worker):
    client = server.client()
    for n in range(events // 4):
        session = "s-%d-%d" % (worker, n)
        client.hook("session-start", session_id=session, cwd="/p")
        with lock:
            answered[session] = time.time()
        time.sleep(0.001)


threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
end = time.time()
tracer.terminate()
tracer.wait()
server.child.kill()

# (when it was done, file, kind, offset, bytes); a call of another thread may come in between: "unfinished … resumed".
steps, begun, longest = [], {}, 0.0
CALL = re.compile(r"(\w+)\((\d+)<((?:\\x..)+|[^>]*)>(?:, (.*?))?\)?\s+= (-?\d+).*<([\d.]+)>$", re.S)
for line in open(trace, errors="replace"):
    thread, stamp, rest = line.rstrip("\n").split(None, 2)
    if rest.endswith("<unfinished ...>"):
        begun[thread] = (float(stamp), rest[: -len("<unfinished ...>")].rstrip())
        continue
    if rest.startswith("<... "):
        stamp, start = begun.pop(thread)
        rest = start + rest.split("resumed>", 1)[1].lstrip()
    call = CALL.match(rest)
    if not call or int(call[5]) < 0:
        continue
    path = ast.literal_eval('"%s"' % call[3])
    name = names.get(path)
    if not name:
        continue
    start, took = float(stamp), float(call[6])
    if call[1] in ("fdatasync", "fsync"):
        longest = max(longest, took)
        steps.append((start + took, name, "sync", start, b""))
    elif call[1] == "pwrite64":
        data, _, offset = call[4].rsplit(", ", 2)
        steps.append((start, name, "write", int(offset), ast.literal_eval("b" + data)))
    elif call[1] == "ftruncate":
        steps.append((start, name, "cut", int(call[4]), b""))
steps.sort(key=lambda step: step[0])
os.remove(trace)


def apply(content, step):
    _, _, kind, offset, data = step
    if kind == "cut":
        del content[offset:]
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if data:
        content[offset:offset + len(data)] = data


class Disk:
    """One file: what is on disk, and what was written since. A write counts if it was done before a sync began."""

    def __init__(self, name):
        self.content, self.waiting = bytearray(disk[name]), []
        self.steps = [step for step in steps if step[1] == name]

    def until(self, moment):
        while self.steps and self.steps[0][0] <= moment:
            step = self.steps.pop(0)
            if step[2] != "sync":
                self.waiting.append(step)
                continue
            while self.waiting and self.waiting[0][0] <= step[3]:
                apply(self.content, self.waiting.pop(0))
        return self.content


disks = {name: Disk(name) for name in disk}
lost = worst = 0
start = min(answered.values())
for moment in sorted(random.uniform(start, end) for _ in range(MOMENTS)):
    directory = tempfile.mkdtemp(prefix="headspace-power-")
    for name, content in disks.items():
        with open(directory + "/" + name, "wb") as file:
            file.write(content.until(moment))
    db = sqlite3.connect(directory + "/headspace.db")
    sound = db.execute("PRAGMA integrity_check").fetchone()[0]
    stored = {row[0] for row in db.execute("SELECT session_id FROM events")}
    db.close()
    shutil.rmtree(directory)
    if sound != "ok":
        sys.exit("at %.3f s the database is not sound: %s" % (moment - start, sound))
    missing = [moment - when for session, when in answered.items() if when <= moment and session not in stored]
    worst = max([worst] + missing)
    lost += sum(age > SYNC_WITHIN + 2 * longest for age in missing)
print("%d events, %d syncs, the longest %.1f ms; %d power cuts: sound each time, the oldest lost event was %.1f ms old"
      % (len(answered), sum(step[2] == "sync" for step in steps), longest * 1000, MOMENTS, worst * 1000))
sys.exit(1 if lost else 0)
