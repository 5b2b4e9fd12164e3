#!/usr/bin/env python3
"""Turns linear patterns ({"name", "ops": [first, ..., last]}) into a rule file.

Usage: manyrules.py manyrules_1000.rules.json > manyrules_1000.yaml

Each operator consumes output 0 of the one before it at any input; a match would be replaced by an
Identity of what the last operator makes.
"""
import json
import sys


def main() -> None:
    rules = json.load(open(sys.argv[1], encoding="utf-8"))["rules"]
    print("qrewrite: 1\nname: manyrules\nrules:")
    for rule in rules:
        ops = rule["ops"]
        print(f"  - name: {rule['name']}\n    match: |")
        for k, op in enumerate(ops):
            args = "_..." if k == 0 else f"_..., v{k - 1}, _..."
            print(f"      v{k}, _... = {op}<**_>({args})")
        print("    warn: matched")


if __name__ == "__main__":
    main()
