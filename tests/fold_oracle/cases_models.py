"""Cases of operators of whole networks: convolutions, pooling, normalizations, and those that are run in whole models only."""

import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403

SUMS = {"ulp": 1 << 14, "atol": 1e-5}  # ORT sums in float32


def image(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(F32)


def bytes_of(shape, dtype, seed=0):
    info = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(info.min, info.max + 1, shape).astype(dtype)


def small(shape, seed=0):
    """Weights for which ORT adds pairs of products in 16 bits without saturating."""
    return np.random.default_rng(seed).integers(-63, 64, shape).astype(I8)


def convolutions():
    x, w = image((2, 4, 7, 6)), image((6, 4, 3, 2), 1)
    cases = [Case("Conv", [x, w, image((6,), 2)], attrs, **SUMS) for attrs in [
        {}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"dilations": [2, 1], "pads": [2, 2, 2, 2]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "SAME_LOWER"}, {"auto_pad": "VALID"}]]
    cases += [
        Case("Conv", [x, image((6, 2, 3, 3)), None], {"group": 2}, **SUMS),
        Case("Conv", [x, image((4, 1, 3, 3))], {"group": 4, "pads": [1, 1, 1, 1]}, opset=7, **SUMS),
        Case("Conv", [image((1, 2, 9)), image((3, 2, 4))], {"strides": [2]}, **SUMS),
        Case("Conv", [image((1, 2, 4, 5, 3)), image((3, 2, 2, 2, 2))], **SUMS),
        Case("Conv", [image((1, 3, 70, 80)), image((2, 3, 3, 3))], **SUMS),  # more than one block of results
        Case("Conv", [x, image((6, 3, 3, 2))], oracle="fails"),
        Case("Conv", [x, w, image((5,))], oracle="fails"),
        Case("Conv", [x, w], {"strides": [1]}, oracle="fails"),
        Case("Conv", [x, w], {"kernel_shape": [1, 1]}, oracle="fails"),
        Case("Conv", [x, w], {"strides": [0, 1]}, oracle="fails"),
        Case("ConvInteger", [bytes_of((1, 2, 5, 5), U8), bytes_of((3, 2, 3, 3), U8, 1),
                             np.array(120, U8), np.array(130, U8)]),
        Case("ConvInteger", [bytes_of((1, 2, 5, 5), U8), bytes_of((3, 2, 3, 3), U8, 1)]),
        Case("ConvInteger", [x, w], oracle="fails"),
    ]
    return cases


def transposed_convolutions():
    x, w = image((2, 4, 5, 3)), image((4, 3, 3, 2), 1)
    cases = [Case("ConvTranspose", [x, w, image((3,), 2)], attrs, **SUMS) for attrs in [
        {}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"dilations": [2, 1]}, {"auto_pad": "VALID"},
        {"strides": [3, 2], "output_padding": [2, 1]}, {"strides": [2, 2], "pads": [1, 1, 0, 0], "output_padding": [1, 0]}]]
    return cases + [
        Case("ConvTranspose", [x, image((4, 3, 2, 2)), image((6,), 2)], {"group": 2}, **SUMS),
        Case("ConvTranspose", [x, image((4, 1, 2, 2))], {"group": 4, "strides": [2, 2]}, opset=9, **SUMS),
        Case("ConvTranspose", [image((1, 2, 7)), image((2, 3, 4))], {"strides": [2]}, **SUMS),
        Case("ConvTranspose", [image((1, 2, 2, 3, 2)), image((2, 3, 2, 2, 2))], **SUMS),
        Case("ConvTranspose", [x, image((3, 3, 3, 2))], oracle="fails"),
        Case("ConvTranspose", [x, w, image((5,))], oracle="fails"),
        Case("ConvTranspose", [x, w], {"kernel_shape": [1, 1]}, oracle="fails"),
    ]


