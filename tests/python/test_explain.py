"""qrewrite explain: what stopped a rule, with what was expected and what is there; tables, JSON, errors."""
import json
import os
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from cli import PROGRAM, SOURCE

NET = """<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
net (float[1, 3, 8, 8] x, float[4, 3, 3, 3] fed) => (float[1, 4, 6, 6] y, float[1, 4, 6, 6] z, float[1, 4, 6, 6] g, float[1, 4, 6, 6] y2)
<float[4, 3, 3, 3] w, float half = {0.5}, float root = {0.70710677}, float[4] q = {0.25, 0.25, 0.25, 0.25000001}> {
  c = Conv<strides = [1, 1]>(x, w)
  r = Relu(c)
  y = Mul(half, r)
  n = Neg(c)
  m = Mul(n, root)
  z = Relu(m)
  d = Conv<dilations = [1, 1]>(x, fed)
  g = com.microsoft.Gelu(d)
  hn = Neg(half)
  y2 = Mul(d, hn)
}"""

RULES = """qrewrite: 1
name: set
{head}rules:
  - name: one
{rule}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain")
    model = onnx.parser.parse_model(NET.replace(" w,", " w = {" + ", ".join(["1"] * 108) + "},"))
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, path / "net.onnx")
    # `w` is an input with a default.
    model.graph.input.append(onnx.helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4, 3, 3, 3]))
    onnx.save(model, path / "open.onnx")
    return path


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


def rule_file(folder, rule, head=""):
    lines = "\n".join("    " + line for line in rule.strip("\n").split("\n"))
    (folder / "set.yaml").write_text(RULES.format(rule=lines, head=head))


NOT_FIRED = {
    # the order of the operands that got furthest, not the first
    "commutative": ("match: y = Mul(Relu(x), k)\nwhere: k == 2\nreplace: y = x", "n_y",
                    "stops after 2 of 2 operators", "`k == 2` is false: `k` is 0.5 (set.yaml:6:12)"),
    "alternative": ("match: y = Mul(Relu|Sigmoid(Conv(x, w, b)), k)\nreplace: y = x", "n_y",
                    "stops after 3 of 3 operators", "Conv `n_c` lacks an input of the pattern: `b` (set.yaml:5:33)"),
    "digits": ("match: y = Mul(x, 0.7071 ~ 2ulp)\nreplace: y = x", "n_m",
               "constant `root` differs from the literal: it is 0.70710677 (0.70710676908493042), the pattern has "
               "0.7071 ~ 2ulp", "(set.yaml:5:23)"),
    "element": ("match: y = Mul(x, k)\nwhere: k == Sqrt(0.5) + 0.0000001\nreplace: y = x", "n_m",
                "`k` is 0.70710677", "is 0.7071068811865475"),
    "attribute": ("match: y = Conv<strides=[2, 2]>(x, w)\nreplace: y = Conv(x, w)", "n_c",
                  "attribute `strides` of Conv `n_c` differs: it is [1, 1], the pattern has [2, 2]", "(set.yaml:5:29)"),
    "reader": ("match: y = Relu(c)\nwhere: uses(c) == 1\nreplace: y = c", "n_r",
               "`uses(c)` is 2, `c` is read by Relu `n_r`, Neg `n_n`", "(set.yaml:6:12)"),
    "output": ("match: y = Relu(c)\nwhere: not is_output(y)\nreplace: y = c", "n_z",
               "`z` is read by the caller (it is a graph output)", "(set.yaml:6:12)"),
    "constant": ("match: y = Conv(x, w)\nwhere: const(w)\nreplace: y = x", "n_d",
                 "`const(w)` is false: `fed` is an input, not a constant", "w = `fed`"),
    "computed": ("match: y = Relu(c)\nwhere: const(c)\nreplace: y = c", "n_z",
                 "`m` is computed by Mul, it is no constant: it rests on `x`, an input", ""),
    "domain": ("match: y = Gelu(x)\nopset: '>=20'\nreplace: y = x", "n_g",
               "it is for ai.onnx opset >=20, the model imports 17", "is not tried"),
    "other domain": ("match: y = com.acme.Gelu(x)\nreplace: y = x", "n_g",
                     "the operator is com.microsoft.Gelu `n_g` of domain com.microsoft, the pattern has Gelu of com.acme", ""),
    "rejected": ("match: y = Neg(Conv(x, w, _?))\nreplace: y = x", "n_n",
                 "matches, but its replacement is rejected",
                 "the shape of `n` would change from [1, 4, 6, 6] to [1, 3, 8, 8] (set.yaml:6:14)"),
    "bound twice": ("match: y = Conv(x, x)\nreplace: y = x", "n_c", "`x` is something else: `x`, and `w` = [1, 1", ""),
    "cases": ("match: y = Relu(c)\ncases:\n  - when rank(c) == 2 => y = Abs(c)\n  - when dtype(c) == INT8 => y = Neg(c)", "n_r",
              "matches, but its replacement is rejected",
              "no case applies: `rank(c) == 2` is false: `rank(c)` is 4; `dtype(c) == INT8` is false: `dtype(c)` is FLOAT"),
    "cases in a case": ("match: y = Relu(c)\ncases:\n  - when: rank(c) == 4\n    cases:\n      - when dtype(c) == INT8 => y = Neg(c)", "n_r",
                        "no case applies: `dtype(c) == INT8` is false", ""),
    "names in words": ("match: y = Neg(k:Conv<**a>(x, w))\nwhere: rank(x) == 7\nreplace: y = x", "n_n",
                       "k = Conv `n_c`", "a = <strides=[1, 1]>"),
    "a chain": ("match: y = Relu(Mul(s:Neg+(c), k))\nwhere: k == 7\nreplace: y = s(c -> Relu(c))", "n_z",
                "s = [Neg `n_n`]", ""),
    "nothing": ("match: y = Sigmoid(x)\nreplace: y = x", "n_c", "the operator is Conv `n_c`, the pattern has Sigmoid", ""),
}


@pytest.mark.parametrize("name", NOT_FIRED)
def test_what_stopped_it(name, folder):
    rule, at, *expected = NOT_FIRED[name]
    rule_file(folder, rule)
    code, out, err = run(folder, "explain", "net.onnx", "--rules", "set.yaml", "--rule", "one", "--at", at)
    assert code == 0 and not err
    for text in expected:
        assert text in out


def test_facts_are_followed_inward(folder):
    rule_file(folder, "match: y = Relu(x)\nwhere: $positive(y) and $scaled(x)\nreplace: y = x", head="""define:
  positive(v):
    - v = Relu(p) => true
  scaled(v):
    - v = Mul(p, k) => $scaled(p)
    - v = Neg(p) => $scaled(p)
    - v = Conv(p, w, _?) when max(w) == 2 => true
