#!/usr/bin/env python3
"""The server from another machine's side: a network namespace of its own, joined by a pair of virtual cables.

    python3 tests/network.py PATH/TO/headspace

Who comes over the network needs the token, whoever they say they are; the server's own user on loopback does not. A phone gets
in with a link of `headspace open --phone`. The last line is `N passed, N failed, N skipped`, as tests/run counts it.
"""

import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

NAME = "hs%d" % os.getpid()
HERE, THERE = "10.213.77.1", "10.213.77.2"

# Run on the other side: method, url, headers as JSON, body. Prints the status, or why there is none.
ASK = """
import json, sys, urllib.request, urllib.error
method, url, headers, body = sys.argv[1:5]
request = urllib.request.Request(url, method=method, headers=json.loads(headers), data=body.encode() or None)
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    print(opener.open(request, timeout=5).status)
except urllib.error.HTTPError as error:
    print(error.code)
except OSError as error:
    print("none:", error)
"""

# The same, without following where it leads: prints status, headers and the beginning of the body as JSON.
LOOK = """
import http.client, json, sys
host, port, path, headers = sys.argv[1:5]
line = http.client.HTTPConnection(host, int(port), timeout=5)
try:
    line.request("GET", path, headers=json.loads(headers))
    answer = line.getresponse()
    print(json.dumps({"status": answer.status, "headers": {k.lower(): v for k, v in answer.getheaders()},
                      "body": answer.read().decode("utf-8", "replace")[:4000]}))
except OSError as error:
    print(json.dumps({"status": 0, "headers": {}, "body": str(error)}))
"""


def ip(*arguments):
    return subprocess.run(("ip",) + arguments, capture_output=True, text=True)


def cable():
    """Two ends, one here and one in a namespace; why not, if that is not allowed."""
    if not shutil.which("ip"):
        return "there is no `ip`"
    for step in (
        ("netns", "add", NAME),
        ("link", "add", NAME + "a", "type", "veth", "peer", "name", NAME + "b"),
        ("link", "set", NAME + "b", "netns", NAME),
        ("addr", "add", HERE + "/30", "dev", NAME + "a"),
        ("link", "set", NAME + "a", "up"),
        ("netns", "exec", NAME, "ip", "addr", "add", THERE + "/30", "dev", NAME + "b"),
        ("netns", "exec", NAME, "ip", "link", "set", NAME + "b", "up"),
        ("netns", "exec", NAME, "ip", "link", "set", "lo", "up"),
    ):
        done = ip(*step)
        if done.returncode:
            return "`ip %s` is not possible: %s" % (" ".join(step), done.stderr.strip())
    return None