def pools():
    x = image((2, 3, 7, 6))
    windows = [{"kernel_shape": [3, 2]}, {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]},
               {"kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
               {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
               {"kernel_shape": [2, 2], "dilations": [2, 3]}]
    cases = [Case("MaxPool", [x], w) for w in windows]
    for order in (0, 1):  # where the largest are
        cases += [Case("MaxPool", [x], {**w, "storage_order": order}, outputs=2) for w in windows]
        cases += [Case("MaxPool", [image((1, 2, 9))], {"kernel_shape": [4], "strides": [3], "storage_order": order}, outputs=2, opset=11),
                  Case("MaxPool", [image((2, 2, 4, 3, 5))], {"kernel_shape": [2, 2, 3], "storage_order": order}, outputs=2),
                  Case("MaxPool", [bytes_of((2, 2, 4, 4), I8)], {**windows[0], "storage_order": order}, outputs=2),
                  Case("MaxPool", [image((0, 2, 4, 4))], {**windows[0], "storage_order": order}, outputs=2)]
    cases += [Case("AveragePool", [x], w, **SUMS) for w in windows]
    cases += [Case("AveragePool", [x], {**w, "count_include_pad": 1}, **SUMS) for w in windows]
    cases += [
        Case("MaxPool", [bytes_of((1, 2, 4, 4), I8)], windows[0]),
        Case("MaxPool", [bytes_of((1, 2, 4, 4), U8)], windows[1]),
        Case("MaxPool", [image((1, 2, 9))], {"kernel_shape": [4], "strides": [3]}, opset=11),
        Case("MaxPool", [image((1, 2, 1))], {"kernel_shape": [2], "strides": [2], "ceil_mode": 1}),
        Case("MaxPool", [image((1, 2, 2, 3))], {"kernel_shape": [3, 3], "strides": [2, 3], "ceil_mode": 1}),
        Case("GlobalMaxPool", [x]), Case("GlobalAveragePool", [x], **SUMS),
        Case("MaxPool", [x], {}, oracle="fails"),
        # Windows that see padding alone: ONNX Runtime refuses such pads.
        Case("MaxPool", [x], {"kernel_shape": [1, 1], "pads": [1, 0, 1, 0]}, oracle="fails"),
        Case("AveragePool", [x], {"kernel_shape": [1, 1], "pads": [1, 0, 1, 0]}, oracle="fails"),
        Case("MaxPool", [x], {"kernel_shape": [2]}, oracle="fails"),
        Case("AveragePool", [a([1.0, 2.0])], {"kernel_shape": [2]}, oracle="fails"),
        Case("AveragePool", [image((1, 1, 3))], {"kernel_shape": [2], "pads": [2, 0]}, oracle="fails"),
        Case("MaxPool", [bytes_of((1, 1, 1), I8)], {"kernel_shape": [2], "pads": [1, 1], "dilations": [2]}, oracle="fails"),
        Case("AveragePool", [image((1, 1, 1))], {"kernel_shape": [2], "pads": [1, 1], "dilations": [2], "count_include_pad": 1}, opset=19, **SUMS),
    ]
    return cases


def normalizations():
    x = image((2, 3, 4, 5))
    s, b, m, v = (np.abs(image((3,), i)) for i in range(4))
    return [
        Case("BatchNormalization", [x, s, b, m, v], {"epsilon": 1e-3}, **SUMS),
        Case("BatchNormalization", [image((4, 3)), s, b, m, v], opset=9, **SUMS),
        Case("BatchNormalization", [x, s, b, m, image((2,))], oracle="fails"),
        Case("BatchNormalization", [x, s, b, m.reshape(-1, 1), m], oracle="fails"),
        Case("InstanceNormalization", [x, s, b], {"epsilon": 1e-2}, **SUMS),
        Case("InstanceNormalization", [image((2, 3)), s, b], oracle="fails"),
        Case("GroupNormalization", [image((2, 6, 4, 3)), image((6,)), image((6,), 1)], {"num_groups": 3, "epsilon": 1e-2}, **SUMS),
        Case("GroupNormalization", [image((2, 6, 4, 3)), image((3,)), image((3,), 1)], {"num_groups": 3}, opset=18, **SUMS),
        Case("GroupNormalization", [image((2, 6, 4, 3)), image((5,)), image((5,), 1)], {"num_groups": 3}, oracle="fails"),
        Case("LRN", [image((2, 5, 3, 2))], {"size": 3}, **SUMS),
        Case("LRN", [image((2, 5, 3, 2))], {"size": 5, "alpha": 0.5, "beta": 0.5, "bias": 2.0}, **SUMS),
        Case("LayerNormalization", [x, image((5,)), image((5,), 1)], **SUMS),
        Case("LayerNormalization", [x, image((4, 5))], {"axis": 2}, **SUMS),
        Case("LayerNormalization", [x, image((4,))], oracle="fails"),
        Case("MeanVarianceNormalization", [x], **SUMS), Case("MeanVarianceNormalization", [x], opset=9, **SUMS),
        Case("MeanVarianceNormalization", [x], {"axes": [0, 3]}, **SUMS),
        Case("MeanVarianceNormalization", [image((4, 3))], {"axes": [-1]}, **SUMS),
        Case("MeanVarianceNormalization", [image((4, 3))], oracle="fails"),
        Case("MeanVarianceNormalization", [x.astype(F16)], oracle="fails"),
        Case("Dropout", [x]), Case("Dropout", [x, np.array(0.5, F32)]), Case("Dropout", [x], opset=7),
        Case("Dropout", [x, np.array(0.5, F32), np.array(True)], oracle="fails"),
        Case("Dropout", [x, np.array(0.5, F32)], outputs=2),
        Case("Dropout", [x], {"ratio": 0.5}, opset=11, outputs=2),
        Case("Dropout", [x], opset=7, outputs=2, oracle="fails"),
    ] + lp_normalizations(x)


def lp_normalizations(x):
    def by(p, axis):
        def run(v):
            wide = v.astype(F64)
            norm = np.abs(wide).sum(axis, keepdims=True) if p == 1 else np.sqrt((wide * wide).sum(axis, keepdims=True))
            return [np.where(norm == 0, 0, wide / np.where(norm == 0, 1, norm)).astype(v.dtype)]

        return ref(run, "ORT has no kernel for the type")

    op, zeros = "LpNormalization", a([[0, -0.0, 0], [3, -4, 0], [INF, 1, 2], [1, NAN, 2], [1e30, 1e30, 0]])
    forms = [{"p": p, "axis": axis} for p in (1, 2) for axis in (-4, -1, 0, 1, 3)] + [{}]
    return [Case(op, [x], form, opset=opset, **SUMS) for form in forms for opset in (7, 22)] + [
        Case(op, [x.astype(F64)], {"p": p}, ulp=4) for p in (1, 2)] + [
        Case(op, [x.astype(t)], {"p": p, "axis": 2}, opset=22, ulp=1, **by(p, 2)) for p in (1, 2) for t in (F16, BF16)] + [
        Case(op, [zeros], {"p": 1}, opset=22, **SUMS), Case(op, [zeros[:4]], opset=22, **SUMS), Case(op, [zeros[4:]], opset=22, **by(2, 1)),
        Case(op, [ramp((2, 0))], opset=22, **by(2, 1)), Case(op, [ramp((0, 3))], opset=22, **by(2, 1)),
        Case(op, [x], {"p": 3}, oracle="fails"), Case(op, [x], {"axis": 4}, oracle="fails"), Case(op, [a(1.0)], oracle="fails"),
        Case(op, [ints(1, 2)], oracle="fails"),
    ]


def fused():
    ms = {"domain": "com.microsoft", **SUMS}
    x, w, b = image((2, 4, 5, 6)), image((6, 4, 3, 2), 1), image((6,), 2)
    activations = [("Relu", []), ("Sigmoid", []), ("Tanh", []), ("LeakyRelu", [0.3]), ("HardSigmoid", [0.3, 0.6]),
                   ("Clip", [-0.5, 1.5])]
    cases = [Case("FusedConv", [x, w, b], {"activation": kind, **({"activation_params": p} if p else {}), "pads": [1, 0, 1, 1]}, **ms)
             for kind, p in activations]
    cases += [Case("FusedConv", [x, w, b, image((2, 6, 3, 5), 3)], {"activation": "Relu"}, **ms),
              Case("FusedConv", [x, w, b, image((6, 1, 1), 3)], {"activation": "Relu"}, oracle="fails", **ms),
              Case("FusedConv", [x, w, b], {"activation": "HardSigmoid", "activation_params": [0.3]}, oracle="fails", **ms)]
    m, n, c = image((3, 4)), image((5, 4), 1), image((5,), 2)
    for kind, p in activations[:5] + [("Elu", [0.7])]:
        attrs = {"activation": kind, "transB": 1, "alpha": 0.5, **dict(zip(["activation_alpha", "activation_beta"], p))}
        cases += [Case("FusedGemm", [m, n, c], attrs, **ms)]
    cases += [Case("FusedGemm", [m, n, c], {"activation": "LeakyRelu", "transB": 1}, oracle="fails", **ms)]
    u, i = bytes_of((3, 4), U8), small((4, 2))
    one, per = np.array(0.1, F32), np.array([0.2, 0.3], F32)
    blocks, bias = small((3, 4, 2)), np.array([1.5, -2.5], F32)
    product = "MatMulIntegerToFloat"
    vector = bytes_of((4,), U8)
    cases += [Case(product, [vector, small((4,)), one, per[:1]], **ms), Case(product, [vector, i, one, per[:1]], **ms)]
    cases += [Case(product, [u, i, one, one], **ms), Case(product, [u, i, one, per, np.array(120, U8), np.array([3, 4], I8)], **ms),
              Case(product, [u, i, one, per, None, None, bias], **ms), Case(product, [u, blocks, one, one, np.array(7, U8), None, bias], **ms),
              Case(product, [u, blocks, one, per, None, None, bias], oracle="fails", **ms),
              Case(product, [u, i, one, one, None, None, np.array([[1.0, 2.0]], F32)], oracle="fails", **ms)]
    floats, dynamic = image((3, 4)), "DynamicQuantizeMatMul"
    cases += [Case(dynamic, [floats, i, one], **ms), Case(dynamic, [floats, i, per, np.array([3, 4], I8)], **ms),
              Case(dynamic, [floats, bytes_of((4, 2), U8), one, np.array(9, U8), bias], **ms), Case(dynamic, [image((2, 3, 4)), i, one, None, bias], **ms)]
    return cases


def recurrent():
    t, n, i, h = 4, 2, 3, 2
    cases = []
    for op, gates in ("LSTM", 4), ("GRU", 3):
        for direction in "forward", "reverse", "bidirectional":
            d = 2 if direction == "bidirectional" else 1
            x = image((t, n, i))
            w, r, b = image((d, gates * h, i), 1), image((d, gates * h, h), 2), image((d, 2 * gates * h), 3)
            h0, c0, p = image((d, n, h), 4), image((d, n, h), 5), image((d, 3 * h), 6)
            lengths = np.array([2, 4], np.int32)
            attrs, outputs = {"hidden_size": h, "direction": direction}, 3 if op == "LSTM" else 2
            cases += [Case(op, [x, w, r], attrs, outputs=outputs, **SUMS), Case(op, [x, w, r, b], attrs, outputs=outputs, **SUMS),
                      Case(op, [x, w, r, b, lengths, h0], attrs, outputs=outputs, **SUMS),
                      Case(op, [x, w, r, b], {**attrs, "activations": (["Sigmoid", "Relu"] + (["Tanh"] if op == "LSTM" else [])) * d}, outputs=outputs, **SUMS),
                      Case(op, [x, w, r, b], attrs, opset=11, **SUMS)]
            if op == "LSTM":
                cases.append(Case(op, [x, w, r, b, None, h0, c0, p], attrs, outputs=3, **SUMS))
            else:
                cases += [Case(op, [x, w, r, b, None, h0], {**attrs, "linear_before_reset": 1}, outputs=2, **SUMS)]
    return cases


def resizes():
    x = image((1, 2, 5, 4))
    up, odd = np.array([1, 1, 2, 3], F32), np.array([1, 1, 1.7, 0.6], F32)
    cases = []
    for coordinates in ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]:
        for mode in ["nearest", "linear", "cubic"]:
            attrs = {"mode": mode, "coordinate_transformation_mode": coordinates}
            cases += [Case("Resize", [x, None, scales], attrs, **SUMS) for scales in (up, odd)]
    for nearest in ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"]:
        cases.append(Case("Resize", [x, None, up], {"nearest_mode": nearest}))
    # Sizes and places that are whole numbers in float32 and not in float64, or the other way round.
    row = image((1, 1, 1, 10))
    for scale in [0.6, 0.7, 1.2, 1.9, 2.3, 2.4, 3.3, 7 / 3]:
        for nearest in ["floor", "ceil", "round_prefer_floor"]:
            for coordinates in ["asymmetric", "half_pixel"]:
                attrs = {"nearest_mode": nearest, "coordinate_transformation_mode": coordinates}
                cases.append(Case("Resize", [row, None, np.array([1, 1, 1, scale], F32)], attrs))
    for size, to in [(10, 12), (14, 4), (20, 6)]:  # halves that float32 misses
        for coordinates in ["asymmetric", "half_pixel"]:
            attrs = {"nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": coordinates}
            cases.append(Case("Resize", [image((1, 1, 1, size)), None, None, ints(1, 1, 1, to)], attrs))
    cases += [
        Case("Resize", [x, None, None, ints(1, 2, 9, 3)], {"mode": "linear"}, **SUMS),
        Case("Resize", [x, None, up], {"mode": "linear"}, opset=13, **SUMS),
        Case("Resize", [x, up], opset=10), Case("Upsample", [x, up], opset=9),
        Case("Resize", [bytes_of((1, 1, 3, 3), U8), None, up]),
        Case("Resize", [x, None, up], {"antialias": 1, "mode": "linear"}, oracle="fails"),
        Case("Resize", [x, None, a([2.0])], oracle="fails"),
        Case("Resize", [x, None, a([1, 1, NAN, 1])], oracle="fails"),
        Case("Resize", [x, None, a([1, 1, -1, 1])], oracle="fails"),
    ]
    return cases


