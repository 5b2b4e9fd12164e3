"""Holds every built-in fold kernel to ONNX Runtime (table.py says where to another oracle, and why).

FOLD_EVAL is the program fold_eval; ctest sets it.
"""

import os
import subprocess
import tempfile

import pytest

import oracle
from table import table

FOLD_EVAL = os.environ.get("FOLD_EVAL", "")
CASES = table()


@pytest.fixture(scope="session")
def results():
    """What fold_eval gives for each row of the table, in one run."""
    with tempfile.TemporaryDirectory() as folder:
        calls, answers = os.path.join(folder, "calls"), os.path.join(folder, "answers")
        with open(calls, "wb") as file:
            file.write(b"".join(map(oracle.encode, CASES)))
        subprocess.run([FOLD_EVAL, calls, answers], check=True)
        with open(answers, "rb") as file:
            return oracle.decode(file.read())


@pytest.mark.parametrize("index", range(len(CASES)), ids=[f"{i}-{c}" for i, c in enumerate(CASES)])
def test_kernel(index, results):
    case, ours = CASES[index], results[index]
    if case.oracle == "fails":
        assert isinstance(ours, str), "there should be a reason instead of a result"
        assert ours.startswith("error: ") and len(ours) > 12
        return
    assert not isinstance(ours, str), ours
    assert case.oracle == "ort" or case.why
    if case.oracle == "ort":
        theirs = oracle.run_ort(case)
    elif case.oracle == "reference":
        theirs = oracle.run_reference(case)
    else:
        theirs = [oracle.Value.of(y) for y in case.oracle(*case.inputs)]
    oracle.compare(ours, theirs, case.ulp, case.atol)


def test_every_kernel_is_in_the_table():
    lines = subprocess.run([FOLD_EVAL, "--all"], check=True, capture_output=True, text=True)
    registered = {tuple(line.split()[:2]) for line in lines.stdout.splitlines()}
    tested = {(case.domain or "ai.onnx", case.op) for case in CASES if case.oracle != "fails"}
    assert registered - tested == set()
    assert tested - registered == set()


def test_all_results_are_read(results):
    assert len(results) == len(CASES)
