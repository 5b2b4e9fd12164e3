"""Rules.prove(): the command's report, with functions of Python."""
import json
import subprocess
import sys

import numpy as np
import pytest
import qrewrite
from test_runs import INTERRUPTED, long_chain

RULES = {"name": "two", "rules": [
    {"name": "twice", "equivalence": "exact", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)"},
    {"name": "no-relu", "equivalence": "exact", "match": "y = Relu(x)", "replace": "y = Identity(x)"}]}


def test_the_report(tmp_path):
    rules = qrewrite.Rules.from_dict(RULES)
    report = rules.prove(graphs=40)
    assert not report and report.outcomes == {"twice": "held", "no-relu": "refuted"}
    assert report.to_dict()["rules"] == report.rules and report.rules[0]["fired"] > 0
    assert "no-relu` does not keep its promise" in str(report) and str(report) == report.text()
    # The counterexample is a test that fails.
    (name, test), = report.counterexamples.items()
    assert name == "no-relu" and test.startswith("- name: a counterexample")
    given = test.split("given: |\n")[1].split("  expect")[0]
    broken = {**RULES["rules"][1], "tests": [{"name": "a counterexample", "given": given, "expect": "unchanged"}]}
    assert qrewrite.Rules.from_dict({"rules": [broken]}).test().failed == 1


