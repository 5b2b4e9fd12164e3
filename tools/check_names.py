#!/usr/bin/env python3
"""Finds names that the linker would mistake for one another: a class, struct, enum or inline function
of the same qualified name that is defined in two files (the compiler sees one at a time, the linker
keeps one of them), and strong symbols of two object files. Exits 1 and lists what is doubled.

  tools/check_names.py [ROOT] [--objects FILE...]  check a source tree, and object files or archives
  tools/check_names.py --self-test                 check that planted doubles are found
"""
import argparse
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

FOLDERS = ["engine", "include", "tools"]  # tests are programs of their own

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''  # dropped
    r"|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*"                                                 # dropped
    r"|[A-Za-z_]\w*|::|[^\s\w]", re.S | re.M)
DROPPED = re.compile(r'//|/\*|R"|"|\'|\s*#')
STRONG = set("TDBR")


def tokens(text):
    return [t for t in (m.group() for m in TOKEN.finditer(text)) if not DROPPED.match(t)]


def opened(statement):
    """What the brace behind these tokens opens: ("namespace" | "type" | "function" | "", name)."""
    words = [t for t in statement if t not in ("inline", "export")]
    if words[:1] == ["namespace"]:
        return "namespace", "".join(words[1:])
    while words[:1] == ["template"]:  # template <...>
        depth = 0
        for i, t in enumerate(words):
            depth += (t == "<") - (t == ">")
            if i > 0 and depth == 0:
                words = words[i + 1:]
                break
        else:
            break
    if words[:1] == ["typedef"]:
        words = words[1:]
    if words and words[0] in ("class", "struct", "union", "enum"):
        words = [t for t in words[1:] if t not in ("class", "struct", "final")]
        end = next((i for i, t in enumerate(words) if t == ":"), len(words))
        name = "".join(words[:end])  # a specialization keeps its arguments
        return ("type", name) if re.fullmatch(r"[A-Za-z_][\w:<>,*&\s]*", name) else ("", "")
    if "(" in words and words[0] not in ("extern", "static") and "operator" not in words:
        at = words.index("(")
        depth, end = 0, at
        for end in range(at, len(words)):
            depth += (words[end] == "(") - (words[end] == ")")
            if depth == 0:
                break
        name, before = words[at - 1] if at else "", words[at - 2] if at > 1 else ""
        if re.fullmatch(r"[A-Za-z_]\w*", name) and before != "::":
            return "function", f"{name}({' '.join(parameter_types(words[at + 1:end]))})"
    return "", ""


def parameter_types(words):
    """The tokens of a parameter list without names and defaults: what makes overloads differ."""
    out, depth, skip = [], 0, False
    for i, t in enumerate(words):
        depth += (t in "<([{") - (t in ">)]}")
        if t == "," and depth == 0:
            skip = False
        if t == "=" and depth == 0:
            skip = True
        following = words[i + 1] if i + 1 < len(words) else ","
        is_name = depth == 0 and i > 0 and re.fullmatch(r"\w+", t) and following in (",", "=")
        if not skip and not (is_name and words[i - 1] not in (",", "::", "const")):
            out.append(t)
    return out


def definitions(text):
    """Qualified names that this file defines at namespace scope and that the linker sees."""
    stack, statement = [], []
    parentheses = 0  # braces inside of them are values, not scopes
    for t in tokens(text):
        parentheses += (t == "(") - (t == ")")
        if parentheses > 0 and t in "{};":
            continue
        if t == "{":
            kind, name = opened(statement)
            outer = [k for k, _ in stack]
            hidden = ("namespace", "") in stack
            if kind in ("type", "function") and set(outer) <= {"namespace"} and not hidden:
                yield "::".join([n for _, n in stack] + [name])
            stack.append((kind if kind == "namespace" else "body", name))
            statement = []
        elif t == "}":
            if stack:
                stack.pop()
            statement = []
        elif t == ";":
            statement = []
        elif not stack or stack[-1][0] == "namespace":
            statement.append(t)


def doubled_sources(root):
    places = defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".h", ".cc"):
                for name in definitions(path.read_text()):
                    if name.startswith("main("):  # of each program
                        continue
                    places[name].add(str(path.relative_to(root)))
    return [f"{name} is defined in {', '.join(sorted(files))}"
            for name, files in sorted(places.items()) if len(files) > 1]


def doubled_symbols(objects):
    places = defaultdict(list)
    for path in objects:
        listing = subprocess.run(["nm", "-A", "--defined-only", path], check=True,
                                 capture_output=True, text=True).stdout
        for line in listing.splitlines():
            match = re.match(r"(.*?):(?:[0-9a-f]+)?\s+(\w) (.*)", line)
            if match and match[2] in STRONG and match[3] != "main":
                places[match[3]].append(match[1])
    return [f"{name} is in {', '.join(files)}"
            for name, files in sorted(places.items()) if len(files) > 1]


def self_test():
    a = """namespace n { // class No {
      class Twice { struct Inner {}; }; class Declared; struct Once : Base { int x{0}; };
      template <class T> struct Box { T t; }; template <> struct Box<int> {};
      inline int Same(const A& a, int b = 3) { struct Local {}; return f("}"); } int Over(int a) {}
      int Twice::Member() {} namespace { struct Hidden {}; } }"""
    b = """namespace n { class Twice final : public Base<int> {}; class Declared {};
      namespace { struct Hidden {}; void Same(A x) {} } struct Inner {};
      int Same(const A& other, int) { return '{'; } int Over(double a) {} int Twice::Member() {}
      template <> struct Box<float> {}; }
      enum class Once { kA };"""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "engine").mkdir()
        (root / "engine/a.h").write_text(a)
        (root / "engine/b.cc").write_text(b)
        found = doubled_sources(root)
    wanted = ["n::Same(const A & , int) is defined in engine/a.h, engine/b.cc",
              "n::Twice is defined in engine/a.h, engine/b.cc"]
    assert found == wanted, found
    print("check_names: the planted doubles are found")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", default=Path(__file__).parent.parent, type=Path)
    parser.add_argument("--objects", nargs="*", default=[])
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    if args.self_test:
        return self_test()
    faults = doubled_sources(args.root) + doubled_symbols(args.objects)
    print("\n".join(faults) or "check_names: nothing is defined twice")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
