#!/usr/bin/env python3
"""N hooks at once, and the server starts in the middle: every event is stored once, no hook failed, spoke or dawdled.

    python3 tests/soak/storm.py PATH/TO/headspace 1000
"""
import atexit, json, os, shutil, socket, sqlite3, subprocess, sys, tempfile, time, urllib.request

binary, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
home = tempfile.mkdtemp(prefix="headspace-storm-")
atexit.register(shutil.rmtree, home, ignore_errors=True)
# Below the ports that the kernel gives to connections: hundreds of those come before the server takes this one.
port = 20000 + os.getpid() % 12000
env = {"HOME": home, "PATH": "/usr/bin:/bin", "CLAUDE_HEADSPACE_URL": "http://127.0.0.1:%d" % port}
problems = []

# All wait at a gate, which is a pipe that nobody writes to. From its opening on each is a process of its own; it tells how
# its hook ended, when it was begun and when it was over.
gate, opening = os.pipe()
SHELL = 'read _ <&%d; a=$EPOCHREALTIME; "$0" notify <"$1" >"$1.out" 2>&1; echo "$? $a $EPOCHREALTIME"' % gate
hooks = []
for number in range(count):
    event = {"session_id": "s%d" % (number % 20), "hook_event_name": "PostToolUse", "cwd": home, "tool_name": "Read",
             "tool_use_id": "t%d" % number, "tool_input": {"file_path": "f%d" % number}, "tool_response": {}}
    path = os.path.join(home, "event-%d" % number)
    with open(path, "w") as file:
        json.dump(event, file)
    hooks.append(subprocess.Popen(["bash", "-c", SHELL, binary, path], env=env, pass_fds=[gate], stdout=subprocess.PIPE, text=True))
os.close(gate)
opened = time.time()
os.close(opening)
time.sleep(0.1)
server = subprocess.Popen([binary, "serve", "--port", str(port)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
took, ends = [], []
for number, hook in enumerate(hooks):
    said, _ = hook.communicate()
    code, begun, over = said.split()
    took.append(float(over) - float(begun))
    ends.append(float(over))
    with open(os.path.join(home, "event-%d.out" % number)) as file:
        output = file.read()
    if code != "0" or output:
        problems.append("hook %d: exit %s, %r" % (number, code, output))


def status():
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d/hook/status" % port, timeout=2) as answer:
            return json.load(answer)
    except OSError:
        return {"spool_pending": count}


spooled = status()["spool_pending"]
deadline = time.monotonic() + 60
while status()["spool_pending"] and time.monotonic() < deadline:
    time.sleep(0.1)
drops = status()["dropped"]
server.terminate()
server.wait()
store = sqlite3.connect(os.path.join(home, ".local/state/headspace/headspace.db"))
found = store.execute("SELECT COUNT(*), COUNT(DISTINCT delivery_id) FROM events WHERE name = 'PostToolUse'").fetchone()
if found != (count, count):
    problems.append("%d events stored, %d different ones, of %d" % (found[0], found[1], count))
# The hook's own clock ends it after 1.9 s; the rest is the wait for a processor, before it has one, among so many.
if max(took) > 2.1:
    problems.append("the slowest hook took %.2f s" % max(took))
took.sort()
print("%d hooks at once, over in %.2f s: p50 %.2f s, p99 %.2f s, slowest %.2f s; %d were still in the spool, %d dropped, "
      "%d events stored once" % (count, max(ends) - opened, took[count // 2], took[count * 99 // 100], took[-1], spooled,
                                drops, found[1]))
for problem in problems[:10]:
    print(problem)
sys.exit(1 if problems else 0)