def quantized(shape, dtype, scale, zero, seed=0):
    return [bytes_of(shape, dtype, seed), np.array(scale, F32), np.array(zero, dtype)]


def qlinear():
    out = [np.array(0.7, F32), np.array(100, U8)]
    x = quantized((2, 4, 5, 5), U8, 0.05, 120)
    w = [small((6, 4, 3, 3)), np.array(0.03, F32), np.array(0, I8)]
    rows = [w[0], np.abs(image((6,))) / 10 + a(0.01), np.zeros(6, I8)]
    bias = np.random.default_rng(3).integers(-5000, 5000, 6).astype(I32)
    m, n = quantized((3, 8), U8, 0.05, 120), [small((8, 5)), np.array(0.03, F32), np.array(0, I8)]
    columns = [n[0], np.abs(image((5,))) / 10 + a(0.01), np.zeros(5, I8)]
    p, q = quantized((2, 3, 4, 4), U8, 0.1, 100), quantized((2, 3, 4, 4), U8, 0.2, 90, 1)
    last = [x[0].transpose(0, 2, 3, 1).copy()] + x[1:]
    ms = {"domain": "com.microsoft"}
    return [
        Case("QLinearConv", x + w + out),
        Case("QLinearConv", x + rows + out + [bias], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
        Case("QLinearConv", x + w + out + [bias[:5]], oracle="fails"),
        Case("QLinearConv", x + w + out + [np.full(6, 2147483647, I32)], oracle="fails"),
        Case("QLinearMatMul", m + n + out),
        Case("QLinearMatMul", [bytes_of((3, 2), U8)] + m[1:] + [small((2,)), a([0.03, 0.05]), np.zeros(2, I8)] + out, oracle="fails"),
        Case("QGemm", m + n + [np.full(5, 2147483647, I32)] + out, oracle="fails", **ms),
        Case("QLinearMatMul", m + columns + out),
        Case("QLinearConv", x + rows + out + [bias], **ms),
        Case("QGemm", m + columns + [bias[:5]] + out, {"alpha": 0.5}, **ms),
        Case("QGemm", m + [n[0].T.copy()] + columns[1:] + [bias[:5]], {"transB": 1}, ulp=4, **ms),
        Case("QGemm", m + n + [None] + out, **ms),
        Case("QLinearAdd", p + q + out, **ms), Case("QLinearMul", p + q + out, **ms),
        Case("QLinearSigmoid", p + [np.array(1 / 256, F32), np.array(0, U8)], **ms),
        Case("QLinearLeakyRelu", p + out, {"alpha": 0.1}, **ms),
        Case("QLinearConcat", out + p + q, {"axis": 1}, **ms),
        Case("QLinearConcat", out + p + [q[0].astype(I8), q[1], np.array(3, I8)], {"axis": 1}, oracle="fails", **ms),
        Case("QLinearWhere", [p[0] > 100] + p + q + out, **ms),
        Case("QLinearSoftmax", p + [np.array(1 / 256, F32), np.array(0, U8)], {"axis": -1, "opset": 13}, **ms),
        *(Case("QLinearAveragePool", p + [np.array(0.7123, F32), np.array(100, U8)],
               {"kernel_shape": [2, 2], "strides": [3, 3], "ceil_mode": 1, "count_include_pad": k, "pads": pads}, **ms)
          for k in (0, 1) for pads in ([0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 0])),
        Case("QLinearAveragePool", p + [np.array(0.7123, F32), np.array(100, U8)], {"kernel_shape": [2, 2]}, **ms),
        Case("QLinearGlobalAveragePool", p + out, **ms),
        # Channels last, as ONNX Runtime writes it for its kernels.
        Case("QLinearGlobalAveragePool", p + out, {"channels_last": 1}, **ms),
        Case("QLinearAveragePool", p + [np.array(0.7123, F32), np.array(100, U8)], {"kernel_shape": [2, 2], "channels_last": 1}, **ms),
        Case("NhwcMaxPool", last[:1], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "strides": [2, 1]}, **ms),
        Case("QLinearConv", last + rows + out + [bias], {"pads": [1, 1, 1, 1], "strides": [2, 1], "channels_last": 1}, **ms),
    ] + block_weights()


