#!/usr/bin/env python3
"""Plants faults in copies of the shipped rule files and counts how many `qrewrite prove` refutes.

    tools/plant_faults.py --qrewrite build/release/qrewrite --each 1 --json faults.json
    tools/plant_faults.py --qrewrite build/release/qrewrite --set optimize --rule conv-bn --kind compare --list

A fault is one small change of the text of a rule, of a definition (`$name`) or of what an operator `computes:`, as somebody makes it by mistake: a condition left
out, a number off by one, operands swapped. One in a definition or an operator concerns the rules that ask it, directly or through others; chance chooses three of
them (--users). What the loader refuses is no fault. Neither is `dead`: a rule that never fires then, mostly because the engine refuses what it would write. What else survives may
be no fault either: known ones are in tools/harmless_faults.json with the reason, and count for nothing. What no graph refutes, and a test of the rule fails with,
is refuted by `tests`: prove says that, too, but it finds nothing new.
`--bare` takes the tests of the rule away: what is then found comes of graphs that are made from its pattern.
"""
import argparse
import collections
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
RULES = SOURCE / "rules"
HARMLESS = SOURCE / "tools" / "harmless_faults.json"  # [{"set", "rule", "to": a part of the changed line, "why"}]

# Where numbers are computed, as opposed to where they are asked about.
DEFINED = ("define", "computes")
VALUES, ASKED = ("let", "replace", "cases", *DEFINED), ("where", "when")
MADE, LOOKED_AT = ("replace", "cases", *DEFINED), ("match", "define")


class Line:
    """A line of a rule, and which key of the rule it belongs to."""

    def __init__(self, index, text, key, begin):
        self.index, self.text, self.key, self.begin = index, text, key, begin


def rules_of(lines):
    """Name -> (first line, line of `tests:` or the end, end) of each rule."""
    found, name, first, tests = {}, None, 0, None
    inside = False
    for i, line in enumerate([*lines, "end:"]):
        if re.match(r"\S", line):
            if name:
                found[name] = (first, tests or i, i)
            inside, name = line.startswith("rules:"), None
        begin = re.match(r"  - name: (\S+)", line) or re.match(r"  - \{name: ([^,]+),", line)
        if inside and begin:
            if name:
                found[name] = (first, tests or i, i)
            name, first, tests = begin[1].strip("'"), i, None
        elif name and tests is None and re.match(r"    tests:", line):
            tests = i
    return found


def section(lines, name):
    """(first line, end) of what lies below a key of the file."""
    first = next((i for i, line in enumerate(lines) if line.startswith(name + ":")), None)
    if first is None:
        return 0, 0
    return first + 1, next((i for i in range(first + 1, len(lines)) if re.match(r"[a-z]", lines[i])), len(lines))


def heads(lines, name, head):
    """Name -> (first line, end) of each definition or signature of a section."""
    first, end = section(lines, name)
    found = [(m[1], i) for i in range(first, end) if (m := re.match(head, lines[i]))]
    return {key: (i, until) for (key, i), until in zip(found, [*(i for _, i in found[1:]), end])}


def definitions_of(lines):
    return {"$" + name: place for name, place in heads(lines, "define", r"  (?:[\w., ?]+ = )?(\w+)\([^()]*\):").items()}


def operators_of(lines):
    return heads(lines, "signatures", r"  ([\w.]+):")


def users_of(lines, included=()):
    """Definition or operator -> the rules that ask it, directly or through others; the files that are included have some, too."""
    named = re.compile(r"\$\w+|[\w.]*\w(?=[(<|])|(?<=\|)[\w.]+")
    says = {name: set(named.findall("\n".join(text[a:b]))) for text in [*included, lines]
            for name, (a, b) in {**definitions_of(text), **operators_of(text)}.items()}
    asked = set(says)
    says = {name: found & asked for name, found in says.items()}
    users = collections.defaultdict(list)
    for rule, (first, tests, _) in rules_of(lines).items():
        todo, seen = set(named.findall("\n".join(lines[first:tests]))) & asked, set()
        while todo:
            seen.add(name := todo.pop())
            todo |= says[name] - seen
        for name in seen:
            users[name].append(rule)
    return users


def defined_lines(lines, first, end):
    """The lines of a definition."""
    for i in range(first + 1, end):
        begin = re.match(r"\s+(?:- )?", lines[i]).end() if lines[i].strip() else 0
        yield Line(i, lines[i], "define", begin)


