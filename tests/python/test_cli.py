"""The command: what it prints and how it exits.

Outputs are compared with tests/golden/cli/*.txt; QREWRITE_UPDATE_GOLDEN=1 writes them anew.
"""
import json
import re
import subprocess
from pathlib import Path

import onnx
import pytest

from cli import GOLDEN, PROGRAM, SOURCE, folder, golden, listing, ops, run, save  # noqa: F401


# --- help and usage


@pytest.mark.parametrize("command", ["", "show", "find", "explain", "new", "test", "lint", "rules", "debug", "verify", "diff", "lsp", "schema", "completion", "man", "version"])
def test_help(command):
    out, err = run(*command.split(), "--help")
    assert err == ""
    golden(f"help_{command or 'rewrite'}.txt", out)


@pytest.mark.parametrize("args, message", [
    ([], "qrewrite --rules RULES"),
    (["--rulse", "tidy", "chain.onnx"], "unknown option `--rulse`; did you mean `--rules`?"),
    (["chain.onnx"], "--rules is needed"),
    (["tset"], "did you mean `test`?"),
    (["rewrite", "chain.onnx"], "there is no command `rewrite`: `qrewrite --rules RULES MODEL` rewrites"),
    (["--rules", "tidy"], "a model is needed"),
    (["--rules", "tidy", "chain.onnx", "plain.onnx"], "unexpected argument `plain.onnx`"),
    (["--rules", "tidy", "chain.onnx", "-o", ""], "--output: the name of a file is empty"),
    (["--rules", "tidy", "chain.onnx", "--html", ""], "--html: the name of a file is empty"),
    (["--rules", "tidy", "--", "chain.onnx", "--check"], "unexpected argument `--check`"),
    (["--rules", "tidy", "--", "chain.onnx", "--"], "unexpected argument `--`"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode"], "--set takes NAME=VALUE in one word, not `mode`"),
    (["--rules", "tidy", "--set", "mode", "auto", "chain.onnx"], "NAME=VALUE in one word: `--set mode=...`"),
    (["--rules", "tidy", "chain.onnx", "--set", "mdoe=never"],
     "`tidy` has no parameter `mdoe`; did you mean `mode`?"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode=x"], "`x` is none of auto, never"),
    (["--rules", "tidy", "chain.onnx", "--set", "mode=auto", "--set", "mode=never"], "given twice"),
    (["--rules", "tidy", "chain.onnx", "-o", "a", "--in-place"], "exclude each other"),
    (["--rules", "tidy", "chain.onnx", "-o", "a", "--check"], "--check writes no model"),
    (["--rules", "tidy", "chain.onnx", "--strict", "--allow-partial"], "exclude each other"),
    (["--rules", "tidy", "chain.onnx", "--max-rewrites", "-1"], "`-1` is no count"),
    (["--rules", "tidy", "chain.onnx", "--max-rewrites", "0"], "`0` leaves nothing"),
    (["--rules", "tidy", "chain.onnx", "--stop-after", "some"], "`some` is no count"),
    (["--rules", "tidy", "chain.onnx", "--html", "-"], "--html: `-` is no file here"),
    (["--rules", "tidy", "chain.onnx", "--trace", "-"], "--trace: `-` is no file here"),
    (["diff", "chain.onnx", "chain.onnx", "--html", "-"], "--html: `-` is no file here"),
    (["test", "tidy.yaml", "--junit", "-"], "--junit: `-` is no file here"),
    (["debug", "--float", "chain.onnx", "--quant", "chain.onnx", "--html", "-"], "--html: `-` is no file here"),
    (["show"], "a model is needed"),
    (["show", "chain.onnx", "--typse"], "did you mean `--types`?"),
    (["show", "chain.onnx", "--node", "("], "is no regular expression"),
    (["show", "chain.onnx", "--around", "zz"], "`zz`"),
    (["test"], "a rule file is needed"),
    (["lint"], "a rule file is needed"),
])
def test_usage_errors(args, message):
    before = listing()
    out, err = run(*args, code=2)
    assert out == ""
    assert message in err
    assert listing() == before


def test_a_model_whose_name_begins_like_an_option():
    Path("chain.onnx").rename("-chain.onnx")
    run("--rules", "tidy", "-o", "out.onnx", "--", "-chain.onnx")
    assert ops("out.onnx") == ["Relu", "Sigmoid", "Identity"]


@pytest.mark.parametrize("content, what", [
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n", "a Git LFS pointer, not the file itself; `git lfs pull`"),
    (b"PK\x03\x04aaaaaaaaaaaaa", "a ZIP archive, as PyTorch writes it; export"),
    (b"\x1c\0\0\0TFL3aaaaaaa", "a TensorFlow Lite model; convert"),
    (b"qrewrite: 1\nname: a\n", "a rule file; rule files stand behind `--rules`"),
])
def test_a_model_that_is_something_else(content, what):
    Path("other").write_bytes(content)
    _, err = run("--rules", "tidy", "other", code=5)
    assert f"other: error: the file is no ONNX model, it is {what}" in err


def test_a_model_where_rules_are_expected():
    for code, *args in [(4, "--rules", "./chain.onnx", "chain.onnx"), (1, "lint", "chain.onnx")]:
        _, err = run(*args, code=code)
        assert "this is an ONNX model, no rule file" in err


# --- rewriting


def test_rewrites_beside_the_input():
    before = Path("chain.onnx").read_bytes()
    out, err = run("--rules", "tidy", "chain.onnx")
    assert err == ""
    golden("report.txt", out)
    assert ops("chain.tidy.onnx") == ["Relu", "Sigmoid", "Identity"]
    onnx.checker.check_model("chain.tidy.onnx", full_check=True)
    assert Path("chain.onnx").read_bytes() == before


def test_unchanged_model_is_a_copy():
    out, _ = run("--rules", GOLDEN / "tidy.yaml", "plain.onnx", "-o", "out.onnx")
    assert out == ("0 rewrites, nothing changed; wrote out.onnx\n"
                   "rule `double-relu` came nearest, at Relu `n_y`: `x` is an input (tidy.yaml:13:21)\n")
    assert Path("out.onnx").read_bytes() == Path("plain.onnx").read_bytes()
    run("--rules", "tidy", "chain.onnx", "-o", "once.onnx")
    out, _ = run("--rules", "tidy", "once.onnx", "-o", "twice.onnx")
    assert out.startswith("0 rewrites")
    assert Path("once.onnx").read_bytes() == Path("twice.onnx").read_bytes()


def test_check():
    before = listing()
    out, _ = run("--rules", "tidy", "chain.onnx", "--check", code=1)
    assert out.endswith("; would change\n")
    out, _ = run("--rules", "tidy", "plain.onnx", "--check")
    assert out.startswith("0 rewrites, nothing changed\nrule `double-relu` came nearest")
    assert listing() == before


def test_several_rule_sets_in_order():
    out, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "mode=auto")
    golden("report_two_sets.txt", err + out)
    assert ops("chain.tidy.net.onnx") == ["Relu", "Sigmoid", "Identity"]
    # A parameter that one of them declares goes to that one.
    out, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "active=false")
    assert err == ""
    _, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--set", "no=1", code=2)
    assert "`tidy`, `net` have no parameter `no`" in err


