#!/usr/bin/env python3
"""Writes the generated parts of docs/rules.md and docs/errors.md: those between `<!-- begin X -->` and `<!-- end -->`.

  keys, functions   from engine/rule/fields.inc and engine/expr/functions.inc
  kernels           the operators that are computed on constants (needs --qrewrite, and fold_eval beside it)
  rule FILE NAME    a rule of rules/FILE.yaml without its tests; `define FILE NAME`, `set FILE NAME` likewise
  mistakes          what `qrewrite lint` says about tests/docs_rules/*.yaml (needs --qrewrite)
  codes             the examples of tests/docs_codes and what is said of them (needs --qrewrite)

--check writes nothing and fails if something would change.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs" / "rules.md", ROOT / "docs" / "errors.md"]

TOKEN = re.compile(r'R"\((?P<raw>.*?)\)"|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<mark>[(),])|(?P<word>[^\s"(),]+)', re.S)


def rows(path, macro):
    """The arguments of each call of `macro`; adjacent strings are joined, nested parentheses kept as text."""
    source = re.sub(r"^\s*(//|#).*$", "", (ROOT / path).read_text(), flags=re.M)
    for call in re.finditer(rf"\b{macro}\(", source):
        args, depth = [""], 1
        for token in TOKEN.finditer(source, call.end()):
            mark = token["mark"]
            depth += {"(": 1, ")": -1}.get(mark, 0)
            if depth == 0:
                break
            if mark == "," and depth == 1:
                args.append("")
            elif token["text"] is not None:
                args[-1] += re.sub(r"\\(.)", r"\1", token["text"])
            else:
                args[-1] += token["raw"] or mark or token["word"]
        yield args


def cell(text):
    return text.replace("|", "\\|")


def keys():
    shapes = {a[0]: a[2] for a in rows("engine/rule/fields.inc", "QR_SHAPE")}
    fields = list(rows("engine/rule/fields.inc", "QR_FIELD"))
    out = []
    for kind, name, doc in rows("engine/rule/fields.inc", "QR_KIND"):
        out += [f"**{name}**: {doc}", "", "| key | value | |", "|---|---|---|"]
        for of, key, shape, required, meaning in fields:
            if of == kind:
                must = " (required)" if required == "true" else ""
                out.append(f"| `{key}`{must} | {cell(shapes[shape])} | {cell(meaning)} |")
        out.append("")
    return out


def functions():
    out = ["| function | meaning |", "|---|---|"]
    for name, params, *_, doc in rows("engine/expr/functions.inc", "QR_FUNCTION"):
        out.append(f"| `{name}({params})` | {cell(doc)} |")
    return out


def block(lines, start):
    """The lines from `start` on that are indented deeper than it, without comments at the end."""
    depth = len(lines[start]) - len(lines[start].lstrip())
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > depth):
        end += 1
    return lines[start:end], end


def excerpt(kind, file, name):
    lines = (ROOT / "rules" / f"{file}.yaml").read_text().splitlines()
    head = {"rule": rf"  - name: {re.escape(name)}\s*$",
            "define": rf"  ([\w, ?.]+ = )?{re.escape(name)}\(.*\):",
            "set": rf"  {re.escape(name)}:"}[kind]
    starts = [i for i, line in enumerate(lines) if re.match(head, line)]
    if len(starts) != 1:
        sys.exit(f"gen_docs: rules/{file}.yaml has {len(starts)} times {kind} `{name}`")
    found, _ = block(lines, starts[0])
    tests = next((i for i, line in enumerate(found) if line.startswith("    tests:")), None)
    if kind == "rule" and tests is not None:
        _, end = block(found, tests)
        found = found[:tests] + found[end:]
    return ["```yaml", *[line[2:] for line in found if line.strip()], "```"]


def mistakes(program):
    out = []
    for path in sorted((ROOT / "tests" / "docs_rules").glob("*.yaml")):
        done = subprocess.run([program, "lint", path.name], cwd=path.parent, capture_output=True, text=True,
                              env={**os.environ, "NO_COLOR": "1"})
        message, skip = [], False
        for line in done.stderr.splitlines():
            if line.startswith(path.name):
                skip = "[QR0502]" in line  # a rule without tests: not what the example is about
            if not skip:
                message.append(line)
        title = path.read_text().splitlines()[0].lstrip("# ")
        out += [f"{title}", "", "```text", *message, "```", ""]
    return out


def said(program, path):
    """What `lint` says of a file."""
    return subprocess.run([program, "lint", path.name], cwd=path.parent, capture_output=True, text=True,
                          env={**os.environ, "NO_COLOR": "1"}).stderr


def findings(text):
    """The messages of a run: (code, its lines)."""
    found = []
    for line in text.splitlines():
        head = re.match(r"\S+: (?:error|warning)\[(QR\d{4})\]: ", line)
        if head:
            found.append((head[1], [line]))
        elif found:
            found[-1][1].append(line)
    return found


def example(program, path):
    """What a file of tests/docs_codes shows: (wrong, findings about it, right, findings about that).

    That its rule has no tests is said of no example but that of QR0502."""
    texts = path.read_text().split("# right\n")
    about = []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(path.parent / "parts", Path(folder) / "parts")
        for name, text in zip(("wrong.yaml", "right.yaml"), texts, strict=True):
            file = Path(folder) / name
            file.write_text(text)
            about.append([f for f in findings(said(program, file)) if f[0] != "QR0502" or path.stem == "QR0502"])
    return texts[0], about[0], texts[1], about[1]


def short(line):
    return line if len(line) <= 120 else line[:100] + " ..."


def codes(program):
    meanings = {number: meaning for macro in ("QR_CODE", "QR_FOREIGN_CODE")
                for *_, number, meaning in rows("engine/rule/codes.inc", macro) if number.startswith("QR")}
    out = []
    for path in sorted((ROOT / "tests" / "docs_codes").glob("QR*.yaml")):
        wrong, about, right, _ = example(program, path)
        mended = [line[2:] for line in difflib.ndiff(wrong.splitlines(), right.splitlines()) if line.startswith("+ ")]
        out += [f"### {path.stem}", "", f"{meanings[path.stem]}", "", "```yaml", *map(short, wrong.splitlines()), "```", "```text",
                *[short(line) for _, lines in about for line in lines], "```"]
        out += ["Right:", "```yaml", *map(short, mended), "```"] if mended else ["Right: without the line."]
        out.append("")
    return out


def kernels(program):
    """The operators of the registry, those of ai.onnx without a domain; none if fold_eval is not built."""
    fold_eval = Path(program).parent / "tests" / "fold_oracle" / "fold_eval"
    if not fold_eval.exists():
        return []
    done = subprocess.run([fold_eval, "--kernels"], capture_output=True, text=True, check=True)
    names = {tuple(line.split()[:2]) for line in done.stdout.splitlines()}
    texts = sorted(op if domain == "ai.onnx" else f"{domain}.{op}" for domain, op in names)
    return textwrap.wrap(" ".join(texts), 130, break_on_hyphens=False)


def generate(page, program):
    def part(match):
        what = match["what"].split()
        if what[0] == "keys":
            lines = keys()
        elif what[0] == "functions":
            lines = functions()
        elif what[0] == "kernels":
            lines = kernels(program) if program else []
            if not lines:
                return match[0]
        elif what[0] in ("rule", "define", "set"):
            lines = excerpt(*what)
        elif what[0] in ("mistakes", "codes"):
            if not program:
                return match[0]
            lines = mistakes(program) if what[0] == "mistakes" else codes(program)
        else:
            sys.exit(f"gen_docs: unknown part `{match['what']}`")
        return "\n".join([match["begin"], *lines, match["end"]])

    pattern = r"(?P<begin><!-- begin (?P<what>[^>]*?) -->)\n.*?(?P<end><!-- end -->)"
    return re.sub(pattern, part, page, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the page is out of date")
    parser.add_argument("--qrewrite", metavar="PROGRAM", help="the program, for the parts `mistakes`, `codes` and `kernels`")
    args = parser.parse_args()
    program = args.qrewrite and str(Path(args.qrewrite).resolve())
    for path in PAGES:
        before = path.read_text()
        after = generate(before, program)
        if before == after:
            continue
        if args.check:
            old, new = before.splitlines(), after.splitlines()
            line = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
            print(f"docs/{path.name}:{line + 1}: out of date; run tools/gen_docs.py --qrewrite build/release/qrewrite", file=sys.stderr)
            return 1
        path.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
