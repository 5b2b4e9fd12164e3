"""The plugin of pytest on rule files, as pytest's users see it."""
from importlib.metadata import entry_points

import pytest

GOOD = """qrewrite: 1
name: tidy
rules:
  - name: relu-of-relu
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
    tests:
      - {name: twice, given: "x: float[4]\\ny = Relu(Relu(x))", expect: "x: float[4]\\ny = Relu(x)"}
      - {name: once, given: "x: float[4]\\ny = Relu(x)", expect: unchanged}
"""


@pytest.fixture
def plugin(pytester):
    installed = [] if entry_points(group="pytest11", name="qrewrite") else ["-p", "qrewrite.pytest_plugin"]

    def run(*args):
        return pytester.runpytest_subprocess(*installed, "-v", *args)
    return run


def test_each_test_is_an_item(pytester, plugin):
    pytester.makefile(".yaml", tidy=GOOD, other="name: no rule file\n")
    result = plugin()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*tidy.yaml::relu-of-relu::twice PASSED*", "*tidy.yaml::relu-of-relu::once PASSED*"])
    plugin("-k", "once").assert_outcomes(passed=1, deselected=1)


def test_what_pytest_calls_an_item_runs_it(pytester, plugin):
    """As it prints it of one that fails; a name may hold what pytest has for parameters."""
    second = GOOD[GOOD.index("  - name"):].replace("relu-of-relu", "again").replace("name: once", 'name: "a [b]::c / d é"')
    pytester.makefile(".yaml", tidy=GOOD + second + "tests:\n  - {name: whole, given: \"x: float[4]\\ny = Relu(x)\", expect: unchanged}\n")
    ids = ["relu-of-relu::twice", "relu-of-relu::once", "again::twice", "again::a [b]::c / d é", "whole"]
    listed = [line.partition("::")[2] for line in plugin("--collect-only", "-qq").outlines if line.startswith("tidy.yaml::")]
    assert listed == ids
    for name in ids:
        plugin(f"tidy.yaml::{name}").assert_outcomes(passed=1)
    plugin("tidy.yaml::again").assert_outcomes(passed=2)
    assert plugin("tidy.yaml::again::once").ret == pytest.ExitCode.USAGE_ERROR


def test_however_the_key_is_written(pytester, plugin):
    """A rule file that is not seen has no tests that fail."""
    import json

    rule = {"name": "r", "match": "y = Relu(Relu(x))", "replace": "y = Relu(x)", "tests": [{"name": "once", "given": "x: float[4]\ny = Relu(x)", "expect": "unchanged"}]}
    whole = {"name": "mine", "rules": [rule], "qrewrite": 1}
    pytester.makefile(".yaml", mark="\N{ZERO WIDTH NO-BREAK SPACE}" + GOOD, quoted=GOOD.replace("qrewrite:", "'qrewrite':"), doubly=GOOD.replace("qrewrite:", '"qrewrite":'))
    pytester.makefile(".json", last=json.dumps(whole), indented=json.dumps(whole, indent=1), other=json.dumps({"versions": {"qrewrite": 1}}), broken='{"a": {"qrewrite": 1}')
    plugin().assert_outcomes(passed=8)


def test_a_failure_shows_the_graphs(pytester, plugin):
    pytester.makefile(".yaml", tidy=GOOD.replace("expect: unchanged", 'expect: "x: float[4]\\ny = Abs(x)"'))
    result = plugin()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*Abs(x)*"])


def test_a_broken_file_is_an_error_with_its_place(pytester, plugin):
    pytester.makefile(".yaml", tidy=GOOD.replace("replace:", "replase:"))
    result = plugin()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*tidy.yaml:6:5: error[[]QR0102[]]: unknown key `replase`*"])


def test_lint_on_demand(pytester, plugin):
    pytester.makefile(".yaml", tidy=GOOD.replace("name: tidy", "name: tidy\nparams: {unused: {default: 1}}"))
    plugin().assert_outcomes(passed=2)
    result = plugin("--qrewrite-lint")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*warning*unused*"])


MINE = """qrewrite: 1
name: mine
rules:
  - name: small
    match: y = Mul(x, w)
    where: is_small(w)
    replace: y = Identity(x)
    tests:
"""


def calling(**factors):
    """A rule file that calls a function: tests by name, each with a factor and whether the rule fires."""
    return MINE + "".join(f'      - {{name: {name}, given: "x: float[2]\\ny = Mul(x, {factor})", expect: {_EXPECTED[fires]}}}\n' for name, (factor, fires) in factors.items())


_EXPECTED = {True: '"x: float[2]\\ny = Identity(x)"', False: "unchanged"}


def test_functions_of_the_conftest(pytester, plugin):
    pytester.makeconftest("import qrewrite\n@qrewrite.predicate\ndef is_small(w):\n    return bool((abs(w) < 1).all())\n")
    pytester.makefile(".yaml", mine=calling(small=(0.5, True), large=(2.0, False)))
    plugin().assert_outcomes(passed=2)


def test_shipped_rules(pytester, plugin):
    import qrewrite
    result = plugin(qrewrite.shipped()["qoperator"], "--qrewrite-lint")
    assert result.ret == 0 and result.parseoutcomes()["passed"] > 10


def test_a_test_is_run_where_its_item_is(pytester, plugin):
    """What a function of the user does in one concerns no other."""
    pytester.makeconftest("""
import sys, pytest, qrewrite

@qrewrite.predicate
def is_small(w):
    print(f"asked about {w}")
    if w == 0.5:
        pytest.skip("not here")
    if w == 8:
        sys.exit(3)
    return True
""")
    pytester.makefile(".yaml", mine=calling(skips=(0.5, False), fails=(2.0, False), passes=(4.0, True), exits=(8.0, False)))
    plugin("--collect-only", "-q").stdout.no_fnmatch_line("*asked*")
    result = plugin()
    result.assert_outcomes(passed=1, failed=2, skipped=1)
    result.stdout.fnmatch_lines(["*asked about 2.0*"])
    plugin("mine.yaml::small::passes").assert_outcomes(passed=1)