""")
    code, out, _ = run(folder, "explain", "net.onnx", "--rules", "set.yaml", "--at", "z")
    assert code == 0
    wanted = ["`$scaled(x)` of `m` (Mul `n_m`)", "the case that applies gives `$scaled(p)` (set.yaml:7:24)",
              "`$scaled(p)` of `n` (Neg `n_n`)", "`$scaled(p)` of `c` (Conv `n_c`)",
              "the nearest case: `max(w) == 2` is false: `max(w)` is 1 (set.yaml:9:31)"]
    places = [out.find(text) for text in wanted]
    assert -1 not in places and places == sorted(places), out


@pytest.mark.parametrize("options,reason", [
    (["--keep-op", "Relu"], "Relu `n_r`, which is kept"),
    (["--skip-rule", "one"], "it is skipped (--skip-rule)"),
])
def test_opt_outs(options, reason, folder):
    rule_file(folder, "match: y = Relu(x)\nreplace: y = Sigmoid(x)")
    code, out, _ = run(folder, "explain", "net.onnx", "--rules", "set.yaml", "--rule", "one", "--at", "n_r", *options)
    assert code == 0 and reason in out


def test_what_callers_may_override(folder):
    rule_file(folder, "match: y = Conv(x, w)\nwhere: const(w)\nreplace: y = x")
    out = run(folder, "explain", "open.onnx", "--rules", "set.yaml", "--at", "n_c")[1]
    assert "`const(w)` is false: `w` can be overridden by the caller" in out
    out = run(folder, "explain", "open.onnx", "--rules", "set.yaml", "--at", "w")[1]
    assert out.startswith("constant `w`, which the caller can override\n") and "`w` can be overridden" in out


def test_what_is_never_folded(folder):
    rule_file(folder, "match: y = Mul(x, k)\nwhere: const(k)\nreplace: y = x", head="constants: {keep: [Neg]}\n")
    out = run(folder, "explain", "net.onnx", "--rules", "set.yaml", "--at", "n_y2")[1]
    assert "`hn` is computed by Neg, it is no constant (which `constants: keep` leaves alone)" in out


TWO = """qrewrite: 1
name: two
params: {go: {default: false, doc: x}}
phases:
  - {name: first, rules: [swallow]}
  - {name: never, rules: [late], when: params.go}
