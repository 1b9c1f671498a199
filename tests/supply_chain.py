#!/usr/bin/env python3
"""Licenses, sources and duplicates of what we build on, against deny.toml, and the oldest compiler it all builds with.

cargo deny, which tests/run installs, knows more of it; this needs nothing but Python. That our own code keeps to the
oldest compiler is clippy's work (`incompatible_msrv` reads rust-version); here it is the packages'.
"""
import json, re, subprocess, sys, tomllib

rules = tomllib.load(open("deny.toml", "rb"))
allowed = set(rules["licenses"]["allow"])
metadata = json.loads(subprocess.check_output(["cargo", "metadata", "--format-version", "1", "--locked"]))
packages = [package for package in metadata["packages"] if package["source"]]
problems = []


def acceptable(expression):
    """An SPDX expression: every part of an AND, one part of an OR."""
    expression = expression.replace("/", " OR ")
    for part in re.split(r"\s+AND\s+", expression):
        choices = [choice.strip(" ()") for choice in re.split(r"\s+OR\s+", part)]
        if not any(choice in allowed for choice in choices):
            return False
    return True


def version(text):
    return tuple(int(part) for part in text.split("."))[:2]


ours = next(package["rust_version"] for package in metadata["packages"] if package["name"] == "claude-headspace")
for package in packages:
    name = "%s %s" % (package["name"], package["version"])
    if not acceptable(package["license"] or "none"):
        problems.append("%s: license %s" % (name, package["license"]))
    if not package["source"].startswith("registry+"):
        problems.append("%s comes from %s" % (name, package["source"]))
    if version(package["rust_version"] or "1.0") > version(ours):
        problems.append("%s wants Rust %s, and Cargo.toml says %s" % (name, package["rust_version"], ours))

versions = {}
for package in packages:
    versions.setdefault(package["name"], set()).add(package["version"])
doubles = {name: sorted(found) for name, found in versions.items() if len(found) > 1}
print("%d packages; in several versions: %s" % (len(packages), ", ".join("%s %s" % (n, "+".join(v)) for n, v in sorted(doubles.items())) or "none"))
for problem in problems:
    print("not acceptable: %s" % problem)
sys.exit(1 if problems else 0)
