#!/usr/bin/env python3
"""N hooks at once, and the server starts in the middle: every event is stored once, no hook failed, spoke or dawdled.

    python3 tests/soak/storm.py PATH/TO/headspace 1000
"""
import json, os, socket, sqlite3, subprocess, sys, tempfile, threading, time, urllib.request

binary, count = os.path.abspath(sys.argv[1]), int(sys.argv[2])
home = tempfile.mkdtemp(prefix="headspace-storm-")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
env = {"HOME": home, "PATH": "/usr/bin:/bin", "CLAUDE_HEADSPACE_URL": "http://127.0.0.1:%d" % port}
problems, slowest = [], 0.0
lock = threading.Lock()


def hook(number):
    global slowest
    event = {"session_id": "s%d" % (number % 20), "hook_event_name": "PostToolUse", "cwd": home, "tool_name": "Read",
             "tool_use_id": "t%d" % number, "tool_input": {"file_path": "f%d" % number}, "tool_response": {}}
    began = time.monotonic()
    done = subprocess.run([binary, "notify"], input=json.dumps(event).encode(), env=env, capture_output=True)
    took = time.monotonic() - began
    with lock:
        slowest = max(slowest, took)
        if done.returncode or done.stdout or done.stderr:
            problems.append("hook %d: exit %d, %r %r" % (number, done.returncode, done.stdout, done.stderr))


def run(numbers):
    for number in numbers:
        hook(number)


threads = [threading.Thread(target=run, args=(range(start, count, 64),)) for start in range(64)]
for thread in threads[:32]:
    thread.start()
server = subprocess.Popen([binary, "serve", "--port", str(port)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
for thread in threads[32:]:
    thread.start()
for thread in threads:
    thread.join()


def pending():
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d/hook/status" % port, timeout=2) as answer:
            return json.load(answer)["spool_pending"]
    except OSError:
        return 1


deadline = time.monotonic() + 60
while pending() and time.monotonic() < deadline:
    time.sleep(0.2)
server.terminate()
server.wait()
store = sqlite3.connect(os.path.join(home, ".local/state/headspace/headspace.db"))
found = store.execute("SELECT COUNT(*), COUNT(DISTINCT delivery_id) FROM events WHERE name = 'PostToolUse'").fetchone()
if found != (count, count):
    problems.append("%d events stored, %d different ones, of %d" % (found[0], found[1], count))
print("%d hooks, slowest %.2f s, %d events stored once" % (count, slowest, found[1]))
for problem in problems[:10]:
    print(problem)
sys.exit(1 if problems else 0)