def test_quiet():
    out, err = run("--rules", "net", "chain.onnx", "--quiet")
    assert out == ""
    assert err == "warning: Sigmoid `n_d`: Sigmoid is slow (rule `slow`)\n"


def test_json():
    out, _ = run("--rules", "tidy", "--json", "chain.onnx")
    report = json.loads(out)
    assert report["input"] == "chain.onnx"
    assert report["output"] == "chain.tidy.onnx"
    assert report["changed"] is True
    assert report["counts"] == {"relus": 2}
    assert report["nodes"] == {"before": 5, "after": 3}
    assert report["rules"] == [
        {"set": "tidy", "rule": "double-relu", "count": 2, "counters": {"relus": 2}}]
    assert sorted(report) == ["bytes", "changed", "counts", "edits", "files", "folded", "input",
                              "kept", "nodes", "output", "qrewrite", "removed", "rewrites",
                              "rules", "sets", "warnings"]
    out, _ = run("--rules", "net", "--json=report.json", "chain.onnx", "-o", "o.onnx")
    assert out.startswith("0 rewrites, 1 warning")
    report = json.loads(Path("report.json").read_text())
    assert report["warnings"] == [{"set": "net", "rule": "slow", "text": "Sigmoid is slow",
                                   "op": "Sigmoid", "node": "n_d", "output": "d",
                                   "notes": []}]
    out, _ = run("--rules", "tidy", "--json", "chain.onnx", "--check", code=1)
    assert "output" not in json.loads(out)


