#!/usr/bin/env python3
"""Holds sources to the lengths of docs/CONTRIBUTING.md.

  tools/check_lengths.py [ROOT]       check a source tree
  tools/check_lengths.py --self-test  check that planted files are found

A file that is longer does several things: it is split by what they are. One that is longer because it is one thing is listed
here with the reason. Generated tables (.inc) have any length.
"""
import argparse
import sys
import tempfile
from pathlib import Path

LIMITS = {".h": 300, ".cc": 500, ".py": 500}
FOLDERS = ["engine", "include", "tools", "tests"]
ALLOWED = {
    "engine/graph/graph.h": (450, "the tables of a graph and all that may be done to them are one class"),
    "tests/unit/match/plain_expander.h": (450, "one recursive walk over the whole language, for tests alone"),
}


def faults(root, allowed):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            limit, _ = allowed.get(name, (LIMITS.get(path.suffix), ""))
            if limit is None or not path.is_file():
                continue
            lines = len(path.read_text().splitlines())
            if lines > limit:
                yield f"{name}: {lines} lines, {limit} are allowed"
    for name in allowed:
        if not (root / name).is_file():
            yield f"{name}: is listed in check_lengths.py and is not there"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "engine").mkdir()
        for name, lines in [("a.h", 301), ("b.h", 300), ("c.cc", 501), ("d.inc", 9999), ("e.cc", 600)]:
            (root / "engine" / name).write_text("x\n" * lines)
        found = list(faults(root, {"engine/e.cc": (600, ""), "engine/f.cc": (600, "")}))
    wanted = ["engine/a.h: 301 lines, 300 are allowed", "engine/c.cc: 501 lines, 500 are allowed",
              "engine/f.cc: is listed in check_lengths.py and is not there"]
    assert found == wanted, found
    print("check_lengths: the planted files are found")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent, type=Path)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    found = list(faults(args.root, ALLOWED))
    print("\n".join(found) or "check_lengths: no file is too long")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