class Server:
    def __init__(self, binary, host, home, expect=0):
        env = {"HOME": home, "PATH": "/usr/bin:/bin"}
        self.child = subprocess.Popen([binary, "serve", "--host", host, "--port", "0"], env=env, text=True,
                                      stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.said, self.port = "", None
        for line in self.child.stderr:
            self.said += line
            if "listening on http://" in line:
                self.port = int(line.strip().rsplit(":", 1)[1])
                break

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        self.child.wait()


def ask(there, method, url, headers, body=""):
    prefix = ("ip", "netns", "exec", NAME) if there else ()
    argv = prefix + (sys.executable, "-c", ASK, method, url, json.dumps(headers), body)
    return subprocess.run(argv, capture_output=True, text=True).stdout.strip()


def look(port, path, headers=None):
    """From the other side, as a phone does."""
    headers = {"Accept": "text/html,*/*", **(headers or {})}
    argv = ("ip", "netns", "exec", NAME, sys.executable, "-c", LOOK, HERE, str(port), path, json.dumps(headers))
    return json.loads(subprocess.run(argv, capture_output=True, text=True).stdout)


def on_terminal(argv, env, answer):
    """What a command shows on a terminal where `answer` is typed once it asks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, env)
    shown, asked, end = "", False, time.monotonic() + 60
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            data = os.read(terminal, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data.decode("utf-8", "replace")
        if "[y/N]" in shown and not asked:
            asked = True
            os.write(terminal, answer.encode() + b"\n")
    os.close(terminal)
    os.waitpid(pid, 0)
    return shown


def phone(binary, home, check):
    """The way of a phone in the same network: asked for, in with a link, once, and out again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = os.path.join(home, ".config/headspace/config.jsonc")
    os.makedirs(os.path.dirname(config))
    with open(config, "w") as file:
        file.write('{"port": %d}\n' % port)
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    subprocess.run([binary, "up"], env=env, check=True, capture_output=True)
    try:
        check("before: only loopback", str(look(port, "/")["status"]), "0")
        command = [binary, "open", "--phone", "--address", HERE]
        refused = on_terminal(command, env, "n")
        check("it asks", str("[y/N]" in refused and "Nothing was changed." in refused), "True")
        check("a no changes nothing", str(look(port, "/")["status"]), "0")
        shown = on_terminal(command, env, "y")
        link = re.search(r"http://%s:%d(/login\?code=\w+)" % (re.escape(HERE), port), shown)
        check("a link for the phone", str(bool(link)), "True")
        if not link:
            return print(shown)
        stranger = look(port, "/")
        check("without a link", str(stranger["status"]), "403")
        check("a page for people", str(stranger["headers"].get("content-type", "").startswith("text/html")), "True")
        check("that says what to do", str("headspace open --phone" in stranger["body"]), "True")
        check("another name", str(look(port, link[1], {"Host": "evil.example"})["status"]), "403")
        login = look(port, link[1])
        check("the link leads to the board", "%s %s" % (login["status"], login["headers"].get("location")), "303 /")
        cookie = {"Cookie": login["headers"].get("set-cookie", "").split(";")[0]}
        check("the board", str(look(port, "/", cookie)["status"]), "200")
        check("its agents", str(look(port, "/api/agents", cookie)["status"]), "200")
        check("the link works once", str(look(port, link[1])["status"]), "403")
        off = on_terminal([binary, "open", "--phone", "--off"], env, "y")
        check("off asks, too", str("[y/N]" in off), "True")
        check("afterwards: only loopback", str(look(port, "/", cookie)["status"]), "0")
        with open(config) as file:
            check("the configuration says what it said", str(json.load(file) == {"port": port}), "True")
    finally:
        subprocess.run([binary, "down"], env=env, capture_output=True)


def main():
    binary = os.path.abspath(sys.argv[1])
    root = tempfile.mkdtemp(prefix="headspace-network-")
    failures, passed = [], 0

    def check(what, got, *expected):
        nonlocal passed
        if got in expected:
            passed += 1
        else:
            failures.append("%s: %s instead of %s" % (what, got, " or ".join(expected)))

    why_not = cable()
    try:
        if why_not:
            print("skipped: " + why_not)
            print("0 passed, 0 failed, 1 skipped")
            return 0
        home = os.path.join(root, "home")
        os.mkdir(home)
        bare = Server(binary, HERE, home)
        bare.child.wait()
        check("without a token it does not start", str(bare.child.returncode), "1")
        check("and says why", str("token" in bare.said), "True")

        state = os.path.join(home, ".local/state/headspace")
        os.makedirs(state, mode=0o700, exist_ok=True)
        token = "t" * 40
        with open(os.open(os.path.join(state, "token"), os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
            file.write(token + "\n")
        server = Server(binary, HERE, home)
        url = "http://%s:%d" % (HERE, server.port)
        event = json.dumps({"session_id": "s", "cwd": "/p", "prompt": "x"})
        sent = {"Content-Type": "application/json"}
        right, wrong = {"Authorization": "Bearer " + token}, {"Authorization": "Bearer nope"}
        for name, key, expected in (("no token", {}, "403"), ("a wrong token", wrong, "403"), ("the token", right, "200")):
            check("read with " + name, ask(True, "GET", url + "/api/agents", key), expected)
            check("look with " + name, ask(True, "GET", url + "/", key), expected)
            check("write with " + name, ask(True, "POST", url + "/hook/user-prompt-submit", {**sent, **key}, event), expected)
            check("stream with " + name, ask(True, "GET", url + "/api/events/stream", key), expected)
        check("a guessed cookie", ask(True, "GET", url + "/api/agents", {"Cookie": "headspace=guess"}), "403")
        check("a guessed login", ask(True, "GET", url + "/login?code=guess", {}), "403")
        check("another name, the token all the same", ask(True, "GET", url + "/api/agents", {**right, "Host": "evil.example"}), "403")
        check("who is there is nobody's business", ask(True, "GET", url + "/metrics", {}), "403")
        # On this machine, but not over loopback: the server does not look up whose connection it is.
        check("here, over the network's address", ask(False, "GET", url + "/api/agents", {}), "403")
        # The other side's loopback is not ours: nobody listens there.
        nobody = ask(True, "GET", "http://127.0.0.1:%d/health" % server.port, right)
        check("the other side's loopback", nobody.split(":")[0], "none")
        status = ask(True, "GET", url + "/hook/status", right)
        check("one event came in", status, "200")
        server.stop()

        everywhere = Server(binary, "0.0.0.0", home)
        local, far = "http://127.0.0.1:%d" % everywhere.port, "http://%s:%d" % (HERE, everywhere.port)
        check("the user's own, on loopback", ask(False, "GET", local + "/api/agents", {}), "200")
        check("the network, bound to all", ask(True, "GET", far + "/api/agents", {"Host": "localhost"}), "403")
        check("the network, bound to all, with the token", ask(True, "GET", far + "/api/agents", {**right, "Host": "localhost"}), "200")
        everywhere.stop()

        # By default only loopback: from the network nothing answers.
        loopback = Server(binary, "127.0.0.1", home)
        check("loopback only", ask(True, "GET", "http://%s:%d/health" % (HERE, loopback.port), right).split(":")[0], "none")
        loopback.stop()

        own = os.path.join(root, "phone")
        os.mkdir(own)
        phone(binary, own, check)
    finally:
        ip("link", "del", NAME + "a")
        ip("netns", "del", NAME)
        shutil.rmtree(root, ignore_errors=True)
    for failure in failures:
        print("FAILED: " + failure)
    print("%d passed, %d failed, 0 skipped" % (passed, len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