def transformers():
    """What ONNX Runtime's optimizer of transformers writes."""
    ms = {"domain": "com.microsoft"}
    x, skip, batch = image((2, 3, 8)), image((2, 3, 8), 5), image((1, 3, 8), 7)
    gamma, beta, bias = image((8,)), image((8,), 2), image((8,), 3)
    m, n = image((2, 3, 4)), image((2, 4, 5), 1)
    matrices = {0: (m, n), 1: (m.transpose(0, 2, 1).copy(), n.transpose(0, 2, 1).copy())}
    near = {"ulp": 64, "atol": 2e-6}
    cases = [
        Case("Gelu", [x], **near, **ms), Case("BiasGelu", [x, bias], **near, **ms), Case("BiasGelu", [x, bias[:5]], oracle="fails", **ms),
        Case("FastGelu", [x], **near, **ms), Case("FastGelu", [x, bias], **near, **ms),
        Case("QuickGelu", [x], **near, **ms), Case("QuickGelu", [x], {"alpha": 1.0}, **near, **ms),
        Case("SimplifiedLayerNormalization", [x, gamma], **near), Case("SimplifiedLayerNormalization", [x, gamma], {"epsilon": 0.5, "axis": 2}, **near),
        Case("SimplifiedLayerNormalization", [x, gamma[:5]], oracle="fails"),
        Case("FusedMatMul", [m, n[0]], {"alpha": 0.125}, **near, **ms),
        Case("FusedMatMul", [m, n], {"transBatchA": 1}, oracle="fails", **ms),
        Case("FusedMatMul", [m[0, 0], n[0]], {"transA": 1}, **near, **ms),
    ]
    for a_turned in (0, 1):
        for b_turned in (0, 1):
            cases.append(Case("FusedMatMul", [matrices[a_turned][0], matrices[b_turned][1]], {"transA": a_turned, "transB": b_turned, "alpha": 0.5}, **near, **ms))
    for op, more in (("SkipLayerNormalization", [beta]), ("SkipSimplifiedLayerNormalization", [])):
        cases += [
            Case(op, [x, skip, gamma], **near, **ms), Case(op, [x, skip, gamma] + more + [bias], {"epsilon": 0.01}, **near, **ms),
            Case(op, [x, batch, gamma] + more, **near, **ms), Case(op, [x, batch[0], gamma] + more, **near, **ms),
            Case(op, [x[0], skip[0], gamma], **near, **ms), Case(op, [x, skip[:, :2], gamma], oracle="fails", **ms),
            Case(op, [batch, x, gamma], oracle="fails", **ms),
            Case(op, [x, skip, gamma], {"epsilon": 0.01}, outputs=4, **near, **ms), Case(op, [x, skip, gamma], outputs=2, **near, **ms),
            Case(op, [t.astype(F16) for t in (x, skip, gamma)], {"epsilon": 0.01}, outputs=4, ulp=64, atol=1e-6, **ms),
        ]
    return cases


