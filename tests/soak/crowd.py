#!/usr/bin/env python3
"""Ten thousand idle connections, hundreds of slow heads and slow bodies: honest requests go on, memory and threads
stay bounded, and whoever is hung up on is hung up on properly.

    python3 tests/soak/crowd.py PATH/TO/headspace [CONNECTIONS]
"""

import resource
import select
import socket
import sys
import threading
import time

from stage import Server, line

count = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if hard < count + 2000:
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count + 2000, count + 2000))
    except (ValueError, OSError):
        count = hard - 2000
        print("only %d connections: there are no more descriptors" % count)
else:
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
server = Server(sys.argv[1])
problems = []


def check(what, good):
    if not good:
        problems.append(what)


def honest(seconds):
    """One hook after the other, as clients come: each on a connection of its own and on a kept one."""
    times, kept, end, n = [], server.client(), time.monotonic() + seconds, 0
    while time.monotonic() < end or n < 20:
        client = kept if n % 2 else server.client()
        try:
            times.append(client.hook("stop", session_id="honest-%d" % (n % 5), cwd="/p"))
        except OSError:
            # An idle connection was taken to make room; that is what it is for.
            kept = server.client()
        n += 1
    return times


def connect():
    stream = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    stream.setblocking(False)
    return stream


def report(name, times):
    line(name, times)
    print("%-44s %6.1f MB resident (peak %.1f), %d threads" % (
        "", server.figure("VmRSS") / 1e3, server.figure("VmHWM") / 1e3, server.figure("Threads")))
    check("%s: %d threads" % (name, server.figure("Threads")), server.figure("Threads") <= 20)
    check("%s: %d kB" % (name, server.figure("VmRSS")), server.figure("VmRSS") <= 60_000)
    check("%s: an honest hook waited %.0f ms" % (name, max(times)), max(times) < 2000)


report("alone", honest(2))
crowd, failed = [], 0
began = time.monotonic()
for _ in range(count):
    try:
        crowd.append(connect())
    except OSError:
        failed += 1
print("%d idle connections in %.1f s, %d refused" % (len(crowd), time.monotonic() - began, failed))
check("%d connections could not be made" % failed, failed < count / 100)
report("among %d idle connections" % len(crowd), honest(5))
for stream in crowd:
    stream.close()

HEAD = b"POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n"


def dribble(streams, text, stop):
    """A byte to each, round after round, until told to stop."""
    sent = [0] * len(streams)
    while not stop.is_set():
        for n, stream in enumerate(streams):
            try:
                stream.send(text[sent[n] % len(text):][:1])
                sent[n] += 1
            except OSError:
                pass
        time.sleep(0.2)


for name, first, rest in (
    ("500 heads, a byte at a time", b"", HEAD),
    ("500 bodies, a byte at a time", HEAD + b"\r\n{", b" "),
):
    streams = [connect() for _ in range(500)]
    for stream in streams:
        if first:
            stream.send(first)
    stop = threading.Event()
    sender = threading.Thread(target=dribble, args=(streams, rest, stop))
    sender.start()
    report("among " + name, honest(5))
    # None of them is kept forever: 30 s for a head, 10 s for a body.
    end = time.monotonic() + 40
    poll, open_ends = select.poll(), {}
    for stream in streams:
        poll.register(stream, select.POLLIN)
        open_ends[stream.fileno()] = stream
    while open_ends and time.monotonic() < end:
        for descriptor, _ in poll.poll(500):
            poll.unregister(descriptor)
            open_ends.pop(descriptor)
    check("%d of %s are kept forever" % (len(open_ends), name), not open_ends)
    stop.set()
    sender.join()
    for stream in streams:
        stream.close()

# A request that arrives just when its idle connection is closed (after 30 s) is answered whole, or not begun.
request = (b"POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s")
waiting = []
for n in range(200):
    stream = connect()
    stream.setblocking(True)
    stream.settimeout(10)
    waiting.append((stream, time.monotonic()))
    # One after the other, so that each has its own moment.
    time.sleep(0.03)
answered = closed = 0
for n, (stream, opened) in enumerate(waiting):
    # From 40 ms before to 40 ms after.
    time.sleep(max(0.0, opened + 30 + (n * 37 % 200 - 100) * 0.0004 - time.monotonic()))
    body = b'{"session_id":"edge-%d","cwd":"/edge-%d"}' % (n, n)
    got = b""
    try:
        stream.sendall(request % (len(body), body))
        while b"\r\n\r\n" not in got or not got.endswith(b"}"):
            piece = stream.recv(4096)
            if not piece:
                break
            got += piece
    except OSError:
        pass
    if got.startswith(b"HTTP/1.1 200") and got.endswith(b"}"):
        answered += 1
    elif not got:
        closed += 1
    else:
        problems.append("half an answer: %r" % got)
    stream.close()
print("at the end of an idle connection: %d answered, %d closed before, none in between" % (answered, closed))
check("all were answered or all closed: the moment was missed", answered and closed)

report("afterwards", honest(2))
_, status = server.client().ask("GET", "/hook/status")
edges = server.client().ask("GET", "/api/agents?all=1")[1]["agents"]
stored = sum(agent["session_id"].startswith("edge-") for agent in edges)
check("%d requests answered at the edge, %d stored" % (answered, stored), stored >= answered)
server.stop()
for problem in problems:
    print("PROBLEM: " + problem)
sys.exit(1 if problems else 0)
