#!/usr/bin/env python3
"""Turns linear patterns ({"name", "ops": [first, ..., last]}) into a rule file.

Usage: manyrules.py manyrules_1000.rules.json > manyrules_1000_rules.json

Each operator consumes output 0 of the one before it at any input; a match would be warned of.
"""
import json
import sys


def pattern(ops: list[str]) -> str:
    text = f"{ops[0]}<**_>(_...)"
    for op in ops[1:]:
        text = f"{op}<**_>(_..., {text}, _...)"
    return f"y, _... = {text}"


def main() -> None:
    rules = json.load(open(sys.argv[1], encoding="utf-8"))["rules"]
    file = {
        "qrewrite": 1,
        "name": "manyrules",
        "rules": [{"name": r["name"], "match": pattern(r["ops"]), "warn": "matched"} for r in rules],
    }
    json.dump(file, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