def computed_lines(lines, first, end):
    """What an operator computes, on one line."""
    for i in range(first, end):
        if m := re.match(r"    computes:\s*(?=[^|\s])", lines[i]):
            yield Line(i, lines[i], "computes", m.end())


def text_lines(lines, first, end):
    """The lines of a rule that are expressions, patterns or graphs."""
    key = None
    for i in range(first, end):
        top = re.match(r"(?:  - |    )(\w+):\s*", lines[i])
        if top:
            key = top[1]
        if key in ("name", "doc", "equivalence", "refuse", "warn", "opset", "note", None):
            continue
        yield Line(i, lines[i], key, top.end() if top else 0)


def code_of(line):
    """Where the code of the line ends: a comment follows."""
    comment = re.search(r"\s#\s", line.text)
    return comment.start() if comment else len(line.text)


def spots(line, pattern, replacement, flags=0):
    end = code_of(line)
    for m in re.finditer(pattern, line.text[:end], flags):
        if m.start() < line.begin:
            continue
        if NEUTRAL.search(line.text[:m.start()]):
            continue
        new = replacement(m) if callable(replacement) else m.expand(replacement)
        if new is not None and new != m[0]:
            yield m.start(), m.end(), new


def conjuncts(text, begin, end):
    """The parts of a condition that `and` joins."""
    depth, quote, at, parts = 0, "", begin, []
    i = begin
    while i < end:
        c = text[i]
        if quote:
            quote = "" if c == quote else quote
        elif c in "'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and text.startswith(" or ", i) or depth == 0 and text.startswith(" if ", i):
            return [(begin, end)]
        elif depth == 0 and text.startswith(" and ", i):
            parts.append((at, i))
            at = i + 5
        i += 1
    return [*parts, (at, end)]


def dropped(line):
    if line.key == "where":
        item = re.match(r"\s*(?:where:|-)\s*", line.text)
        if item and item.end() < code_of(line):
            end = len(line.text[:code_of(line)].rstrip())
            for a, b in conjuncts(line.text, item.end(), end):
                yield a, b, "true"
    for m in re.finditer(r"when:? (.*?)(?= =>|$)", line.text[:code_of(line)]):
        if m[1].strip():
            for a, b in conjuncts(line.text, m.start(1), m.end(1)):
                yield a, b, "true"


def pattern_of(line):
    """The line up to where its pattern ends."""
    if line.key == "match":
        return line
    pattern = re.match(r"(?:match: |\w[\w., ?]* = (?=\S).*? (?:when|=>) )", line.text[line.begin:])
    return Line(line.index, line.text[:line.begin + pattern.end()] if pattern else "", line.key, line.begin)


def left_out(line):
    """A case that is not there."""
    end = len(line.text[:code_of(line)].rstrip())
    if re.search(r"\S => \S", line.text[line.begin:end]) and line.text[:line.begin].strip() == "-":
        yield 0, len(line.text), ""


NAME = r"\$?[\w.]+"
# Of integers; what widens sizes and axes, or computes in a wider float than is needed, is no fault when it is narrower.
NARROWER = {"INT8": "UINT8", "UINT8": "INT8", "INT32": "INT8"}
CAST = {"i8": "u8", "u8": "i8", "i32": "i8"}
TURNED = {"==": "!=", "!=": "==", "<=": ">", ">=": "<", "<": ">=", ">": "<="}
# Where a number, a name or a comparison says nothing about values: how often something is read, whether it is known.
NEUTRAL = re.compile(r"(?:uses|known|const|present|is_output|is_input|size|rank|shape|dtype|doc|fail)\([^()]*(?:\([^()]*\)[^()]*)*$")
OTHER = {"+": "-", "-": "+", "*": "/", "/": "*"}
ROUND = {"rint": "Floor", "Round": "Floor", "Floor": "Ceil", "Ceil": "Floor", "trunc": "rint"}
LIMIT = {"min": "max", "max": "min", "Min": "Max", "Max": "Min", "qmin": "qmax", "qmax": "qmin"}

