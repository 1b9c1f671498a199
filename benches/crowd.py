#!/usr/bin/env python3
"""Everybody else while `benches/latency` measures: so many streams that are read, so many events a second.

    crowd.py PORT STREAMS PER_SECOND SESSIONS

Reads what has come fifty times a second, as a program with other things to do would, so that the load is the server's and
not its own. Ends with whoever started it.
"""
import json, os, socket, sys, time

port, stream_count, per_second, sessions = map(int, sys.argv[1:5])
CONNECTIONS = 16
ROUND = 0.02


def connect(request):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(request)
    connection.setblocking(False)
    return connection


def drain(connection):
    try:
        while connection.recv(1 << 20):
            pass
        raise SystemExit("the server hung up")
    except BlockingIOError:
        pass


def post(number):
    call = number >> 1
    body = json.dumps({"session_id": "s%d" % (1 + call % (sessions - 1)), "cwd": "/srv/x", "tool_name": "Bash", "tool_use_id": "t%d" % call,
                       "tool_input": {"command": "step %d" % call}})
    slug = ("pre-tool-use", "post-tool-use")[number % 2]
    return ("POST /hook/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (slug, len(body), body)).encode()


streams = [connect(b"GET /api/events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") for _ in range(stream_count)]
posters = [connect(b"") for _ in range(CONNECTIONS)]
parent, begin, sent = os.getppid(), time.monotonic(), 0
while os.getppid() == parent:
    while sent < (time.monotonic() - begin) * per_second:
        posters[sent % CONNECTIONS].sendall(post(sent))
        sent += 1
    for connection in posters + streams:
        drain(connection)
    time.sleep(ROUND)