def test_stop_after():
    out, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "-o", "o.onnx", "--stop-after", "1")
    assert err == ""
    golden("report_stopped.txt", out)
    assert ops("o.onnx") == ["Relu", "Relu", "Sigmoid", "Identity"]
    onnx.checker.check_model("o.onnx", full_check=True)
    out, _ = run("--rules", "tidy", "chain.onnx", "-o", "none.onnx", "--stop-after", "0", "--json")
    report = json.loads(out)
    assert report["stopped"] is True and report["changed"] is False
    assert Path("none.onnx").read_bytes() == Path("chain.onnx").read_bytes()
    # As many as there are: the run comes to its own end.
    out, _ = run("--rules", "tidy", "chain.onnx", "-o", "two.onnx", "--stop-after", "2")
    whole, _ = run("--rules", "tidy", "chain.onnx", "-o", "two.onnx")
    assert out == whole


def test_errors_as_json():
    out, err = run("--rules", "net", "--json", "neg.onnx", code=3)
    assert json.loads(out) == {
        "qrewrite": json.loads(out)["qrewrite"], "input": "neg.onnx", "error": "refused",
        "exit_code": 3,
        "errors": [{"message": "Neg `n_y`: Neg is not wanted (rule `unwanted`)"}]}
    assert err.startswith("error: Neg `n_y`")
    out, _ = run("--rules", "broken", "--json", "chain.onnx", code=4)
    report = json.loads(out)
    assert report["error"] == "invalid_rules"
    assert report["errors"][0]["file"].endswith("broken.yaml")
    assert report["errors"][0]["line"] > 0
    run("--rules", "net", "--json=report.json", "neg.onnx", code=3)
    assert not Path("report.json").exists()


def test_opt_outs():
    run("--rules", "tidy", "chain.onnx", "-o", "o.onnx", "--skip-rule", "double-relu")
    assert ops("o.onnx") == ops("chain.onnx")
    out, _ = run("--rules", "tidy", "chain.onnx", "-o", "o.onnx", "--keep-node", "n_b$")
    assert ops("o.onnx") == ops("chain.onnx")
    assert out == ("0 rewrites, 1 node kept, nothing changed; wrote o.onnx\n"
                   "rule `double-relu` came nearest, at Relu `n_c`: `b` comes from Relu `n_b`, which is kept (tidy.yaml:13:21)\n")
    out, err = run("--rules", "net", "neg.onnx", "-o", "o.onnx", "--keep-op", "N*", "--keep-op", "Q")
    assert err == "warning: no node is a `Q`, which was to be kept\n"
    # Of several rule sets one must have the rule.
    run("--rules", "tidy", "--rules", "net", "chain.onnx", "-o", "o.onnx", "--skip-rule", "slow")
    _, err = run("--rules", "tidy", "--rules", "net", "chain.onnx", "--skip-rule", "slw", code=2)
    assert err == "error: `tidy`, `net` have no rule `slw`; did you mean `slow`?\n"