WIDER = {"MaxPool": "AveragePool", "Transpose": "Reshape", "Conv": "ConvTranspose", "ReduceMax": "ReduceMean", "Max": "Min", "Add": "Sub", "Mul": "Div",
         "Floor": "Ceil", "Relu": "LeakyRelu", "Identity": "Relu", "Clip": "Relu", "Reshape": "Transpose", "MatMul": "Gemm", "Sigmoid": "Tanh", "Squeeze": "Transpose"}
INCLUDED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}

NO_FAULT = ("no rule", "dead", "harmless")

KINDS = {
    "condition dropped": (VALUES + ASKED, dropped),
    "comparison turned": (VALUES, lambda l: spots(l, r"(?<= )(==|!=|<=|>=|<|>)(?= )", lambda m: TURNED[m[1]])),
    "number off by one": (VALUES, lambda l: spots(l, r"(?<![\w.$'])\d+(?![\w.])", lambda m: str(int(m[0]) + 1))),
    "another operation": (VALUES, lambda l: spots(l, r"(?<=[\w)\]] )([+*/-])(?= [\w($])", lambda m: OTHER[m[1]])),
    "operands swapped": (VALUES, lambda l: [*spots(l, rf"({NAME}) ([-/]) ({NAME})(?![\w(])", r"\3 \2 \1"),
                                            *spots(l, rf"(\w\(|>\()({NAME}), ({NAME})(?=[,)])", r"\1\3, \2")]),
    "bound included": (VALUES + ASKED, lambda l: spots(l, r"(?<= )(<=|>=|<|>)(?= )", lambda m: INCLUDED[m[1]])),
    "case left out": (("cases", "define"), left_out),
    "answer turned": (DEFINED, lambda l: spots(l, r"(?<==> )(true|false)\b", lambda m: {"true": "false", "false": "true"}[m[1]])),
    "operator too many": (LOOKED_AT, lambda l: spots(pattern_of(l), r"(?<=[ (|=])(\w+)(?=[<(|])", lambda m: WIDER.get(m[1]) and f"{m[1]}|{WIDER[m[1]]}")),
    "attribute let go": (LOOKED_AT, lambda l: spots(pattern_of(l), r"(?<=[<\s])(\w+)=(?:-?\d[\d.]*|'\w+'|[A-Z]\w+|\w)(?=[,>])", r"\1=_")),
    "literal let go": (LOOKED_AT, lambda l: spots(pattern_of(l), r"(?<=[(,] )-?\d[\d.]*(?=[,)])", "_")),
    "inputs swapped": (("match",), lambda l: spots(pattern_of(l), r"(\w[\w>]*\()(\w+), (\w+)(?=[,)])", r"\1\3, \2")),
    "min for max": (VALUES, lambda l: spots(l, r"\b(q?min|q?max|Min|Max)(?=\()", lambda m: LIMIT[m[1]])),
    "zero point forgotten": (VALUES, lambda l: spots(l, rf"(QuantizeLinear(?:<[^>]*>)?\([^(),]+, [^(),]+), [^(),]+\)", r"\1)")),
    "rounding changed": (VALUES, lambda l: spots(l, r"\b(rint|Round|Floor|Ceil|trunc)(?=\()", lambda m: ROUND[m[1]])),
    "clip forgotten": (VALUES, lambda l: [*spots(l, r"\bClip\(([\w.]+(?:\([^()]*\))?), [^()]*(?:\([^()]*\)[^()]*)*\)", r"\1"),
                                          *spots(l, r"\bclip\(([\w.]+(?:\([^()]*\))?), [^()]*\)", r"\1")]),
    "type narrowed": (VALUES, lambda l: [*spots(l, r"\b(INT32|INT8|UINT8)\b(?!')", lambda m: NARROWER.get(m[1])),
                                         *spots(l, r"\b(u8|i32|i8)(?=\()", lambda m: CAST.get(m[1]))]),
    "attribute lost": (MADE, lambda l: [*spots(l, r"(?<=<)(\*\*\w+|\w+=[^,<>()]+)(?:, |(?=>))", ""),
                                                        *spots(l, r", (\*\*\w+|\w+=[^,<>()]+)(?=>)", "")]),
    "axis off": (VALUES, lambda l: spots(l, r"\b(axis=)([\w.]+)", r"\g<1>\2 + 1")),
    "scale squared": (VALUES, lambda l: spots(l, r"(?<=[ (])(s|s1|s2|sa|sb|sx|sw|sy|ws|xs|ys|k|m|scale)(?=[,)]| [*/+-] |$)", r"(\1 * \1)")),
    "outputs swapped": (MADE, lambda l: spots(l, r"\b(\w+), (\w+)(?= = )", r"\2, \1")),
    "another name": (MADE, lambda l: spots(l, rf"(?<=[(, ])(x|a|b|c|w|z|q|lo|hi|x2|z2)(?=[,)])", lambda m: {
        "x": "w", "a": "b", "b": "a", "c": "b", "w": "x", "z": "z2", "q": "q2", "lo": "hi", "hi": "lo", "x2": "x", "z2": "z"}.get(m[0]))),
}