rules:
  - {name: swallow, match: "y = Mul(k, Relu(Conv(x, w)))", replace: "y = Conv(x, w)"}
  - {name: late, match: y = Relu(x), replace: y = Sigmoid(x)}
"""


def test_a_node_that_is_gone(folder):
    (folder / "two.yaml").write_text(TWO)
    code, out, _ = run(folder, "explain", "net.onnx", "--rules", "two.yaml", "--at", "n_r")
    assert code == 0
    assert "it is gone: rule `swallow` took it (rewrite 1)" in out
    assert "    y = Mul(half, r)\n" in out
    assert "  after\n" in out and "y = Conv(x, w)" in out
    out = run(folder, "explain", "net.onnx", "--rules", "two.yaml", "--rule", "late", "--at", "n_r")[1]
    assert "two/late (two.yaml:9:12) is not tried" in out and "phase `never` is left out by its `when`" in out


def test_another_rule_was_first(folder):
    (folder / "race.yaml").write_text(TWO.replace("params.go", "true").replace("first, rules: [swallow]", "first, rules: [swallow, late]"))
    out = run(folder, "explain", "net.onnx", "--rules", "race.yaml", "--at", "n_r")[1]
    assert "rule `late` took it" in out or "rule `swallow` took it" in out
    assert "as the graph was before phase `first`" in out


def test_table(folder):
    (folder / "two.yaml").write_text(TWO)
    assert run(folder, "explain", "net.onnx", "--rules", "two.yaml") == (0, """fired  tried  rule
    1      2  two/swallow (two.yaml:8:12)
               2 x `Relu(Conv(x, w))` (two.yaml:8:40), Mul `n_m`: `n` comes from Neg `n_n`, the pattern has Relu
    0      0  two/late (two.yaml:9:12)
               phase `never` is left out by its `when`
