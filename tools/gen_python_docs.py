#!/usr/bin/env python3
"""Writes docs/python_api.md from the docstrings and annotations of the Python package.

  PYTHONPATH=build/release/python tools/gen_python_docs.py [--check]
"""
import inspect
import sys
from pathlib import Path
from textwrap import dedent, indent
from types import UnionType
from typing import get_args

import qrewrite

PAGE = Path(__file__).resolve().parent.parent / "docs" / "python_api.md"
GROUPS = [
    ("Rewriting", ["rewrite", "RuleSource", "watch", "Run", "Report", "RuleCount", "RewriteWarning", "Unit"]),
    ("Rules", ["Rules", "Rule", "Param", "TestReport", "TestResult", "ProveReport", "ProveProgress", "shipped", "Functions", "function", "predicate", "operator"]),
    ("Models", ["Model", "Stats", "Graph", "Node", "Value", "Constant"]),
    ("Finding and explaining", ["find", "Matches", "Match", "Binding", "Condition", "explain", "Explanation"]),
    ("Events", ["Event", "PhaseEvent", "SweepEvent", "ProgressEvent", "FiringEvent", "NodeView"]),
    ("Comparing", ["diff", "Diff", "verify", "VerifyReport", "debug", "DebugReport", "run", "versions"]),
    ("Errors", ["Error", "Diagnostic", "UsageError", "FileError", "InvalidModel", "InvalidRules", "Refused", "LimitError",
                "Unsupported", "Cancelled", "CallbackError"]),
]
CONSTANTS = {"CONTINUE", "STOP", "CANCEL", "Severity", "LintFinding"}


class Annotation(str):
    """Is shown without quotes, which those of defaults keep."""

    __repr__ = str.__str__


def signature(thing, name):
    of = inspect.signature(thing)
    parameters = [p.replace(annotation=Annotation(p.annotation)) if isinstance(p.annotation, str) else p for p in of.parameters.values()]
    result = Annotation(of.return_annotation) if isinstance(of.return_annotation, str) else of.return_annotation
    text = str(of.replace(parameters=parameters, return_annotation=result))
    return name + text.replace("self, ", "").replace("(self)", "()").replace("cls, ", "").replace("(cls)", "()")


def comments(cls):
    """What is said of the fields: `#:` above them in the source."""
    said, above = {}, []
    for line in inspect.getsource(cls).splitlines():
        word = line.strip()
        if word.startswith("#:"):
            above.append(word[2:].strip())
        else:
            name = word.split(":")[0].split(" ")[0].removeprefix("self.")
            if above and name.isidentifier():
                said[name] = " ".join(above)
            above = []
    return said


def annotation_of(cls, field):
    said = cls.__annotations__[field]
    return str(getattr(said, "__forward_arg__", said)).replace("'", "")  # NamedTuple wraps what is in quotes


def body(doc, parameters=()):
    """The docstring; what is said of parameters ("name: text", "a, b: text") as a list."""
    lines = inspect.cleandoc(doc or "").replace(":class:", "").replace(":func:", "").replace(":meth:", "").splitlines()
    out = []
    for line in lines:
        names = line.partition(":")[0].split(", ")
        if ":" in line and set(names) <= set(parameters):
            line = "- " + ", ".join(f"`{name}`" for name in names) + ":" + line.partition(":")[2]
        out.append("    " + line if line.startswith((">>>", "...")) else line)
    return "\n".join(out)


def item(doc):
    """The docstring in a list: its examples stand below it."""
    parts = body(doc).split("\n\n")
    examples = [part for part in parts if part.lstrip().startswith(">>>")]
    prose = " ".join(" ".join(part for part in parts if part not in examples).split())
    return prose + "".join("\n\n" + indent(dedent(example), " " * 8) + "\n" for example in examples)


def describe_class(cls):
    if issubclass(cls, Exception):
        bases = ", ".join(b.__name__ for b in cls.__bases__)
        yield f"### {cls.__name__}({bases})"
    else:
        yield f"### {cls.__name__}"
    yield body(cls.__doc__)
    said, rows = comments(cls), []
    fields = getattr(cls, "_fields", getattr(cls, "__dataclass_fields__", ()))
    for field in fields:
        rows.append(f"- `{field}: {annotation_of(cls, field)}`" + (f": {said[field]}" if field in said else ""))
    for name, member in vars(cls).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property) or type(member).__name__ == "cached_property":
            get = member.fget if isinstance(member, property) else member.func
            result = str(inspect.signature(get).return_annotation).replace("'", "")
            rows.append(f"- `{name}: {result}`" + (f": {first(get.__doc__)}" if get.__doc__ else ""))
        elif callable(member) or isinstance(member, (classmethod, staticmethod)):
            rows.append(f"- `{signature(getattr(cls, name), '.' + name)}`: " + item(getattr(cls, name).__doc__))
        elif name in said and name not in fields:
            rows.append(f"- `{name}`: {said[name]}")
    rows += [f"- `{name}`: {text}" for name, text in said.items()
             if name not in fields and name not in vars(cls)]
    if rows:
        yield "\n".join(rows)


def said_of(kind):
    """A class by its name, with what is in its brackets."""
    return kind.__name__ if isinstance(kind, type) and not get_args(kind) else str(kind).replace("collections.abc.", "").replace("typing.", "")


def first(doc):
    return " ".join(inspect.cleandoc(doc).split())


def page():
    yield "# Reference of the Python package"
    yield "Made by tools/gen_python_docs.py from the docstrings; [python.md](python.md) is the tutorial."
    for title, names in GROUPS:
        yield f"## {title}"
        for name in names:
            thing = getattr(qrewrite, name)
            if isinstance(thing, type):
                yield from describe_class(thing)
            elif isinstance(thing, UnionType):
                yield f"### {name}\n\nA type, for annotations: `{' | '.join(map(said_of, get_args(thing)))}`."
            else:
                yield f"### {name}()"
                yield f"    {signature(thing, name)}"
                yield body(thing.__doc__, inspect.signature(thing).parameters)


def main():
    listed = {name for _, names in GROUPS for name in names}
    if missing := set(qrewrite.__all__) - listed - CONSTANTS:
        sys.exit(f"gen_python_docs.py: no place for {', '.join(sorted(missing))}")
    text = "\n\n".join(page()) + "\n"
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != text:
            sys.exit(f"{PAGE} is not up to date: run tools/gen_python_docs.py")
    else:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
