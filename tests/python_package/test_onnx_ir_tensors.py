"""Tensors of onnx_ir that are not what they declare, or cannot be read: functions of users make them (ir.LazyTensor)."""
import numpy as np
import onnx_ir as ir
import pytest
from conftest import parse

import qrewrite
from qrewrite.onnx_ir import RewritePass

READS = {"rules": [{"name": "q", "match": "y = Add(x, w)", "where": "const(w)", "let": {"v": "w * 2.0"}, "replace": "y = Sub(x, v)"}]}


def lazy(make, size, dtype=ir.DataType.FLOAT):
    model = ir.from_proto(parse(f"g (float[{size}] x) => (float[{size}] y) <float[{size}] w = {{{', '.join(['0'] * size)}}}> {{ y = Add(x, w) }}"))
    model.graph.initializers["w"].const_value = ir.LazyTensor(make, dtype=dtype, shape=ir.Shape([size]), name="w")
    return model


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("size", [4, 1600], ids=["in the message", "beside it"])
@pytest.mark.parametrize("made,said", [
    (lambda n: np.ones(n, np.float64), "declares float32 and gives float64"),
    (lambda n: np.ones(n, np.int32), "declares float32 and gives int32"),
    (lambda n: np.ones(n + 1, np.float32), "declares {} bytes and gives {} bytes"),
    (lambda n: np.ones(n - 1, np.float32), "declares {} bytes and gives {} bytes"),
])
def test_a_lazy_tensor_that_is_another_one(made, said, size, in_place):
    model = lazy(lambda: ir.tensor(made(size), name="w"), size)
    with pytest.raises(qrewrite.InvalidModel) as raised:
        RewritePass(READS, in_place=in_place)(model) if in_place else qrewrite.rewrite(model, READS)
    assert str(raised.value) == f"tensor `w` {said.format(4 * size, made(size).nbytes)}"
    assert raised.value.diagnostics[0].message == str(raised.value) and [node.op_type for node in model.graph] == ["Add"]


@pytest.mark.parametrize("size", [4, 1600])
def test_a_lazy_tensor_that_is_what_it_declares(size):
    for array in (np.arange(size, dtype=np.float32), np.arange(2 * size, dtype=np.float32)[::2]):
        result, report = qrewrite.rewrite(lazy(lambda array=array: ir.Tensor(array, dtype=ir.DataType.FLOAT, name="w"), size), READS)
        (weight,) = result.graph.initializers.values()
        assert report.rewrites == 1 and np.array_equal(weight.const_value.numpy(), 2 * array)


def boom():
    raise ValueError("boom")


def raised_by(model):
    nodes, weights = [node.op_type for node in model.graph], dict(model.graph.initializers)
    for in_place in (False, True):
        with pytest.raises(qrewrite.Error) as raised:
            RewritePass(READS, in_place=in_place)(model) if in_place else qrewrite.rewrite(model, READS)
        assert [node.op_type for node in model.graph] == nodes and dict(model.graph.initializers) == weights
    return raised.value


@pytest.mark.parametrize("size", [4, 1600], ids=["in the message", "beside it"])
def test_a_lazy_tensor_that_raises(size):
    error = raised_by(lazy(boom, size))
    assert str(error) == "tensor `w` cannot be read: its function threw an exception: ValueError: boom"
    assert type(error) is qrewrite.CallbackError and type(error.__cause__) is ValueError and error.diagnostics[0].message == str(error)


@pytest.mark.parametrize("several", [False, True])
def test_a_lazy_tensor_of_an_attribute_that_raises(several):
    model = lazy(lambda: ir.tensor(np.zeros(4, np.float32)), 4)
    tensor = ir.LazyTensor(boom, dtype=ir.DataType.FLOAT, shape=ir.Shape([4]), name="t")
    list(model.graph)[0].attributes.add(ir.AttrTensors("a", [tensor]) if several else ir.AttrTensor("a", tensor))
    error = raised_by(model)
    assert str(error) == "tensor `t` cannot be read: its function threw an exception: ValueError: boom"
    assert type(error) is qrewrite.CallbackError


def test_what_onnx_ir_cannot_write_is_told_with_its_cause():
    """It says of each object around it that it failed; the model, at first."""
    error = raised_by(lazy(boom, 4, ir.DataType.STRING))
    assert str(error).startswith("onnx_ir cannot serialize the model: ValueError: boom (Error calling serialize_tensor_into with: LazyTensor<STRING,[4]>")
    assert type(error) is qrewrite.InvalidModel