def test_sizes_of_inputs():
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[N, 3, H] x) => (float[N, 3, H] y) '
                                    '{ s = Shape(x)  f = Cast<to = 1>(s)  r = ReduceSum<keepdims = 0>(f)  y = Mul(x, r) }')
    onnx.save(model, "open.onnx")
    run("--rules", "tidy", "open.onnx", "-o", "o.onnx", "--shape", "x=2x3x4")
    fixed = onnx.load("o.onnx")
    assert [[d.dim_value for d in v.type.tensor_type.shape.dim] for v in (fixed.graph.input[0], fixed.graph.output[0])] == [[2, 3, 4], [2, 3, 4]]
    # Rules see the sizes; --verify runs both models with them.
    _, err = run("--rules", "optimize", "open.onnx", "-o", "o.onnx", "--shape", "x=2x3x4", "--verify")
    assert "EXACT" in err and ops("o.onnx") == ["Mul"]
    run("--rules", "tidy", "open.onnx", "--shape", "x=2x3x4", "--check", code=1)
    out, _ = run("--rules", "tidy", "o.onnx", "--shape", "x=2x3x4", "--check")
    assert "nothing changed" in out
    for wrong, message in (("x=2x3", "rank 3, but 2 sizes are given"), ("x=2x4x4", "size 1 of input `x` is 3, not 4"),
                           ("z=2", "the model has no input `z`"), ("x=2xa", "NAME=2x3x4 is expected")):
        _, err = run("--rules", "tidy", "open.onnx", "-o", "no.onnx", "--shape", wrong, code=2)
        assert message in err and not Path("no.onnx").exists()


# --- errors


def test_refused_by_a_rule():
    before = listing()
    out, err = run("--rules", "net", "neg.onnx", code=3)
    assert out == ""
    assert err.startswith("error: Neg `n_y`: Neg is not wanted (rule `unwanted`)\n")
    assert listing() == before
    out, err = run("--rules", "net", "neg.onnx", "--allow-partial")
    assert err == "warning: Neg `n_y`: Neg is not wanted (rule `unwanted`)\n"
    assert out == "0 rewrites, 1 warning, nothing changed; wrote neg.net.onnx\n"


def test_strict():
    before = listing()
    _, err = run("--rules", "net", "chain.onnx", "--strict", code=3)
    assert err == "error: Sigmoid `n_d`: Sigmoid is slow (rule `slow`)\n"
    assert listing() == before


def test_bad_rule_file():
    _, err = run("--rules", "broken", "chain.onnx", code=4)
    golden("broken_rules.txt", err)


def test_bad_model():
    Path("empty.onnx").write_bytes(b"")
    Path("text.onnx").write_text("hello, world\n")
    for model in ["empty.onnx", "text.onnx"]:
        for args in [["--rules", "tidy", model], ["show", model]]:
            out, err = run(*args, code=5)
            assert out == ""
            assert model in err


def test_limits():
    before = listing()
    _, err = run("--rules", "loop", "neg.onnx", code=7)
    assert "`there`" in err and "`back`" in err
    assert listing() == before


def test_names_of_a_model_are_printed_without_control_characters():
    model = onnx.load("neg.onnx")
    for node in model.graph.node:
        node.name = "\x1b[31m\r\n" + node.name
    onnx.save(model, "hostile.onnx")
    for args in [["--rules", "net", "hostile.onnx"], ["--rules", "net", "--json", "hostile.onnx"],
                 ["--rules", "net", "hostile.onnx", "--allow-partial", "--json"],
                 ["show", "hostile.onnx", "--names"]]:
        done = subprocess.run([PROGRAM, *args], capture_output=True)
        assert done.returncode in (0, 3)
        assert not set(done.stdout + done.stderr) & (set(range(32)) - {10} | {127})


def test_nodes_that_are_copied_keep_their_names_where_these_are_free():
    def branch(op, value):
        node = onnx.helper.make_node(op, ["x"], [value], name="inner")
        return onnx.helper.make_graph([node], op, [], [onnx.helper.make_tensor_value_info(value, 1, [2])])
    taken = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch("Relu", "a"), else_branch=branch("Neg", "b"))
    graph = onnx.helper.make_graph([taken], "g", [onnx.helper.make_tensor_value_info("c", 9, []), onnx.helper.make_tensor_value_info("x", 1, [2])],
                                   [onnx.helper.make_tensor_value_info("y", 1, [2])])
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), "branches.onnx")
    run("--rules", "ezkl_finish", "--set", "branches=both", "branches.onnx", "-o", "both.onnx")
    names = [node.name for node in onnx.load("both.onnx").graph.node]
    assert "inner" in names and len(set(names)) == len(names)


