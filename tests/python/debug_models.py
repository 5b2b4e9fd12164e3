"""Pairs of float and quantized models for the tests of `qrewrite debug`, and what ONNX Runtime and NumPy say of them.

The quantized models are made by onnxruntime.quantization, as the models are that people debug.
"""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)

SAMPLES = 4


def rng(seed=0):
    return np.random.default_rng(seed)


def images(shape=(SAMPLES, 3, 8, 8), seed=7):
    return rng(seed).normal(size=shape).astype(np.float32)


def save(path, nodes, weights, inputs, outputs, opset=13):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        [numpy_helper.from_array(v, n) for n, v in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8), path)
    return path


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], name=f"{op}_{output}", **attributes)


def convolutions(path, activation="Sigmoid", outlier=False):
    """Two convolutions with an activation between, and a residual sum behind."""
    r = rng()
    weights = {"w1": r.normal(size=(6, 3, 3, 3)).astype(np.float32) / 4, "b1": r.normal(size=6).astype(np.float32),
               "w2": r.normal(size=(6, 6, 3, 3)).astype(np.float32) / 6, "b2": r.normal(size=6).astype(np.float32)}
    if outlier:
        weights["w2"][0] *= 40
        weights["w2"][5] /= 1000
    pads = {"pads": [1, 1, 1, 1]}
    nodes = [node("Conv", ["x", "w1", "b1"], "c1", **pads), node(activation, ["c1"], "a1"),
             node("Conv", ["a1", "w2", "b2"], "c2", **pads), node("Sigmoid", ["c2"], "a2"),
             node("Add", ["a2", "a1"], "y")]
    return save(path, nodes, weights, {"x": [1, 3, 8, 8]}, ["y"])


def products(path):
    r = rng(1)
    weights = {"w1": r.normal(size=(12, 16)).astype(np.float32), "b1": r.normal(size=16).astype(np.float32),
               "w2": r.normal(size=(16, 5)).astype(np.float32)}
    nodes = [node("MatMul", ["x", "w1"], "m1"), node("Add", ["m1", "b1"], "s1"), node("Tanh", ["s1"], "t1"),
             node("MatMul", ["t1", "w2"], "y")]
    return save(path, nodes, weights, {"x": [1, 12]}, ["y"])


class Reader(CalibrationDataReader):
    def __init__(self, inputs):
        count = len(next(iter(inputs.values())))
        self.rows = iter([{k: v[i:i + 1] for k, v in inputs.items()} for i in range(count)])

    def get_next(self):
        return next(self.rows, None)


def quantize(source, target, inputs, **options):
    options = {"quant_format": QuantFormat.QDQ, "activation_type": QuantType.QUInt8,
               "weight_type": QuantType.QInt8, **options}
    quantize_static(str(source), str(target), Reader(inputs), **options)
    return target


def quantize_at_run_time(source, target, weight_type=QuantType.QInt8):
    quantize_dynamic(str(source), str(target), weight_type=weight_type)
    return target


def pair(folder, make=convolutions, inputs=None, quantizer=quantize, options=None, **make_options):
    """float.onnx, quant.onnx and inputs.npz in `folder`."""
    inputs = {"x": images() if make is convolutions else images((SAMPLES, 12))} if inputs is None else inputs
    np.savez(folder / "inputs.npz", **inputs)
    source = make(folder / "float.onnx", **make_options)
    if quantizer is quantize:
        quantizer(source, folder / "quant.onnx", inputs, **(options or {}))
    else:
        quantizer(source, folder / "quant.onnx", **(options or {}))
    return inputs


def values_of(path, inputs, names):
    """All values `names` of a model, for all samples together, by ONNX Runtime without optimisations."""
    model = onnx.load(path)
    have = {o.name for o in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names if n not in have)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    count = len(next(iter(inputs.values())))
    runs = [session.run(list(names), {k: v[i:i + 1] for k, v in inputs.items()}) for i in range(count)]
    return {n: np.concatenate([run[k] for run in runs]).astype(np.float64) for k, n in enumerate(names)}


def sqnr(reference, actual):
    return 10 * np.log10(np.sum(reference ** 2) / np.sum((reference - actual) ** 2))
