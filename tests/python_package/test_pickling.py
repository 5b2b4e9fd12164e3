"""What calls return goes into other processes, and is copied: multiprocessing, concurrent.futures, Dask, copy."""
import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from conftest import RULES
from onnx import TensorProto, helper, numpy_helper

import qrewrite

WARN = {"rules": [{"name": "w", "match": "y = Mul(x, c)", "warn": "a factor"}]}


def things(chain):
    chain.graph.initializer.append(helper.make_tensor("texts", TensorProto.STRING, [2], [b"a", b"\xff"]))
    chain.graph.initializer.append(numpy_helper.from_array(np.arange(9000, dtype=np.float32), "large"))
    for i, name in enumerate(("texts", "large")):
        chain.graph.node.append(helper.make_node("Identity", [name], [f"of {name}"]))
        chain.graph.output.append(helper.make_tensor_value_info(f"of {name}", [8, 1][i], [[2], [9000]][i]))
    model = qrewrite.Model.parse(chain.SerializeToString())
    rewritten, report = qrewrite.rewrite(model, [RULES, WARN], html=True, profile=True)
    yield report
    yield model
    yield from model.constants.values()
    yield qrewrite.find(model, pattern="y = Mul(x, c)")[0]
    yield qrewrite.find(model, pattern="y = Mul(x, c)")
    yield qrewrite.Rules.from_dict(RULES)
    yield qrewrite.Rules.from_dict(RULES).test()
    yield qrewrite.diff(model, rewritten)
    yield qrewrite.explain(model, RULES)
    yield qrewrite.verify(model, model, runtime="builtin", samples=1)
    yield model.graph
    yield model.nodes[0]
    yield model.inputs[0]
    yield model.stats


def told(thing):
    """All that can be asked of it."""
    said = [repr(thing), str(thing)]
    for name in dir(thing):
        if name in ("to_dict", "html", "text", "numpy", "_repr_html_"):
            said.append(repr(getattr(thing, name)()))
        elif name in ("rules", "warnings", "counts", "files", "nodes", "bytes", "changed", "sets", "written", "worst_outputs", "shape", "nbytes", "dtype", "bindings",
                      "outputs", "initializers", "conditions", "more", "equal", "verdict"):
            said.append(repr(getattr(thing, name)))
    return said


def test_everything_is_copied(chain):
    seen = set()
    for thing in things(chain):
        seen.add(type(thing).__name__)
        expected = told(thing)
        for way in (lambda t: pickle.loads(pickle.dumps(t)), copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(t))))):
            assert told(way(thing)) == expected
    assert len(seen) == 14


def test_functions_are_named():
    functions = qrewrite.Functions()
    assert repr(functions) == "<qrewrite.Functions: none>"
    functions.function(abs, name="half")
    functions.operator(abs, name="Abs", domain="acme")
    assert repr(functions) == "<qrewrite.Functions: acme.Abs, half>" == repr(copy.copy(functions))


def test_arrays_of_a_copied_constant_are_read_only(chain):
    constant = pickle.loads(pickle.dumps(qrewrite.Model.parse(chain.SerializeToString()).constants["w"]))
    assert constant.numpy().tolist() == [1, 2, 3, 4] and np.asarray(constant).dtype == np.float32
    with pytest.raises(ValueError):
        constant.numpy()[0] = 2


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_rewrites_in_other_processes(chain, start):
    data = chain.SerializeToString()
    expected, report = qrewrite.rewrite(data, RULES)
    with ProcessPoolExecutor(2, mp_context=get_context(start)) as pool:
        jobs = [pool.submit(qrewrite.rewrite, data, rules) for rules in (RULES, qrewrite.Rules.from_dict(RULES), "no such set")]
        for job in jobs[:2]:
            result, its = job.result()
            assert result == expected and str(its) == str(report) and its.to_dict() == report.to_dict()
        with pytest.raises(qrewrite.FileError, match="no such set"):
            jobs[2].result()
