"""Float networks for the tests of rules/deeploy.yaml, quantized by ONNX Runtime, and what the lowered ones compute: an interpreter
of Deeploy's integer operators. The weights are random; the shapes of the first four are those of MLPerf Tiny's networks."""
from pathlib import Path

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static


class Net:
    """Operators one behind the other; every method returns the name of its result."""

    def __init__(self, inputs: dict[str, list[int]]):
        self.rng, self.inputs = np.random.default_rng(len(inputs)), inputs
        self.nodes, self.constants, self.outputs = [], [], []

    def const(self, value) -> str:
        name = f"w.{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, *shape: int, fan: int) -> str:
        return self.const(self.rng.normal(0, (2 / fan) ** 0.5, shape).astype(np.float32))

    def op(self, kind: str, *inputs: str, out: str = "", **attributes) -> str:
        out = out or f"/{kind.lower()}.{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [out], name=f"/{kind}.{len(self.nodes)}", **attributes))
        return out

    def conv(self, x: str, inner: int, outer: int, kernel=(3, 3), stride: int = 1, pads=None, group: int = 1, act: str = "Relu", **more) -> str:
        pads = [k // 2 for k in kernel] * 2 if pads is None else pads
        w = self.weight(outer, inner // group, *kernel, fan=inner // group * int(np.prod(kernel)))
        bias = self.const(self.rng.normal(0, 0.1, outer).astype(np.float32))
        y = self.op("Conv", x, w, bias, kernel_shape=list(kernel), strides=[stride] * len(kernel), pads=pads, group=group, **more)
        return self.act(y, act)

    def fc(self, x: str, inner: int, outer: int, act: str = "") -> str:
        bias = self.const(self.rng.normal(0, 0.1, outer).astype(np.float32))
        return self.act(self.op("Gemm", x, self.weight(outer, inner, fan=inner), bias, transB=1), act)

    def act(self, y: str, kind: str) -> str:
        if kind == "Relu6":
            return self.op("Clip", y, self.const(np.float32(0)), self.const(np.float32(6)))
        return self.op(kind, y) if kind else y

    def head(self, x: str, channels: int, classes: int) -> "Net":
        return self.end(self.fc(self.op("Flatten", self.op("GlobalAveragePool", x)), channels, classes))

    def end(self, *outputs: str) -> "Net":
        self.outputs = list(outputs)
        return self

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in self.inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def resnet8() -> Net:
    net = Net({"input": [1, 3, 32, 32]})
    x, inner = net.conv("input", 3, 16), 16
    for outer, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(net.conv(x, inner, outer, stride=stride), outer, outer, act="")
        x = x if stride == 1 else net.conv(x, inner, outer, (1, 1), stride, act="")
        x, inner = net.op("Relu", net.op("Add", y, x)), outer
    pooled = net.op("AveragePool", x, kernel_shape=[8, 8], strides=[8, 8])
    return net.end(net.fc(net.op("Flatten", pooled), 64, 10))


def dscnn() -> Net:
    net = Net({"input": [1, 1, 49, 10]})
    x = net.conv("input", 1, 64, (10, 4), 2, [4, 1, 5, 1])
    for _ in range(4):
        x = net.conv(net.conv(x, 64, 64, group=64), 64, 64, (1, 1))
    return net.head(x, 64, 12)


def mobilenet() -> Net:
    net = Net({"input": [1, 3, 96, 96]})
    x, inner = net.conv("input", 3, 8, stride=2, pads=[0, 0, 1, 1], act="Relu6"), 8
    for outer, stride in ((16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)):
        x = net.conv(x, inner, inner, stride=stride, pads=None if stride == 1 else [0, 0, 1, 1], group=inner, act="Relu6")
        x, inner = net.conv(x, inner, outer, (1, 1), act="Relu6"), outer
    return net.head(x, 256, 2)


def autoencoder() -> Net:
    net, x, inner = Net({"input": [1, 640]}), "input", 640
    for outer in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x, inner = net.fc(x, inner, outer, "Relu"), outer
    return net.end(net.fc(x, inner, 640))


def joins() -> Net:
    """Concat of five parts, one a pooled value, one read elsewhere; uneven pads, dilations, groups, averages."""
    net = Net({"in.put": [1, 3, 16, 16]})
    x = net.conv("in.put", 3, 8, stride=2, pads=[0, 0, 1, 1])
    pooled = net.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4, strides=[1, 1])
    parts = [net.conv(x, 8, 8, (1, 1)), net.conv(x, 8, 8, group=4), net.conv(x, 8, 8, pads=[2] * 4, dilations=[2, 2]), pooled, x]
    y = net.op("AveragePool", net.op("Concat", *parts, axis=1), kernel_shape=[3, 3], pads=[1] * 4, strides=[2, 2], count_include_pad=1)
    return net.end(net.op("Flatten", net.conv(y, 40, 4)))


def dense() -> Net:
    """Layers that read all layers above; their Concats begin alike, and have the range of the first part."""
    net = Net({"input": [1, 3, 8, 8]})
    parts = [net.op("Mul", net.conv("input", 3, 4, act=""), net.const(np.float32(40)))]
    for _ in range(3):
        x = net.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        parts.append(net.op("Mul", net.conv(net.op("Relu", x), 4 * len(parts), 4, act=""), net.const(np.float32(0.3))))
    return net.head(net.op("Concat", *parts, axis=1), 16, 3)


def outputs() -> Net:
    """Two inputs; outputs that are read inside, of a Flatten, of a sum."""
    net = Net({"a": [1, 3, 8, 8], "b": [1, 3, 8, 8]})
    x, y = net.conv("a", 3, 4), net.conv("b", 3, 4)
    total = net.op("Add", x, y)
    last = net.conv(net.op("Add", total, total), 4, 4, act="")
    return net.end(x, total, net.op("Flatten", last), last)


def sequence() -> Net:
    """One dimension."""
    net = Net({"input": [1, 4, 64]})
    x = net.op("MaxPool", net.conv("input", 4, 16, (5,), 2), kernel_shape=[2], strides=[2])
    x = net.conv(net.conv(x, 16, 16, (3,), group=16), 16, 24, (1,))
    return net.head(x, 24, 3)


def attention() -> Net:
    """Rectified attention, without a Softmax, which Deeploy computes otherwise."""
    net = Net({"input": [1, 16, 32]})

    def linear(x: str, inner: int, outer: int) -> str:
        y = net.op("MatMul", x, net.weight(inner, outer, fan=2 * inner))
        return net.op("Add", y, net.const(net.rng.normal(0, 0.1, outer).astype(np.float32)))

    q, k, v = (net.op("Transpose", net.op("Reshape", linear("input", 32, 32), net.const([1, 16, 4, 8])), perm=[0, 2, 1, 3]) for _ in range(3))
    scores = net.op("Div", net.op("MatMul", q, net.op("Transpose", k, perm=[0, 1, 3, 2])), net.const(np.float32(8 ** 0.5)))
    y = net.op("MatMul", net.op("Relu", scores), v)
    y = net.op("Reshape", net.op("Transpose", y, perm=[0, 2, 1, 3]), net.const([1, 16, 32]))
    return net.end(net.op("Add", linear(y, 32, 32), "input"))


def gated() -> Net:
    """Squeeze and excitation, halves that are multiplied, rows and a column that are picked."""
    net = Net({"input": [1, 3, 14, 14]})
    x = net.conv("input", 3, 16, stride=2)
    squeezed = net.conv(net.op("GlobalAveragePool", x), 16, 4, (1, 1))
    x = net.op("Mul", x, net.op("HardSigmoid", net.conv(squeezed, 4, 16, (1, 1), act=""), alpha=1 / 6))
    net.op("Split", x, net.const([8, 8]), out="a", axis=1)
    net.nodes[-1].output.append("b")
    x = net.op("Mul", net.conv("a", 8, 8, act=""), "b")
    x = net.op("Slice", x, net.const([-2]), net.const([2**31]), net.const([2]))
    return net.end(net.conv(net.op("Gather", x, net.const([1, 3, 5]), axis=3), 8, 4, (1, 1), act=""), x)


def upscaled() -> Net:
    """A U-Net: one transposed convolution with patches beside each other, one with patches that overlap, one nearest Resize."""
    net = Net({"input": [1, 3, 16, 16]})

    def larger(x: str, inner: int, outer: int, kernel: int, pads: int, more: int) -> str:
        w = net.weight(inner, outer, kernel, kernel, fan=inner * kernel)
        bias = net.const(net.rng.normal(0, 0.1, outer).astype(np.float32))
        return net.op("ConvTranspose", x, w, bias, kernel_shape=[kernel] * 2, strides=[2, 2], pads=[pads] * 4, output_padding=[more] * 2)

    x = net.conv("input", 3, 8)
    y = net.conv(x, 8, 16, stride=2)
    z = net.conv(y, 16, 16, stride=2)
    y = net.op("Concat", net.op("Relu", larger(z, 16, 8, 2, 0, 0)), y, axis=1)
    x = net.op("Concat", larger(y, 24, 8, 3, 1, 1), x, axis=1)
    z = net.op("Resize", z, "", net.const(np.float32([1, 1, 4, 4])), mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return net.end(net.conv(net.op("Concat", x, z, axis=1), 32, 4, act=""))


NETS = {f.__name__: f for f in (resnet8, dscnn, mobilenet, autoencoder, joins, dense, outputs, sequence, attention, gated, upscaled)}
SIGNED = {"activation_type": QuantType.QInt8, "weight_type": QuantType.QInt8, "per_channel": True}
KINDS = {  # how ONNX Runtime quantizes
    "int8": SIGNED,
    "uint8": {"activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8},
    "symmetric": {**SIGNED, "extra_options": {"ActivationSymmetric": True}},
    "pairs": {**SIGNED, "per_channel": False, "extra_options": {"DedicatedQDQPair": True, "AddQDQPairToWeight": True}},
}


class Samples(CalibrationDataReader):
    def __init__(self, feeds: list[dict]):
        self.left = iter(feeds)

    def get_next(self):
        return next(self.left, None)


def quantized(net: Net, kind: str, folder: Path) -> tuple[Path, list[dict]]:
    """The quantized model, and the samples that it was calibrated on."""
    rng = np.random.default_rng(99)
    feeds = [{n: rng.normal(size=s).astype(np.float32) for n, s in net.inputs.items()} for _ in range(4)]
    source, out = folder / "float.onnx", folder / "model.onnx"
    onnx.save(net.model(), source)
    quantize_static(source, out, Samples(feeds), quant_format=QuantFormat.QDQ, **KINDS[kind])
    return out, feeds


# What Deeploy computes: integers, accumulators of 32 bits, and RequantShift.

def wrapped(v: np.ndarray) -> np.ndarray:
    return (v + 2**31) % 2**32 - 2**31


def windows(x: np.ndarray, a: dict, kernel, fill: int) -> np.ndarray:
    """[n, c, out..., kernel...]"""
    dims = len(kernel)
    pads = a.get("pads", [0] * 2 * dims)
    x = np.pad(x, [(0, 0), (0, 0), *zip(pads[:dims], pads[dims:])], constant_values=fill)
    view = sliding_window_view(x, tuple(kernel), axis=tuple(range(2, 2 + dims)))
    return view[(slice(None), slice(None), *(slice(None, None, s) for s in a.get("strides", [1] * dims)))]


def conv(x, w, a):
    dims, group = w.ndim - 2, a["group"]
    assert a["dilations"] == [1] * dims
    view = windows(x, a, w.shape[2:], 0).astype(np.float64)      # exact: sums below 2**53
    axes = list(range(1, 2 + dims))
    parts = []
    for part, kernel in zip(np.split(view, group, axis=1), np.split(w.astype(np.float64), group)):
        sums = np.tensordot(part, kernel, axes=([1, *range(2 + dims, 2 + 2 * dims)], axes))     # [n, out..., m]
        parts.append(np.moveaxis(sums, -1, 1))
    return np.rint(np.concatenate(parts, 1)).astype(np.int64)


def requant_shift(x, mul, add, a):
    div, levels, signed = (int(np.ravel(a[k])[0]) for k in ("div", "n_levels_out", "signed"))
    assert levels % 2 == 0 and div & (div - 1) == 0
    shifted = wrapped(wrapped(x * mul) + add + div // 2) >> div.bit_length() - 1
    return np.clip(shifted, -(levels // 2) if signed else 0, levels // 2 - 1 if signed else levels - 1)


def evaluate(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    values = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    assert all(np.array_equal(v, np.rint(v)) for v in values.values())
    values = {k: np.rint(v).astype(np.int64) for k, v in values.items()} | {k: v.astype(np.int64) for k, v in feeds.items()}
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*model.graph.value_info, *model.graph.output)}
    for node in model.graph.node:
        a = {at.name: helper.get_attribute_value(at) for at in node.attribute}
        a = {k: numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for k, v in a.items()}
        ins = [values[i] for i in node.input]
        kind, x = node.op_type, ins[0]
        if kind == "Conv":
            y = conv(x, ins[1], a)
        elif kind == "Gemm":
            assert a["alpha"] == a["beta"] == 1 and not a.get("transA")
            y = x @ (ins[1].T if a["transB"] else ins[1]) + ins[2]
        elif kind == "MatMul":
            y = x @ ins[1]
        elif kind == "Add":
            y = x + ins[1]
        elif kind == "Mul":
            assert x.shape == ins[1].shape
            y = x * ins[1]
        elif kind == "Slice":
            begin, end, axes, steps = ins[1:]
            assert max(end) < 256 and len({i for i in node.input[1:]}) == 4
            y = x[tuple(slice(*dict(zip(axes, zip(begin, end, steps))).get(k, (None,))) for k in range(x.ndim))]
        elif kind == "RequantShift":
            y = requant_shift(x, ins[1], ins[2], a)
        elif kind == "MaxPool":
            view = windows(x, a, a["kernel_shape"], -2**40)
            y = view.max(axis=tuple(range(-len(a["kernel_shape"]), 0)))
        elif kind == "Pad":
            half = len(a["pads"]) // 2
            assert a["pads"][:half] == a["pads"][half:]
            y = np.pad(x, [(p, p) for p in a["pads"][:half]], constant_values=int(a["value"]))
        elif kind == "Concat":
            y = np.concatenate(ins, a["axis"])
        elif kind == "Transpose":
            y = x.transpose(a["perm"])
        else:
            assert kind in ("Reshape", "Flatten", "Squeeze", "Unsqueeze"), kind
            y = x.reshape(shapes[node.output[0]])
        assert list(y.shape) == shapes[node.output[0]], node.name
        values[node.output[0]] = wrapped(y)
    return values