def files():
    return {path.stem: path.read_text().splitlines() for path in sorted(RULES.glob("*.yaml"))}


def included_by(name, texts):
    """The sets that a file includes, directly or through others; its own come last."""
    found = []
    for line in texts[name]:
        if line.startswith("include:"):
            for other in re.findall(r"(\w+)\.yaml", line):
                found += [n for n in [*included_by(other, texts), other] if n not in found]
    return found


def askers(name, texts):
    """Definition or operator -> (set, its rules): those of the file, or of one that includes it."""
    found = {place: (name, rules) for place, rules in users_of(texts[name]).items()}
    for other in texts:
        if name in (included := included_by(other, texts)):
            for place, rules in users_of(texts[other], [texts[i] for i in included]).items():
                found.setdefault(place, (other, rules))
    return found


def places(name, texts):
    """What faults are planted in: name, lines, the set and the rules that are asked about it."""
    lines, users = texts[name], askers(name, texts)
    for rule, (first, tests, _) in rules_of(lines).items():
        block = "\n".join(lines[first:tests])
        if re.search(r"^    (refuse|warn):", block, re.M) and not re.search(r"^    replace:|=>", block, re.M):
            continue  # it says something and changes nothing
        yield rule, [*text_lines(lines, first, tests)], (name, [rule])
    for found, lines_of in ((definitions_of(lines), defined_lines), (operators_of(lines), computed_lines)):
        for place, (first, end) in found.items():
            yield place, [*lines_of(lines, first, end)], users.get(place, (name, []))


def faults_in(name, texts, only_rules):
    for place, own, (asked, users) in places(name, texts):
        if not users or only_rules and place not in only_rules:
            continue
        for kind, (keys, find) in KINDS.items():
            for line in own:
                if line.key not in keys:
                    continue
                for a, b, new in find(line):
                    yield {"set": name, "rule": place, "asked": asked, "users": users, "kind": kind, "line": line.index, "from": line.text.strip(),
                           "to": (line.text[:a] + new + line.text[b:]).strip(), "at": (a, b, new)}


def plant(folder, fault, bare):
    """Copies of all files, one of which has the fault."""
    for name, lines in files().items():
        if name == fault["set"]:
            a, b, new = fault["at"]
            line = lines[fault["line"]]
            lines[fault["line"]] = line[:a] + new + line[b:]
        if bare and name == fault["asked"]:
            for rule, (_, tests, end) in reversed(rules_of(lines).items()):
                if rule in fault["users"]:
                    del lines[tests:end]
        (Path(folder) / f"{name}.yaml").write_text("\n".join(lines) + "\n")


def run(args, program, *words, **more):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(RULES)}
    return subprocess.run([program, *words], capture_output=True, text=True, env=environment, **more)


def harmless(fault):
    """Why it is no fault, if that is known."""
    for known in json.loads(HARMLESS.read_text()) if HARMLESS.exists() else []:
        if (known["set"], known["rule"]) == (fault["set"], fault["rule"]) and known["to"] in fault["to"] and known["to"] not in fault["from"]:
            return known["why"]
    return None


def judge(args, fault):
    if why := harmless(fault):
        return {**fault, "outcome": "harmless", "why": why}
    with tempfile.TemporaryDirectory() as folder:
        plant(folder, fault, args.bare)
        begin = time.monotonic()
        words = ["prove", f"{fault['asked']}.yaml", "--quick", "--runtime", args.runtime, "--json", *args.prove]
        for user in fault["users"]:
            words += ["--rule", user]
        try:
            done = run(args, args.qrewrite, *words, cwd=folder, timeout=args.timeout)
        except subprocess.TimeoutExpired:
            return {**fault, "outcome": "timeout"}
        if done.returncode not in (0, 1):
            return {**fault, "outcome": "no rule" if 0 < done.returncode < 100 else f"crash {done.returncode}", "why": done.stderr.strip()[:300]}
        reports = [(outcome_of(report), report) for report in json.loads(done.stdout)["rules"]]
        outcome, report = min(reports, key=lambda r: WORST_FIRST.index(r[0]))
        return {**fault, "outcome": outcome, "seconds": time.monotonic() - begin, "shown_by": report["rule"],
                **{key: report[key] for key in ("why", "graphs", "fired", "counterexample")}}


