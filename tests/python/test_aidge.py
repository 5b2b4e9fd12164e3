"""rules/aidge_export_qdq.yaml and aidge_export_qop.yaml on small networks in every form that Aidge exports: ONNX Runtime runs the result, and
its outputs are the integers of the source. All scales are powers of two, so they are equal to the bit."""
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

SOURCE = Path(os.environ["QREWRITE_SOURCE_DIR"])
FORMS = ("fake", "true", "direct", "shift")     # integers in floats; int8; with QuantizeLinear; with BitShift


class Export:
    """One network; `form` says how layers, their weights and their quantizers are written."""

    def __init__(self, form: str, opset: int = 17):
        self.form, self.opset, self.integers = form, opset, form != "fake"
        self.rng = np.random.default_rng(0)
        self.nodes, self.constants, self.ranks = [], [], {}

    def const(self, value, dtype=np.float32) -> str:
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        out = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=f"n{len(self.nodes)}", **attributes))
        self.ranks[out] = 2 if kind == "Flatten" else self.ranks.get(inputs[0], 4)
        return out

    def quantizer(self, x: str, scale, lo=-128, hi=127, cast: bool = True) -> str:
        """`cast`: x holds integers in an integer type, if the form has them."""
        if self.integers and cast:
            x = self.op("Cast", x, to=TensorProto.FLOAT)
        y = self.op("Round", self.op("Mul", x, self.const(np.ravel(scale) if np.size(scale) == 1 else scale)))
        y = self.op("Clip", self.op("Add", y, self.const(0.0)), self.const(lo), self.const(hi))
        return self.op("Cast", y, to=TensorProto.INT8) if self.integers else y

    def layer_end(self, acc: str, bits, lo, hi) -> str:
        if np.size(bits) > 1 or self.form in ("fake", "true"):
            return self.quantizer(acc, 2.0 ** -np.asarray(bits), lo, hi)
        if self.form == "direct":
            return self.op("QuantizeLinear", acc, self.const(2.0 ** bits), self.const(0, np.int8))
        y = self.op("Add", self.op("BitShift", acc, self.const([bits], np.int32), direction="RIGHT"), self.const(0, np.int32))
        return self.op("Cast", self.op("Clip", y, self.const(lo, np.int32), self.const(hi, np.int32)), to=TensorProto.INT8)

    def branch(self, x: str, factor: int, bits: int) -> str:
        """A quantizer of integers, on a skip branch or a sum. With shifts the factor stands in front of the power of two."""
        if self.form == "shift":
            return self.layer_end(self.op("Mul", x, self.const([factor], np.int32)), bits, -128, 127)
        if self.form == "direct":
            return self.op("QuantizeLinear", x, self.const(2.0 ** bits / factor), self.const(0, np.int8))
        if self.form == "fake":
            return self.quantizer(self.op("Mul", x, self.const([factor])), 2.0 ** -bits)
        return self.quantizer(x, factor * 2.0 ** -bits)

    def weights(self, *shape: int, top: int = 127) -> str:
        return self.const(self.rng.integers(-top, top + 1, shape), np.int8 if self.integers else np.float32)

    def conv(self, x, inner, outer, kernel=3, bits=8, lo=-128, hi=127, bias=True, group=1, top=127, **attributes) -> str:
        ins = [x, self.weights(outer, inner // group, kernel, kernel, top=top)]
        if bias:
            ins.append(self.const(self.rng.integers(-3000, 3000, outer), np.int32 if self.integers else np.float32))
        bits = self.rng.integers(7, 10, (outer, 1, 1)) if bits == "channels" else bits
        attributes = {"pads": [kernel // 2] * 4, **attributes}
        return self.layer_end(self.op("Conv", *ins, kernel_shape=[kernel] * 2, group=group, **attributes), bits, lo, hi)

    def fc(self, x, inner, outer, bits=9, transposed=1) -> str:
        ins = [x, self.weights(*((outer, inner) if transposed else (inner, outer)))]
        bits = self.rng.integers(11, 14, outer) if bits == "channels" else bits
        return self.layer_end(self.op("Gemm", *ins, transB=transposed), bits, -128, 127)

    def input(self) -> str:
        return self.quantizer("input", 16.0, cast=False)

    def floats(self, *values: str) -> list[str]:
        return [self.op("Cast", v, to=TensorProto.FLOAT) if self.integers else v for v in values]

    def model(self, *outputs: str) -> onnx.ModelProto:
        kind = TensorProto.INT8 if self.integers else TensorProto.FLOAT
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("input", TensorProto.FLOAT, [1, 3, 8, 8])],
            [helper.make_tensor_value_info(o, kind, [None] * self.ranks[o]) for o in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)


def outputs_inside(e: Export):
    x = e.conv(e.input(), 3, 8)
    m = e.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    y = e.op("Relu", e.conv(m, 8, 8, bias=False))
    return e.model(x, m, y, e.op("Flatten", y), e.conv(y, 8, 4))


def channels(e: Export):
    x = e.op("Relu", e.conv(e.input(), 3, 8, bits="channels"))
    x = e.conv(e.conv(x, 8, 8, bits="channels", group=8), 8, 8, bits="channels", group=2, bias=False)
    return e.model(e.fc(e.op("Flatten", x), 8 * 64, 24, bits="channels", transposed=0))


def bounds(e: Export):
    x = e.conv(e.input(), 3, 8, lo=-127)
    x = e.conv(x, 8, 8, lo=-8, hi=7, top=7, bits=5)
    return e.model(e.conv(e.conv(x, 8, 8, bits=5, lo=0), 8, 4, lo=-100, hi=50))


def residual(e: Export):
    x = e.conv(e.input(), 3, 8)
    y = e.op("Relu", e.conv(x, 8, 8))
    skip = e.branch(x, 32, 6)
    total = e.branch(e.op("Add", y, skip), 64, 7)
    return e.model(x, skip, total, e.conv(total, 8, 4))


def concat(e: Export):
    x = e.conv(e.input(), 3, 8)
    parts = e.op("Concat", e.conv(x, 8, 8), e.conv(x, 8, 4, kernel=1), axis=1)
    joined = e.quantizer(parts, 1.0)
    return e.model(joined, e.conv(joined, 12, 4))


def average(e: Export):
    pooled = e.op("GlobalAveragePool", *e.floats(e.conv(e.input(), 3, 8)))
    return e.model(e.fc(e.op("Flatten", e.quantizer(pooled, 1.0, cast=False)), 8, 24))


def spread(e: Export):
    x = e.conv(e.input(), 3, 8, pads=[2] * 4, dilations=[2, 2])
    return e.model(e.conv(x, 8, 8, pads=[0, 0, 1, 1], strides=[2, 2]))


def moves(e: Export):
    x = e.op("Pad", e.conv(e.input(), 3, 8), e.const([0, 0, 1, 1, 0, 0, 1, 1], np.int64), mode="edge")
    x = e.op("Resize", x, "", e.const([1, 1, 2, 2]), mode="nearest")
    y = e.conv(x, 8, 8)
    return e.model(x, e.conv(e.branch(e.op("Sub", y, e.branch(y, 32, 6)), 64, 7), 8, 4))


def named(e: Export):
    x = e.op("Identity", e.conv(e.input(), 3, 8))
    return e.model(x, e.conv(e.op("Relu", x), 8, 4))


NETS = (outputs_inside, channels, bounds, residual, concat, average, spread, moves, named)


def run(model: bytes, x: np.ndarray) -> list[np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, {"input": x})


def rewrite(model: onnx.ModelProto, rules: str, folder: Path, *options: str) -> tuple[subprocess.CompletedProcess, Path]:
    source, out = folder / "model.onnx", folder / "out.onnx"
    onnx.save(model, source)
    settings = [part for o in options for part in ("--set", o)]
    done = subprocess.run([os.environ["QREWRITE"], "--rules", str(SOURCE / "rules" / f"{rules}.yaml"), str(source), "-o", str(out), *settings],
                          capture_output=True, text=True, timeout=60)
    return done, out


# What QuantizeLinear alone cannot say, these forms cannot either.
CASES = [(n, f) for n in NETS for f in FORMS if not (f == "direct" and n is bounds)]


@pytest.mark.parametrize("rules", ["aidge_export_qdq", "aidge_export_qop"])
@pytest.mark.parametrize("net, form", CASES, ids=[f"{n.__name__}-{f}" for n, f in CASES])
def test_integers(net, form, rules, tmp_path):
    done, out = rewrite(net(Export(form)), rules, tmp_path, "output=integer")
    assert done.returncode == 0, done.stderr
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=rules == "aidge_export_qdq")
    by_output = {n.output[0]: n.op_type for n in model.graph.node}
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            assert [by_output.get(i) for i in node.input] == ["DequantizeLinear"] * len(node.input), node.name
        assert node.op_type not in ("Mul", "Round", "BitShift"), node.name
    source = net(Export("fake")).SerializeToString()
    for seed in range(4):
        x = np.random.default_rng(seed).normal(0, 3, (1, 3, 8, 8)).astype(np.float32)
        for want, have in zip(run(source, x), run(out.read_bytes(), x), strict=True):
            np.testing.assert_array_equal(have.ravel(), want.ravel())
            assert np.unique(want).size > 3


def assert_computes_the_export(net, out):
    """`out` gives to the bit what the export of floats gives."""
    x = np.random.default_rng(0).normal(0, 3, (1, 3, 8, 8)).astype(np.float32)
    (want,), (have,) = run(net(Export("fake")).SerializeToString(), x), run(out.read_bytes(), x)
    np.testing.assert_array_equal(have, want)


def test_sixteen_bits(tmp_path):
    def net(e: Export):
        return e.model(e.conv(e.conv(e.input(), 3, 8, bits=1, lo=-32768, hi=32767), 8, 4, bits=12))

    done, out = rewrite(net(Export("fake")), "aidge_export_qdq", tmp_path, "output=integer")
    assert done.returncode == 0 and "16 bits opset 21" in done.stderr
    assert_computes_the_export(net, out)
    done, out = rewrite(net(Export("fake", opset=21)), "aidge_export_qdq", tmp_path, "output=integer")
    assert done.returncode == 0, done.stderr
    assert_computes_the_export(net, out)
    assert TensorProto.INT16 in {i.data_type for i in onnx.load(out).graph.initializer}


def test_twelve_bits(tmp_path):
    """Bounds within 16 bits stand in front of the QuantizeLinear: ONNX Runtime has no Clip of int16."""
    def net(e: Export):
        return e.model(e.conv(e.conv(e.input(), 3, 8, bits=1, lo=-2048, hi=2047), 8, 4, bits=12))

    done, out = rewrite(net(Export("fake", opset=21)), "aidge_export_qdq", tmp_path, "output=integer")
    assert done.returncode == 0, done.stderr
    assert_computes_the_export(net, out)


@pytest.mark.parametrize("form", ["true", "direct"])
def test_layer_without_quantizer(form, tmp_path):
    """A layer of int8 has a meaning only with a quantizer behind; its weights must not stay int8 in a float Conv."""
    e = Export(form)
    x = e.conv(e.input(), 3, 8)
    done, out = rewrite(e.model(e.op("Conv", x, e.weights(4, 8, 3, 3))), "aidge_export_qdq", tmp_path)
    assert done.returncode == 3 and "a layer of integers must end in a quantizer" in done.stderr and not out.exists()


def with_constant(value: float, at: int):
    """A quantizer between two layers, of whose three last constants (zero point, bounds) one is `value`."""
    def net(e: Export):
        x = e.conv(e.input(), 3, 8)
        e.constants[at] = numpy_helper.from_array(np.float32(value), e.constants[at].name)
        return e.model(e.conv(x, 8, 4), x)
    return net


@pytest.mark.parametrize("rules", ["aidge_export_qdq", "aidge_export_qop"])
@pytest.mark.parametrize("value, at", [(3, -3), (-3.5, -2), (100.25, -1)])
def test_quantizer_that_aidge_has_not(value, at, rules, tmp_path):
    """It stays as it is, and the layers around it are quantized all the same."""
    net = with_constant(value, at)
    done, out = rewrite(net(Export("fake")), rules, tmp_path, "output=integer")
    assert done.returncode == 0 and "a quantizer has zero point 0 and two integers as bounds" in done.stderr
    model = onnx.load(out)
    assert sum(n.op_type in ("QuantizeLinear", "QLinearConv") for n in model.graph.node) == 2
    assert [n.op_type for n in model.graph.node].count("Round") == 1
    x = np.random.default_rng(0).normal(0, 3, (1, 3, 8, 8)).astype(np.float32)
    for want, have in zip(run(net(Export("fake")).SerializeToString(), x), run(out.read_bytes(), x)):
        np.testing.assert_array_equal(have, want)


# What stays float between two layers, and the layers beside it are quantized all the same.
BETWEEN = {
    "LeakyRelu": lambda e, x: e.op("LeakyRelu", x, alpha=0.25),
    "PRelu": lambda e, x: e.op("PRelu", x, e.const(np.full((8, 1, 1), 0.125))),
    "ReduceMean": lambda e, x: e.op("ReduceMean", x, axes=[3]),
    "ReLU6": lambda e, x: e.op("Clip", x, e.const(0), e.const(6)),
    "bounds that are fractions": lambda e, x: e.op("Clip", x, e.const(-2.5), e.const(6.5)),
    "one bound": lambda e, x: e.op("Clip", x, e.const(-4)),
    "Pad with threes": lambda e, x: e.op("Pad", x, e.const([0, 0, 1, 1, 0, 0, 1, 1], np.int64), e.const(3)),
    "Pad with a fraction": lambda e, x: e.op("Pad", x, e.const([0, 0, 1, 1, 0, 0, 1, 1], np.int64), e.const(0.5)),
    "linear Resize": lambda e, x: e.op("Resize", x, "", e.const([1, 1, 2, 2]), mode="linear"),
    "Dropout": lambda e, x: e.op("Dropout", x),
    "BatchNormalization": lambda e, x: e.op("BatchNormalization", x, *[e.const(np.full(8, v)) for v in (2, 3, 0, 1)], epsilon=0.0),
    "Sigmoid": lambda e, x: e.quantizer(e.op("Sigmoid", e.op("Mul", x, e.const([2.0 ** -6]))), 128.0),
    "a product": lambda e, x: e.quantizer(e.op("Mul", x, e.op("Sigmoid", e.op("GlobalAveragePool", x))), 1.0),
    "a product of integers": lambda e, x: e.quantizer(e.op("Mul", x, e.quantizer(x, 0.5)), 2.0 ** -6),
    "parts of two types": lambda e, x: e.op("Slice", e.op("Concat", x, e.quantizer(x, 2.0, lo=0, hi=255), axis=1),
                                            *[e.const([v], np.int64) for v in (0, 16, 1, 2)]),
    "a constant": lambda e, x: e.op("Add", x, e.const(np.arange(8).reshape(8, 1, 1))),
}


@pytest.mark.parametrize("rules", ["aidge_export_qdq", "aidge_export_qop"])
@pytest.mark.parametrize("name", BETWEEN)
def test_between(name, rules, tmp_path):
    def net(e: Export):
        x = BETWEEN[name](e, e.conv(e.input(), 3, 8))
        return e.model(e.conv(e.conv(x, 8, 8), 8, 4))

    done, out = rewrite(net(Export("fake")), rules, tmp_path, "output=integer")
    assert done.returncode == 0 and not done.stderr, done.stderr
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=rules == "aidge_export_qdq")
    by_output = {n.output[0]: n.op_type for n in model.graph.node}
    assert "Round" not in by_output.values()
    for node in model.graph.node:
        if node.op_type == "Conv":
            assert [by_output.get(i) for i in node.input[1:]] == ["DequantizeLinear"] * 2, node.name
    for seed in range(4):
        x = np.random.default_rng(seed).normal(0, 3, (1, 3, 8, 8)).astype(np.float32)
        (want,), (have,) = run(net(Export("fake")).SerializeToString(), x), run(out.read_bytes(), x)
        np.testing.assert_array_equal(have, want)
        assert np.unique(want).size > 3


@pytest.mark.parametrize("form", ["true", "direct", "shift"])
def test_mean_of_integers(form, tmp_path):
    """An average of int8 is int8 in Aidge, halves away from zero."""
    def net(e: Export):
        x = e.conv(e.input(), 3, 8)
        return e.model(x, e.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2]))

    done, out = rewrite(net(Export(form)), "aidge_export_qdq", tmp_path)
    assert done.returncode == 0, done.stderr
    x = np.random.default_rng(0).normal(0, 3, (1, 3, 8, 8)).astype(np.float32)
    whole, have = run(out.read_bytes(), x)
    mean = whole.astype(float).reshape(1, 8, 4, 2, 4, 2).mean((3, 5))
    assert (np.abs(mean % 1 - 0.5) < 1e-6).sum() > 10
    np.testing.assert_array_equal(have, np.sign(mean) * np.floor(np.abs(mean) + 0.5))


@pytest.mark.parametrize("kind", ["LeakyRelu", "Sigmoid", "HardSwish"])
def test_float_operator_on_integers(kind, tmp_path):
    e = Export("true")
    done, out = rewrite(e.model(e.conv(e.op(kind, e.conv(e.input(), 3, 8)), 8, 4)), "aidge_export_qdq", tmp_path)
    assert done.returncode == 3 and f"{kind} " in done.stderr and "export with fake_quantize" in done.stderr and not out.exists()


def test_second_run(tmp_path):
    """What the first run left - a layer whose weights are no int8, values that it reads as integers - the second leaves, too."""
    e = Export("fake")
    x = e.conv(e.input(), 3, 8)
    model = e.model(e.conv(x, 8, 4, top=300), e.op("Exp", x))
    done, out = rewrite(model, "aidge_export_qdq", tmp_path)
    assert done.returncode == 0 and "could not be converted" in done.stderr
    first = out.read_bytes()
    done, out = rewrite(onnx.load_from_string(first), "aidge_export_qdq", tmp_path)
    assert done.returncode == 0 and "0 rewrites" in done.stdout, done.stdout
