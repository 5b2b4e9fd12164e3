#!/usr/bin/env python3
"""Mutates rule files and looks for crashes and hangs of `qrewrite lint` and `qrewrite test`.

  tools/fuzz_rules.py --qrewrite build/asan/qrewrite [--rounds 2000] [--seed 1] [--keep FOLDER]

Loading is fuzzed in tests/unit/rule/fuzz_test.cc as well; here the rules also run, on the graphs of
their tests. A file that crashes or hangs the program is kept, and the exit code is 1.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOKEN = re.compile(r"[A-Za-z_][\w.]*|\d+\.?\d*|\s+|.", re.S)
TEXT = {"encoding": "utf-8", "errors": "surrogateescape"}  # some are no UTF-8, on purpose
TIMEOUT = 60  # a run that takes longer hangs
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "halt_on_error=1:exitcode=99"}


def seeds():
    for folder in ("rules", "fixtures/rules_bad", "tests/golden/cli"):
        yield from sorted((ROOT / folder).glob("*.yaml"))


def mutate(text, words, pick):
    tokens = TOKEN.findall(text) or [" "]
    for _ in range(pick.randint(1, 2)):
        at = pick.randrange(len(tokens))
        action = pick.randrange(5)
        if action == 0:
            del tokens[at : at + pick.randint(1, 3)]
        elif action == 1:
            tokens.insert(at, pick.choice(words))
        elif action == 2:
            tokens[at] = pick.choice(words)
        elif action == 3:
            other = pick.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            start = pick.randrange(len(tokens))
            tokens[at:at] = tokens[start : start + pick.randint(1, 12)]
        tokens = tokens or [" "]
    return "".join(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--qrewrite", required=True, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", default=tempfile.gettempdir())
    options = parser.parse_args()
    pick = random.Random(options.seed)
    texts = {path: path.read_text(**TEXT) for path in seeds()}
    words = sorted({word for text in texts.values() for word in TOKEN.findall(text)})
    folders = {path.parent: [] for path in texts}
    for path in texts:
        folders[path.parent].append(path)
    bad = loaded = 0
    for number in range(options.rounds):
        path = pick.choice(folders[pick.choice(list(folders))])  # most files are in the folder of bad ones
        name = f"fuzz_{options.seed}_{number}.yaml"
        with tempfile.TemporaryDirectory() as folder:
            for other, text in texts.items():  # what it may include
                (Path(folder) / other.name).write_text(text, **TEXT)
            text = mutate(texts[path], words, pick)
            (Path(folder) / name).write_text(text, **TEXT)
            for command in ("lint", "test"):
                try:
                    done = subprocess.run([options.qrewrite, command, name], cwd=folder,
                                          capture_output=True, timeout=TIMEOUT, env=ENVIRONMENT)
                    fault = done.stderr if done.returncode < 0 or done.returncode > 7 else b""
                    loaded += command == "lint" and done.returncode == 0
                except subprocess.TimeoutExpired:
                    fault = b"it hangs"
                if fault:
                    bad += 1
                    (Path(options.keep) / name).write_text(text)
                    print(f"{command} {Path(options.keep) / name} ({path.name}):",
                          fault.decode(errors="replace")[-2000:])
                    break
    print(f"{options.rounds} rounds, {loaded} files loaded, {bad} crashes or hangs")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