def block_weights():
    x = image((3, 40))
    scales = np.abs(image((5 * 3,))) / 10 + np.float32(0.01)
    sizes = {"K": 40, "N": 5, "block_size": 16}
    groups = np.tile(np.array([2, 0, 1, 1], I32), 10)
    bytes_of_bits = {bits: bytes_of((5, 3, 2 * bits), U8) for bits in (4, 8)}
    return [
        Case("MatMulNBits", [x, bytes_of_bits[4], scales], sizes | {"bits": 4}, domain="com.microsoft", ulp=64),
        Case("MatMulNBits", [x, bytes_of_bits[4], scales, bytes_of((5 * 2,), U8)], sizes | {"bits": 4}, domain="com.microsoft", ulp=64),
        Case("MatMulNBits", [x, bytes_of_bits[8], scales, bytes_of((5 * 3,), U8)], sizes | {"bits": 8}, domain="com.microsoft", ulp=64),
        Case("MatMulNBits", [x, bytes_of_bits[4], scales, None, groups], sizes | {"bits": 4}, domain="com.microsoft", ulp=64),
        Case("MatMulNBits", [x, bytes_of_bits[4], scales, None, None, image((5,))], sizes | {"bits": 4}, domain="com.microsoft", ulp=64),
        Case("MatMulNBits", [x, bytes_of_bits[4], scales[:7]], sizes | {"bits": 4}, domain="com.microsoft", oracle="fails"),
    ]