1 rewrite
""", "")


def test_json(folder):
    (folder / "two.yaml").write_text(TWO)
    table = json.loads(run(folder, "explain", "net.onnx", "--rules", "two.yaml", "--json")[1])
    assert [(r["rule"], r["fired"], r["tried"]) for r in table["rules"]] == [("swallow", 1, 2), ("late", 0, 0)]
    stop = table["rules"][0]["stops"][0]
    assert (stop["count"], stop["node"], stop["matched"], stop["operators"]) == (2, "Mul `n_m`", 1, 3)
    assert stop["place"] == {"file": "two.yaml", "line": 8, "column": 40}
    node = json.loads(run(folder, "explain", "net.onnx", "--rules", "two.yaml", "--at", "n_m", "--json")[1])
    assert node["attempts"][0]["outcome"] == "stopped" and node["attempts"][0]["lines"][0]["stopped"]
    assert node["attempts"][0]["lines"][0]["nodes"] == ["m = Mul(n, root)"]
    gone = json.loads(run(folder, "explain", "net.onnx", "--rules", "two.yaml", "--at", "n_r", "--json")[1])
    assert [(f["number"], f["role"]) for f in gone["firings"]] == [(1, "took")]


def test_errors(folder):
    (folder / "two.yaml").write_text(TWO)
    for args, text in [(["--at", "n_rr"], "no node and no value is named `n_rr`; did you mean `n_r`?"),
                       (["--rule", "lat"], "has no rule `lat`; did you mean `late`?")]:
        code, out, err = run(folder, "explain", "net.onnx", "--rules", "two.yaml", *args)
        assert code == 2 and not out and text in err


def test_nothing_fired(folder):
    rule_file(folder, "match: y = Relu(c)\nwhere: uses(c) == 3\nreplace: y = c")
    code, out, _ = run(folder, "--rules", "set.yaml", "net.onnx", "--check")
    assert (code, out) == (0, "0 rewrites, nothing changed\nrule `one` came nearest, at Relu `n_r`: `uses(c) == 3` is false: "
                              "`uses(c)` is 2, `c` is read by Relu `n_r`, Neg `n_n` (set.yaml:6:12)\n")
    assert "came nearest" in json.loads(run(folder, "--rules", "set.yaml", "net.onnx", "--check", "--json")[1])["nearest"]
    assert run(folder, "--rules", "set.yaml", "net.onnx", "--check", "-q")[1] == ""


def test_the_model_stays(folder):
    (folder / "two.yaml").write_text(TWO)
    before = (folder / "net.onnx").read_bytes()
    run(folder, "explain", "net.onnx", "--rules", "two.yaml")
    assert (folder / "net.onnx").read_bytes() == before


def test_a_model_of_ten_thousand_nodes(tmp_path):
    """The table, and one node, in seconds."""
    nodes = [onnx.helper.make_node("Add" if i % 2 else "Relu", [f"v{i}"] + (["k"] if i % 2 else []), [f"v{i + 1}"], f"n{i}")
             for i in range(10000)]
    graph = onnx.helper.make_graph(nodes, "g", [onnx.helper.make_tensor_value_info("v0", 1, [4])],
                                   [onnx.helper.make_tensor_value_info("v10000", 1, [4])],
                                   [numpy_helper.from_array(np.ones(4, np.float32), "k")])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), tmp_path / "net.onnx")
    rule_file(tmp_path, "match: y = Add(Relu(Add(x, a)), b)\nwhere: a == 2\nreplace: y = x")
    code, out, _ = run(tmp_path, "explain", "net.onnx", "--rules", "set.yaml")
    assert code == 0 and "4999 x `a == 2`" in out
    assert "`a == 2` is false" in run(tmp_path, "explain", "net.onnx", "--rules", "set.yaml", "--at", "n5001")[1]


@pytest.mark.parametrize("rules", ["ezkl_dequant", "aidge_export_qop", "deeploy", "opset_upgrade", "qdq_to_qop", "optimize"])
def test_shipped_rule_sets(rules, folder):
    """Rule sets that use others, refuse and warn; every node of a quantized model."""
    model = str(SOURCE / "fixtures" / "models" / "qdq_cnn.onnx")
    code, out, err = run(folder, "explain", model, "--rules", rules)
    assert (code, err) == (0, "") and out.startswith("fired  tried  rule\n")
    for node in onnx.load(model).graph.node[::3]:
        code, out, err = run(folder, "explain", model, "--rules", rules, "--at", node.output[0])
        assert (code, err) == (0, "") and node.output[0] in out


def test_values_that_name_others_twice(folder):
    """Each `let` names the one before it twice: what a condition rests on is not walked 2^40 times."""
    lets = "\n".join(f"  a{i}: a{i - 1} + a{i - 1}" for i in range(1, 41))
    rule_file(folder, f"match: y = Relu(x)\nlet:\n  a0: rank(x)\n{lets}\nwhere: a40 == 1\nreplace: y = Abs(x)")
    code, out, err = run(folder, "explain", "net.onnx", "--rules", "./set.yaml", "--at", "n_r")
    assert (code, err) == (0, "")
    assert "`a40` is" in out