def test_texts_of_rule_files_are_printed_without_control_characters():
    text = (GOLDEN / "net.yaml").read_text()
    Path("evil.yaml").write_text(text.replace("is not wanted", r"\e[31mis not wanted"))
    _, err = run("--rules", "evil.yaml", "neg.onnx", code=3)
    assert r"Neg \x1b[31mis not wanted" in err


# --- other commands


def test_show():
    golden("show.txt", run("show", "chain.onnx")[0])
    golden("show_stats.txt", run("show", "chain.onnx", "--stats")[0])
    out, _ = run("show", "chain.onnx", "--node", "^n_[bc]$")
    assert out == "b = Relu(a)\nc = Relu(b)\n"
    out, _ = run("show", "chain.onnx", "--around", "n_d", "--distance", "1")
    assert out == "c = Relu(b)\nd = Sigmoid(c)\ny = Identity(d)\n"


def test_rule_tests():
    out, _ = run("test", "tidy")
    assert out == "2 passed, 0 failed\n"
    out, _ = run("test", "-v", "tidy", "failing", code=1)
    golden("test_failures.txt", out)
    out, err = run("test", "tidy", "broken", code=4)
    assert out == "2 passed, 0 failed; 1 rule file not loaded\n"
    assert "mtach" in err


def test_lint():
    out, err = run("lint", "tidy", "net")
    golden("lint.txt", err + out)
    run("lint", "net", "--strict", code=1)
    out, err = run("lint", "broken", "tidy", code=1)
    assert "mtach" in err


def test_rules():
    out, err = run("rules", "tidy", "net")
    golden("rules_described.txt", out)
    Path("params.yaml").write_text("qrewrite: 1\nname: params\nparams:\n  names: {type: strings, default: []}\n  file: {type: path}\nrules: []\n")
    assert "  names: strings, default empty\n  file: path, not set\n" in run("rules", "./params.yaml")[0]
    out, err = run("rules", code=4)  # `broken` is among them
    assert re.search(r"^tidy +Relu twice is Relu once\.$", out, re.M)
    assert "mtach" in err


def test_schema_and_version():
    schema = json.loads(run("schema")[0])
    assert "rules" in schema["properties"]
    out, _ = run("version")
    project = (SOURCE / "CMakeLists.txt").read_text()
    assert f"project(qrewrite VERSION {out.split()[1]} " in project


@pytest.mark.parametrize("text, size", [("64MB", 64_000_000), ("64MiB", 64 << 20), ("1 kB", 1000), ("123", 123), ("0B", 0)])
def test_sizes_in_a_file_and_in_an_option_are_read_alike(text, size):
    rules = """qrewrite: 1
name: sizes
params: {{big: {{type: bytes, default: {}, doc: a size}}}}
rules:
  - {{name: r, match: y = Relu(Relu(x)), where: params.big == {}, replace: y = Abs(x)}}
"""
    Path("file.yaml").write_text(rules.format(text, size))
    Path("option.yaml").write_text(rules.format(7, size))
    for args in [["--rules", "./file.yaml"], ["--rules", "./option.yaml", "--set", f"big={text}"]]:
        run(*args, "chain.onnx", "--check", code=1)


@pytest.mark.parametrize("command", ["find bad.onnx -e y=Relu(x)", "explain bad.onnx --rules optimize", "verify bad.onnx bad.onnx", "debug bad.onnx bad.onnx",
                                     "diff bad.onnx bad.onnx", "verify bad.onnx bad.onnx --report json", "--rules optimize bad.onnx --check"])
def test_an_error_is_data_too(command):
    Path("bad.onnx").write_bytes(b"x")
    out, err = run(*command.split(), *([] if "json" in command else ["--json"]), code=5)
    told = json.loads(out)
    assert (told["error"], told["exit_code"], told["input"]) == ("invalid_model", 5, "bad.onnx")
    assert told["errors"][0]["message"] in err
