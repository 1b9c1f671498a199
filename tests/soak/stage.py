"""What the long tests share: a home, a server in it, a client that keeps its connection, and figures."""

import atexit
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time


class Server:
    def __init__(self, binary, home=None, env=None):
        self.binary = os.path.abspath(binary)
        self.home = home or tempfile.mkdtemp(prefix="headspace-soak-")
        if not home:
            atexit.register(shutil.rmtree, self.home, ignore_errors=True)
        self.env = {"HOME": self.home, "PATH": "/usr/bin:/bin", **(env or {})}
        self.log, self.port, self.child = [], None, None
        self.start()

    def start(self):
        # The same port again, once there is one.
        argv = [self.binary, "serve", "--port", str(self.port or 0)]
        self.child = subprocess.Popen(argv, env=self.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.child.stderr:
            self.log.append(line)
            if "listening on http://" in line:
                self.port = int(line.strip().rsplit(":", 1)[1])
                break
        else:
            raise SystemExit("no server: " + "".join(self.log))
        threading.Thread(target=lambda stream: self.log.extend(stream), args=(self.child.stderr,), daemon=True).start()

        # Whatever becomes of the test, no server stays behind.
        atexit.register(self.child.kill)

    def stop(self):
        self.child.send_signal(signal.SIGTERM)
        if self.child.wait() != 0:
            raise SystemExit("the server did not stop well: " + "".join(self.log[-5:]))

    @property
    def database(self):
        return os.path.join(self.home, ".local/state/headspace/headspace.db")

    def figure(self, name):
        """A line of /proc/PID/status, as a number: VmRSS in kB, Threads."""
        with open("/proc/%d/status" % self.child.pid) as file:
            return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))

    def client(self):
        return Client(self.port)


class Client:
    """One connection, kept."""

    def __init__(self, port):
        self.port = port
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        data = json.dumps(body) if body is not None else None
        self.connection.request(method, path, body=data, headers=headers)
        answer = self.connection.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text[:1] in b"{[" else text

    def hook(self, slug, **body):
        """How long the acknowledgement took, in milliseconds."""
        began = time.perf_counter()
        status, answer = self.ask("POST", "/hook/" + slug, body)
        took = (time.perf_counter() - began) * 1e3
        if status != 200:
            raise AssertionError("%s: %s %s" % (slug, status, answer))
        return took


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))]


def line(name, values):
    """Milliseconds: the middle, the worst of a hundred, the worst."""
    print("%-44s %6d asked, p50 %6.2f ms, p99 %6.2f ms, max %6.2f ms"
          % (name, len(values), percentile(values, 0.5), percentile(values, 0.99), max(values)))
