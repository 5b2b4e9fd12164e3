#!/usr/bin/env python3
"""Holds the sources to the layers of docs/architecture.md: who may include whom, who may use which
library, who changes a graph, and that no operator of a rule set is spelt in engine code. Exits 1 and lists what is wrong.

  tools/check_layers.py [ROOT]       check a source tree
  tools/check_layers.py --self-test  check that planted violations are found
"""
import re
import sys
import tempfile
from pathlib import Path

# layer: the layers directly below it. What lies below those may be included as well.
BELOW = {
    "base": [],
    "tensor": ["base"],
    "expr": ["tensor"],
    "graph": ["tensor"],
    "fold": ["tensor"],
    "ops": ["graph"],
    "onnx_io": ["graph"],
    "text": ["expr", "ops", "graph"],
    "rule": ["ops", "expr", "fold", "text"],
    "program": ["rule"],
    "match": ["program"],
    "rewrite": ["match"],
    "driver": ["rewrite"],
    "api": ["driver", "onnx_io"],
    "evaluate": ["api"],
    "diff": ["api"],
    "page": ["diff"],
    "debug": ["evaluate", "page"],
    "verify": ["evaluate", "page"],
    "prove": ["verify"],
    "lsp": ["api"],
    "tools": ["debug", "prove", "lsp"],
}

# Headers of a library: the only places that may include them (a folder, or a file).
CONFINED = [
    (re.compile(r"(onnx/|google/protobuf/|.*\.pb\.h$)"),
     "protobuf and onnx", ["engine/onnx_io/", "include/qrewrite/onnx.h"]),
    (re.compile(r"yaml\.h$"), "libyaml", ["engine/rule/yaml_reader.cc"]),
]

# Operators that the engine itself has to know, and why.
ENGINE_OPS = {
    "Constant": "a constant of a file that is spelt as a node",
    "Identity": "makes one value be known by another's name",
    "Gather": "x[i] in an expression",
    "Slice": "x[i:j] in an expression; the onnx library infers version 10 wrongly",
    "If": "the interpreter of whole graphs runs its branches",
    "Loop": "the interpreter of whole graphs runs its body",
    "Scan": "the interpreter of whole graphs runs its body",
    "Concat": "what the turns of a Scan give, one behind the other",
    "Cast": "networks of integers of 8 bits run with floats where types do not count",
}
# Operators that no signature table holds: rule sets bring their own.
FAMILIES = re.compile(r"(QLinear|Requant|iRMSNorm|iLayerNorm|iGELU|iHardswish|iSoftmax)\w*")

# What changes a graph that was read (engine/graph/graph.h), and who may while rules run; readers and
# writers make graphs. The layers above api have clones, and graphs of their own.
CHANGES = re.compile(r"\bgraph_?(?:\(\))?(?:\.|->)(?:(?:Add|Remove|Drop|Erase)(?:Body|Function|Input|Output|Value|Constant|Node|"
                     r"Producer|Attribute)|Set(?:Input|Output|Constant|Declared|Producer|Name|Attribute)|Rename|ReplaceUses|Undo"
                     r"|mutable_body)\(|\bgraph_?\.ir_version = ")
