"""What a rewrite says of itself: --trace, --profile, --bisect, --require-hits, expect_hits."""
import json
import os
import subprocess

import onnx
import onnx.parser
import pytest

from cli import PROGRAM, SOURCE

RULES = """qrewrite: 1
name: set
rules:
  - name: relu
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
  - name: neg
    match: y = Neg(Neg(x))
    replace: y = x
  - name: wrong
    match: y = Sigmoid(x)
    replace: y = Tanh(x)
  - {name: told, match: y = Abs(x), warn: it is slow}
  - name: never
    match: y = Tanh(x)
    where:
      - rank(x) == 2
    replace: y = x
"""


@pytest.fixture
def folder(tmp_path):
    body = "a0 = Relu(x) a1 = Relu(a0) a2 = Neg(a1) a3 = Neg(a2) a4 = Sigmoid(a3) a5 = Relu(a4) a6 = Relu(a5) y = Relu(a6)"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) {' + body + "}")
    for node in model.graph.node:
        node.name = "n_" + node.output[0]
    onnx.save(model, tmp_path / "net.onnx")
    many = "".join(f"b{i} = Abs(x) " for i in range(20)) + "y = Sum(" + ", ".join(f"b{i}" for i in range(20)) + ")"
    onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) {' + many + "}"), tmp_path / "many.onnx")
    (tmp_path / "set.yaml").write_text(RULES)
    return tmp_path


def run(folder, *args):
    environment = {**os.environ, "NO_COLOR": "1", "QREWRITE_RULES_DIR": str(SOURCE / "rules")}
    done = subprocess.run([PROGRAM, *args], cwd=folder, capture_output=True, text=True, timeout=60, env=environment)
    return done.returncode, done.stdout, done.stderr


def test_trace(folder):
    code, _, err = run(folder, "--rules", "set.yaml", "net.onnx", "--trace", "trace.jsonl")
    assert (code, err) == (0, "")
    lines = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert sorted(line["rule"] for line in lines) == ["neg", "relu", "relu", "relu", "wrong"]
    wrong = next(line for line in lines if line["rule"] == "wrong")
    assert wrong["matched"] == [{"op": "Sigmoid", "name": "n_a4", "inputs": [wrong["matched"][0]["inputs"][0]], "outputs": ["a4"]}]
    assert wrong["created"][0]["op"] == "Tanh" and "Sigmoid(" in wrong["before"] and "Tanh(" in wrong["after"]
    assert (wrong["set"], wrong["phase"], wrong["file"], wrong["line"]) == ("set", "rules", "set.yaml", 10)


def test_trace_of_a_run_that_fails(folder):
    (folder / "loop.yaml").write_text("qrewrite: 1\nname: loop\nrules:\n  - {name: a, match: y = Neg(x), replace: y = Sin(x)}\n"
                                      "  - {name: b, match: y = Sin(x), replace: y = Neg(x)}\n")
    code, _, err = run(folder, "--rules", "loop.yaml", "net.onnx", "--trace", "trace.jsonl", "--max-rewrites", "10")
    assert code == 7 and "does not come to an end" in err
    assert len((folder / "trace.jsonl").read_text().splitlines()) >= 10


@pytest.mark.parametrize("path, message", [("net.onnx", "--trace `net.onnx` is the model itself"), ("no/such/t", "cannot be written")])
def test_where_the_trace_cannot_go(folder, path, message):
    before = (folder / "net.onnx").read_bytes()
    code, _, err = run(folder, "--rules", "set.yaml", "net.onnx", "--trace", path)
    assert code in (2, 6) and message in err
    assert (folder / "net.onnx").read_bytes() == before


def test_profile(folder):
    code, out, _ = run(folder, "--rules", "set.yaml", "net.onnx", "--check", "--profile")
    assert code == 1 and "set/relu" in out and "  set/rules\n" in out
    report = json.loads(run(folder, "--rules", "set.yaml", "net.onnx", "--check", "--profile", "--json")[1])
    rules = {rule["rule"]: rule for rule in report["profile"]["rules"]}
    assert (rules["relu"]["fired"], rules["wrong"]["fired"], rules["neg"]["fired"]) == (3, 1, 1)
    assert rules["relu"]["tried"] >= 3 and rules["relu"]["seconds"] > 0
    [stop] = rules["never"]["stops"]
    assert (stop["text"], stop["line"], stop["count"]) == ("rank(x) == 2", 17, rules["never"]["tried"]) and stop["count"] > 0
    assert "profile" not in json.loads(run(folder, "--rules", "set.yaml", "net.onnx", "--check", "--json")[1])


def test_profile_of_a_run_that_fails(folder):
    (folder / "stop.yaml").write_text(RULES.replace("name: set", "name: stop").replace("match: y = Abs(x), warn:", "match: y = Tanh(x), refuse:"))
    code, out, err = run(folder, "--rules", "stop.yaml", "net.onnx", "--check", "--profile")
    assert (code, out) == (3, "") and "it is slow" in err
    assert "stop/relu" in err and "rank(x) == 2" in err  # what was slow, and what stopped the others
    assert "stop/relu" not in run(folder, "--rules", "stop.yaml", "net.onnx", "--check")[2]


def test_trace_has_what_names_stood_for(folder):
    (folder / "names.yaml").write_text("""qrewrite: 1
name: names
rules:
  - name: turn
    match: y = Neg(n:Neg(x))
    let: {k: 2 + 1, t: dtype(x)}
    replace: y = x
""")
    run(folder, "--rules", "names.yaml", "net.onnx", "--check", "--trace", "trace.jsonl")
    [line] = [json.loads(text) for text in (folder / "trace.jsonl").read_text().splitlines()]
    names = line["bindings"]
    assert sorted(names) == ["k", "n", "t", "x", "y"]
    assert (names["k"], names["t"]) == ("3", "FLOAT") and names["n"].startswith("Neg ") and names["x"].startswith("`")


def test_bisect(folder):
    # The command knows what is wrong: the Sigmoid has to stay.
    (folder / "check.sh").write_text("#!/bin/sh\ncase \"$1\" in *.onnx) ;; *) exit 1 ;; esac\ngrep -q Sigmoid \"$1\"\n")
    (folder / "check.sh").chmod(0o755)
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = run(folder, "--rules", "set.yaml", "net.onnx", "--bisect", "./check.sh {}")
    assert code == 1 and "rewrites: bad" in err
    assert "of 5 on: set/wrong (set.yaml:10)\n  before\n" in out and "Sigmoid(" in out and "Tanh(" in out
    assert sorted(path.name for path in folder.iterdir()) == before
    code, out, _ = run(folder, "--rules", "set.yaml", "net.onnx", "--skip-rule", "wrong", "--bisect", "./check.sh")
    assert (code, out) == (0, "the command succeeds after all 4 rewrites\n")


@pytest.mark.parametrize("command, message", [("false", "the command fails on the model as it is"), ("./no_such_command", "cannot be run")])
def test_bisect_with_a_wrong_command(folder, command, message):
    code, out, err = run(folder, "--rules", "set.yaml", "net.onnx", "--bisect", command)
    assert (code, out) == (2, "") and message in err


def test_bisect_steps_over_what_cannot_be_told(folder):
    # Only the last state can be told.
    (folder / "check.sh").write_text("#!/bin/sh\nn=$(grep -ao Relu \"$1\" | wc -l)\n[ $n -eq 5 ] && exit 0\n[ $n -eq 2 ] && exit 1\nexit 125\n")
    (folder / "check.sh").chmod(0o755)
    code, out, _ = run(folder, "--rules", "set.yaml", "net.onnx", "--bisect", "./check.sh {}")
    assert code == 1 and "the last of them" in out


def test_required_hits(folder):
    code, out, err = run(folder, "--rules", "set.yaml", "net.onnx", "--require-hits", "relu", "--require-hits", "told", "-o", "out.onnx")
    assert (code, out) == (3, "") and "rule `told` fired 0 times, and at least one hit is required" in err and "`relu`" not in err
    assert not (folder / "out.onnx").exists()
    assert run(folder, "--rules", "set.yaml", "net.onnx", "--require-hits", "relu", "-o", "out.onnx")[0] == 0
    code, _, err = run(folder, "--rules", "set.yaml", "net.onnx", "--require-hits", "rlu")
    assert code == 2 and "no rule `rlu`; did you mean `relu`?" in err


def test_expected_hits(folder):
    (folder / "set.yaml").write_text(RULES.replace("  - name: neg\n", "  - name: neg\n    expect_hits: '>=2'\n")
                                     .replace("  - name: relu\n", "  - name: relu\n    expect_hits: 3\n"))
    code, _, err = run(folder, "--rules", "set.yaml", "net.onnx", "--check")
    assert code == 3 and "set.yaml:8:11: error: rule `neg` fired 1 time, `expect_hits` is >=2" in err and "`relu`" not in err
    assert run(folder, "--rules", "set.yaml", "net.onnx", "--check", "--skip-rule", "neg")[0] == 1
    code, _, err = run(folder, "--rules", "set.yaml", "many.onnx", "--check")
    assert code == 3 and "rule `relu` fired 0 times, `expect_hits` is 3" in err
    (folder / "set.yaml").write_text(RULES.replace("  - name: neg\n", "  - name: neg\n    expect_hits: some\n"))
    assert "`some` is no number of hits" in run(folder, "lint", "set.yaml")[2]


def test_hits_in_sets_that_phases_use(folder):
    (folder / "inner.yaml").write_text(RULES.replace("name: set", "name: inner", 1).replace("  - name: relu\n", "  - name: relu\n    expect_hits: 3\n"))
    phases = "qrewrite: 1\nname: outer\ninclude: [inner.yaml]\nphases:\n  - {{name: first, use: inner{}}}\n  - {{name: own, rules: [own]}}\n{}rules:\n"
    own = "  - {name: own, match: y = Tanh(x), replace: y = Sigmoid(x)}\n"
    (folder / "outer.yaml").write_text(phases.format("", "  - {name: again, use: inner}\n") + own)
    # The second turn finds nothing to do but `wrong`, which is two rewrites in one row.
    code, out, _ = run(folder, "--rules", "outer.yaml", "net.onnx", "--require-hits", "relu", "-o", "out.onnx")
    assert code == 0 and [line.split() for line in out.splitlines() if "wrong" in line] == [["2", "wrong"]]
    code, _, err = run(folder, "--rules", "outer.yaml", "net.onnx", "--require-hits", "never", "--check")
    assert code == 3 and err.count("rule `never` fired 0 times") == 1
    assert run(folder, "find", "net.onnx", "--rules", "outer.yaml")[1].count("inner/wrong:") == 1
    # A phase that is left out is no excuse for a rule that is asked for by name.
    (folder / "outer.yaml").write_text(phases.format(", when: not changed and changed", "") + own.replace("Tanh", "Neg"))
    code, _, err = run(folder, "--rules", "outer.yaml", "net.onnx", "--require-hits", "relu", "--check")
    assert code == 3 and "rule `relu` fired 0 times, and at least one hit is required" in err
    assert run(folder, "--rules", "outer.yaml", "net.onnx", "--check")[0] == 1


def test_a_warning_is_a_hit(folder):
    assert run(folder, "--rules", "set.yaml", "many.onnx", "--require-hits", "told", "-o", "out.onnx")[0] == 0
    (folder / "set.yaml").write_text(RULES.replace("{name: told,", "{name: told, expect_hits: 19,"))
    code, _, err = run(folder, "--rules", "set.yaml", "many.onnx", "--check")
    assert code == 3 and "rule `told` fired 20 times, `expect_hits` is 19" in err


def test_a_warning_of_a_set_that_two_phases_use(folder):
    (folder / "inner.yaml").write_text(RULES.replace("name: set", "name: inner", 1).replace("{name: told,", "{name: told, expect_hits: 20,"))
    (folder / "outer.yaml").write_text("qrewrite: 1\nname: outer\ninclude: [inner.yaml]\nphases: [{name: a, use: inner}, {name: b, use: inner}]\n")
    code, _, err = run(folder, "--rules", "outer.yaml", "many.onnx", "--check")
    assert code == 0 and [line.endswith(" and 15 more: it is slow (rule `told`)") for line in err.splitlines() if line.startswith("warning")] == [True]


def test_a_rule_test_is_no_run_of_the_set(folder):
    tests = "    tests:\n      - {name: two, given: 'y = Neg(Neg(float[2] 1))', expect: 'y = float[2] 1'}\n"
    (folder / "one.yaml").write_text("qrewrite: 1\nname: one\nrules:\n  - name: neg\n    match: y = Neg(Neg(x))\n    replace: y = x\n    expect_hits: 12\n" + tests)
    assert run(folder, "test", "one.yaml")[:2] == (0, "1 passed, 0 failed\n")


def test_a_name_in_two_sets_fires_in_one(folder):
    for name in ("left", "right"):
        (folder / f"{name}.yaml").write_text(RULES.replace("name: set", f"name: {name}", 1))
    (folder / "both.yaml").write_text("qrewrite: 1\nname: both\ninclude: [left.yaml, right.yaml]\nparams: {p: {default: 1}}\n"
                                      "phases: [{name: a, use: left}, {name: b, use: right, when: params.p == 2}]\n")
    assert run(folder, "--rules", "both.yaml", "net.onnx", "--require-hits", "relu", "-o", "out.onnx")[0] == 0


def test_the_nearest_place_of_a_rule_that_should_fire(folder):
    (folder / "set.yaml").write_text(RULES.replace("match: y = Neg(Neg(x))", "match: y = Neg(Relu(Relu(x)))\n    expect_hits: 1"))
    err = run(folder, "--rules", "set.yaml", "net.onnx", "--check")[2]
    assert "rule `neg` fired 0 times" in err and "it came nearest at Neg `n_a2`" in err


def test_equal_warnings_are_one(folder):
    code, out, err = run(folder, "--rules", "set.yaml", "many.onnx", "--check")
    assert (code, out.splitlines()[0]) == (0, "0 rewrites, 20 warnings, nothing changed")
    lines = [line for line in err.splitlines() if line.startswith("warning")]
    assert len(lines) == 1 and lines[0].endswith(" and 15 more: it is slow (rule `told`)")


def test_trace_into_a_pipe(folder):
    """A pipe is opened once: who reads it sees the whole trace."""
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE)
    done = subprocess.run([PROGRAM, "--rules", "set.yaml", "net.onnx", "-o", "out.onnx", "--trace", "pipe"], cwd=folder, timeout=60)
    out, _ = reader.communicate(timeout=60)
    assert done.returncode == 0
    assert json.loads(out.splitlines()[0])["number"] == 1