WORST_FIRST = ("refuted", "tests", "held", "unknown", "dead")


def outcome_of(report):
    if report["failed_test"]:
        return "tests" if report["fired"] else "dead"
    return "dead" if report["outcome"] == "silent" else report["outcome"]


def chosen(args):
    dice = random.Random(args.seed)
    by_place = collections.defaultdict(list)
    texts = files()
    for name in texts:
        if args.set and name not in args.set:
            continue
        for fault in faults_in(name, texts, args.rule):
            if args.defined and fault["rule"] in fault["users"]:
                continue
            if not args.kind or any(k in fault["kind"] for k in args.kind):
                by_place[name, fault["rule"], fault["kind"]].append(fault)
    faults = [f for group in by_place.values() for f in dice.sample(group, min(args.each, len(group)))]
    faults = dice.sample(faults, min(args.most, len(faults)))
    return [{**f, "users": sorted(dice.sample(f["users"], min(args.users, len(f["users"]))))} for f in faults]


def table(results):
    rows = collections.defaultdict(collections.Counter)
    for r in results:
        if r["outcome"] not in NO_FAULT:
            rows[r["kind"]][r["outcome"]] += 1
            rows["all"][r["outcome"]] += 1
    outcomes = ["refuted", "tests", "held", "unknown"]
    print(f"{'kind':24}" + "".join(f"{o:>10}" for o in outcomes) + f"{'graphs':>8}{'found':>8}")
    for kind in [*KINDS, "all"]:
        if rows[kind]:
            share = rows[kind]["refuted"] / rows[kind].total()
            found = (rows[kind]["refuted"] + rows[kind]["tests"]) / rows[kind].total()
            others = {o: n for o, n in rows[kind].items() if o not in outcomes}
            print(f"{kind:24}" + "".join(f"{rows[kind][o]:10}" for o in outcomes) + f"{share:8.0%}{found:8.0%}", others or "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--qrewrite", default=str(SOURCE / "build/release/qrewrite"))
    parser.add_argument("--set", action="append")
    parser.add_argument("--rule", action="append", help="or a definition ($name), or an operator that says what it computes")
    parser.add_argument("--defined", action="store_true", help="in definitions and operators alone")
    parser.add_argument("--users", type=int, default=3, help="rules that are asked about a definition")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--each", type=int, default=1, help="faults of a kind in a rule")
    parser.add_argument("--most", type=int, default=10**6, help="faults in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runtime", default="auto")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--list", action="store_true", help="say what survives")
    parser.add_argument("--json", help="where all results go")
    parser.add_argument("--fail-under", type=float, default=0, help="exit code 1 below this share of found faults")
    parser.add_argument("prove", nargs="*", help="options of prove, behind --")
    args = parser.parse_args()
    args.qrewrite = str(Path(args.qrewrite).resolve())
    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda f: judge(args, f), chosen(args)))
    if args.json:
        Path(args.json).write_text(json.dumps(results, indent=1))
    if args.list:
        for r in results:
            if r["outcome"] != "refuted" and r["outcome"] not in NO_FAULT:
                print(f"{r['outcome']}: {r['set']}/{r['rule']}: {r['kind']}\n    {r['from']}\n    {r['to']}")
    table(results)
    real = [r for r in results if r["outcome"] not in NO_FAULT]
    counts = collections.Counter(r["outcome"] for r in results)
    print("no faults:", ", ".join(f"{counts[o]} {o}" for o in NO_FAULT))
    slow = sorted(r.get("seconds", 0) for r in results)
    print(f"seconds for one: {slow[len(slow) // 2]:.1f} in the middle, {slow[-1]:.1f} at most" if slow else "")
    share = sum(r["outcome"] in ("refuted", "tests") for r in real) / max(len(real), 1)
    return share < args.fail_under


if __name__ == "__main__":
    sys.exit(main())