CHANGERS = {"graph", "rewrite", "onnx_io", "text"} | {"evaluate", "diff", "page", "debug", "verify", "prove", "lsp", "tools"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*~?)\(.*?\)\1"|"((?:[^"\\\n]|\\.)*)"', re.S)
SIGNATURE = re.compile(r'^(?:R"~\()?(?:[a-z][\w.]*\.)?([A-Z]\w*) \d+ ', re.M)


def reachable(layer):
    seen, todo = set(), [layer]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += BELOW[one]
    return seen


def layer_of(path):
    """engine/match/plan.h -> match; include/qrewrite/model.h -> public; elsewhere None."""
    parts = path.split("/")
    if parts[0] == "engine" and len(parts) > 2:
        return parts[1]
    if parts[:2] == ["include", "qrewrite"] or parts[0] == "qrewrite":
        return "public"
    return parts[0] if parts[0] in ("tools", "tests") else None


def operators(root):
    """Names of operators: those of the signature tables and those that rule files use."""
    names = set()
    for table in root.glob("engine/ops/*.inc"):
        names.update(SIGNATURE.findall(table.read_text()))
    for rules in root.glob("rules/**/*.yaml"):
        names.update(re.findall(r"\b([A-Z]\w*[a-z]\w{2,})(?=[<(])", rules.read_text()))
    return names - ENGINE_OPS.keys()


def check_include(path, brackets, header):
    layer, target = layer_of(path), layer_of(header)
    if layer == "public":
        if brackets == "<" and re.fullmatch(r"[a-z_]+", header) or header.startswith("qrewrite/"):
            return
        if path == "include/qrewrite/onnx.h" and header.startswith("onnx/"):
            return
        yield f"a public header includes {header}; only the standard library and qrewrite/ may be"
        return
    for pattern, name, places in CONFINED:
        if pattern.match(header) and not any(path == p or path.startswith(p) and p.endswith("/")
                                             for p in places):
            yield f"includes {header}; {name} stay in {', '.join(places)}"
    if brackets == "<" or target == "public":
        return
    if target is None or target == "tests" or (target == "tools" and layer != "tools"):
        yield f"includes {header}, which is no layer below it"
    elif layer in BELOW and target not in reachable(layer):
        yield f"includes {header}; {layer} may use {', '.join(sorted(reachable(layer)))}"


def check_strings(path, text, names):
    if path.startswith("engine/fold/") or not path.startswith("engine/"):
        return
    for match in COMMENT_OR_STRING.finditer(text):
        literal = match.group(2)
        if literal is None:
            continue
        name = literal.rsplit(".", 1)[-1]
        if name in names or FAMILIES.fullmatch(name):
            line = text.count("\n", 0, match.start()) + 1
            yield line, f"spells the operator {literal}; operators are data (engine/ops, rules)"


def check_changes(path, text):
    if layer_of(path) in CHANGERS or not path.startswith("engine/"):
        return
    for match in CHANGES.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, f"changes a graph ({match.group(0)}...); engine/rewrite does that"


def check(root):
    problems = []
    names = operators(root)
    files = sorted(p for top in ("engine", "include", "tools") for kind in ("*.h", "*.cc")
                   for p in root.glob(f"{top}/**/{kind}"))
    if not files:
        problems.append(f"{root}: no sources")
    for file in files:
        path, text = file.relative_to(root).as_posix(), file.read_text()
        layer = layer_of(path)
        if layer != "public" and layer not in BELOW:
            problems.append(f"{path}:1: {layer or 'this folder'} is no layer; add it to {__file__}")
            continue
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(2)) + 1
            for problem in check_include(path, match.group(1), match.group(2)):
                problems.append(f"{path}:{line}: {problem}")
        for line, problem in [*check_strings(path, text, names), *check_changes(path, text)]:
            problems.append(f"{path}:{line}: {problem}")
    return problems


CLEAN = {
    "engine/ops/signatures_onnx.inc": 'R"~(Relu 1 (X:T) -> (Y:T)\nQuantizeLinear 10 (x:T)\n)~"',
    "engine/base/ids.h": "#include <cstdint>\n",
    "engine/match/plan.cc": '#include <re2/re2.h>\n\n#include "engine/base/ids.h"\n'
                            '#include "engine/rule/ast.h"\n#include "qrewrite/status.h"\n'
                            '// "Relu" in a comment\nauto a = "Identity", b = "a Relu";\n',
    "engine/rule/yaml_reader.cc": "#include <yaml.h>\n",
    "engine/onnx_io/reader.cc": "#include <onnx/onnx_pb.h>\n",
    "engine/fold/kernels.cc": 'auto a = "Relu";\n',
    "include/qrewrite/onnx.h": '#include <onnx/onnx_pb.h>\n#include "qrewrite/status.h"\n',
    "engine/rewrite/edit.cc": "graph.SetInput(n, 0, v);",
    "rules/deeploy.yaml": "y = RequantShift<n=1>(x)\ny = MyOp(x)\n",
}
PLANTED = [
    ("engine/base/a.cc", '#include "engine/graph/graph.h"', "base may use"),
    ("engine/match/a.cc", '#include "engine/onnx_io/reader.h"', "match may use"),
    ("engine/expr/a.h", '#include "engine/graph/graph.h"', "expr may use"),
    ("engine/api/a.cc", '#include "tools/cli/main.h"', "no layer below"),
    ("engine/rule/a.cc", "#  include  <yaml.h>", "libyaml stay"),
    ("engine/api/a.cc", "#include <onnx/onnx_pb.h>", "protobuf and onnx stay"),
    ("engine/driver/a.cc", "#include <google/protobuf/message.h>", "protobuf and onnx stay"),
    ("engine/extra/a.cc", "", "is no layer"),
    ("include/qrewrite/a.h", "#include <onnx/onnx_pb.h>", "public header"),
    ("include/qrewrite/a.h", "#include <fmt/format.h>", "public header"),
    ("include/qrewrite/a.h", '#include "engine/base/ids.h"', "public header"),
    ("engine/match/a.cc", 'auto a = "Relu";', "the operator Relu"),
    ("engine/rule/a.h", 'auto a = "com.microsoft.QLinearAdd";', "the operator com.microsoft.QLin"),
    ("engine/driver/a.cc", '// "\nauto a = "QuantizeLinear";', "a.cc:2: spells"),
    ("engine/rewrite/a.cc", 'auto a = "RequantShift";', "the operator RequantShift"),
    ("engine/rewrite/a.cc", 'auto a = "MyOp";', "the operator MyOp"),
    ("engine/driver/a.cc", "\ngraph_.SetAttribute(n, name, value);", "a.cc:2: changes a graph"),
    ("engine/match/a.cc", "graph->RemoveNode(n);", "changes a graph"),
    ("engine/api/a.cc", "impl.file->graph().SetDeclared(v, type);", "changes a graph"),
    ("engine/driver/a.cc", "graph_.ir_version = 8;", "changes a graph"),
]


def self_test():
    failures = 0
    for path, text, wanted in [("", "", None)] + PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (CLEAN | ({path: text} if path else {})).items():
                file = Path(folder, name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content)
            problems = check(Path(folder))
        found = len(problems) == 1 and wanted in problems[0] if wanted else not problems
        if not found:
            failures += 1
            print(f"{path}: {text!r}: wanted {wanted!r}, found {problems}")
    print(f"{len(PLANTED) + 1 - failures} passed, {failures} failed")
    return failures


def main():
    if sys.argv[1:] == ["--self-test"]:
        return 1 if self_test() else 0
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