def test_it_is_what_the_command_prints(tmp_path):
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"qrewrite": 1, **RULES}))
    done = subprocess.run([sys.executable, "-m", "qrewrite", "prove", path, "--graphs", "30", "--seed", "3", "--json"], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    report = qrewrite.Rules.load(path).prove(graphs=30, seed=3)
    assert report.to_dict() == json.loads(done.stdout)


def test_one_rule_without_its_conditions():
    report = qrewrite.Rules.from_dict(RULES).prove("twice", graphs=20, runtime="builtin", conditions=False)
    assert report and report.outcomes == {"twice": "held"} and not report.counterexamples
    assert report.to_dict()["evaluators"] == "built-in kernels"


@pytest.mark.parametrize("factor, outcome", [(0.5, "held"), (0.25, "refuted")])
def test_functions_and_operators_in_python(factor, outcome):
    """The replacement is an operator that only Python computes, with a number that only Python knows."""
    functions = qrewrite.Functions()
    calls = []

    @functions.operator(name="Half", domain="acme")
    def half(x):
        calls.append(x.dtype)
        return x * x.dtype.type(factor)

    @functions.function
    def half_of(k):
        return k * np.float32(0.5)

    rules = qrewrite.Rules.from_dict({
        "signatures": {"acme.Half": {"inputs": ["x"], "outputs": {"y": {"shape": "shape(x)", "dtype": "dtype(x)"}}}},
        "rules": [{"name": "half", "equivalence": "exact", "match": "y = Mul(x, k)",
                   "where": ["const(k)", "dtype(k) == FLOAT", "size(k) == 1", "rank(k) == 0", "half_of(k) == 0.25"], "replace": "y = acme.Half(x)",
                   "tests": [{"name": "a half", "given": "x: float[4]\ny = Mul(x, 0.5)", "expect": "x: float[4]\ny = acme.Half(x)"}]}],
    }, functions=functions)
    report = rules.prove(graphs=60, conditions=False)
    assert report.outcomes == {"half": outcome} and calls, str(report)


def test_a_function_that_raises():
    """Where its rule asks it: the run of a user would end there."""
    def vectors(w):
        if w.ndim != 1:
            raise ValueError("vectors only")
        return w

    def proof(*where):
        rule = {"name": "swap", "equivalence": "exact", "match": "y = Mul(x, w)", "where": ["const(w) and not const(x)", *where], "replace": "y = Mul(same(w), x)",
                "tests": [{"name": "t", "given": "x: float[2]\ny = Mul(x, float[2] [1, 2])", "expect": "x: float[2]\ny = Mul(float[2] [1, 2], x)"}]}
        return qrewrite.Rules.from_dict({"rules": [rule]}, functions={"same": vectors}).prove(graphs=100, runtime="builtin")

    report = proof()
    assert report.rules[0]["why"] == "function `same` of the host threw an exception: ValueError: vectors only"
    assert "Mul(x, " in report.counterexamples["swap"] and "vectors only" in report._repr_html_()
    report = proof("rank(w) == 1")
    assert report.outcomes == {"swap": "held"} and report.rules[0]["conditions"][-1]["outcome"] == "needed"


def test_progress():
    rules = qrewrite.Rules.from_dict(RULES)
    seen = []
    report = rules.prove(graphs=40, progress=seen.append)
    assert [p.rule for p in seen if p.graphs == 0] == ["twice", "no-relu"] and {(p.rules_done, p.rules) for p in seen} == {(0, 2), (1, 2)}
    assert report.to_dict() == rules.prove(graphs=40).to_dict()
    stopped = rules.prove(graphs=40, progress=lambda p: "stop" if p.rule == "no-relu" else None)
    assert stopped and stopped.outcomes == {"twice": "held", "no-relu": "silent"}
    with pytest.raises(qrewrite.Cancelled):
        rules.prove(progress=lambda p: "cancel")
    for wrong, cause in ((lambda p: 1 / 0, ZeroDivisionError), (lambda p: "halt", TypeError), (lambda: None, TypeError)):
        with pytest.raises(qrewrite.CallbackError) as raised:
            rules.prove(progress=wrong)
        assert isinstance(raised.value.__cause__, cause) and str(raised.value).startswith("the function for progress threw an exception: ")

    def ends(p):
        raise SystemExit(3)
    with pytest.raises(SystemExit):
        rules.prove(progress=ends)
    long = rules.prove("twice", graphs=3000, conditions=False, runtime="builtin", progress=lambda p: "stop" if p.graphs > 10 else None)
    assert 10 < long.rules[0]["graphs"] < 3000  # in the middle of a rule


def test_the_lock_is_released():
    """Another thread works on, and may prove rules as well."""
    import threading
    rules = qrewrite.Rules.from_dict(RULES)
    alone = rules.prove(graphs=60, runtime="builtin").to_dict()
    counted, reports = [0], []
    ends = threading.Event()

    def count():
        while not ends.is_set():
            counted[0] += 1
    threads = [threading.Thread(target=count), *(threading.Thread(target=lambda: reports.append(rules.prove(graphs=60, runtime="builtin").to_dict())) for _ in range(2))]
    for thread in threads:
        thread.start()
    for thread in threads[1:]:
        thread.join()
    ends.set()
    threads[0].join()
    assert reports == [alone, alone] and counted[0] > 1000


def test_in_a_notebook():
    html = qrewrite.Rules.from_dict(RULES).prove(graphs=20, conditions=False)._repr_html_()
    assert "<td>no-relu</td><td>refuted</td>" in html and "<pre>- name: a counterexample" in html and "1 held, 1 refuted" in html


@pytest.mark.parametrize("arguments, message", [
    ({"progress": 3}, "`progress` is a function, not int"),
    ({"runtime": lambda model, outputs: None}, "not a function"),
    ({"budget": -1}, "`budget` is a number of seconds"),
    ({"budget": float("nan")}, "`budget` is a number of seconds"),
    ({"graphs": 0}, "at least one graph"),
    ({"seed": "x"}, "`seed` is a count"),
])
def test_what_makes_no_sense(arguments, message):
    with pytest.raises(qrewrite.UsageError, match=message):
        qrewrite.Rules.from_dict(RULES).prove(**arguments)


def test_no_such_rule():
    with pytest.raises(qrewrite.UsageError, match="there is no rule `twise`; did you mean `twice`"):
        qrewrite.Rules.from_dict(RULES).prove("twise")


@pytest.mark.parametrize("runtime", ["ort", "builtin"])
def test_ctrl_c_ends_it(runtime):
    call = f"qrewrite.Rules.load('optimize').prove(graphs=10**6, conditions=False, runtime='{runtime}')"
    open("long.onnx", "wb").write(long_chain(10))
    done = subprocess.run([sys.executable, "-c", INTERRUPTED.replace("CALL", call)], capture_output=True, text=True, timeout=120)
    word, seconds = done.stdout.split()
    assert word == "interrupted" and float(seconds) < 10, done.stderr
