"""Cases of quantization and dequantization."""

import ml_dtypes
import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403


def dequantize_all(q, s, z=None, axis=1, block=0, out=F32):
    """The formula of the documentation, for what ORT refuses to run."""
    s32 = s.astype(F32)
    q32 = q.astype(F32)
    z32 = np.zeros_like(s32) if z is None else z.astype(F32)
    if s32.size == 1:
        s32, z32 = s32.reshape(()), z32.reshape(()) if z32.size == 1 else z32
    elif block:
        n = q.shape[axis]
        s32 = np.repeat(s32, block, axis).take(range(n), axis)
        z32 = np.repeat(z32, block, axis).take(range(n), axis)
    else:
        shape = [1] * q.ndim
        shape[axis] = -1
        s32 = s32.reshape(shape)
        z32 = z32.reshape(shape if z32.size > 1 else ())
    return [((q32 - z32) * s32).astype(out)]


def formula(why, **options):
    return {"oracle": lambda *x: dequantize_all(*x, **options), "why": why}


def dequantize():
    cases = []
    s1, z1 = a(0.1), 3
    per_axis = a([0.1, -0.25, 3.0])
    for t in [I8, U8, I16, U16, I4, U4]:
        q = ramp((2, 3), t, start=0)
        z = a([1, 0, 2], t)
        cases += [
            Case("DequantizeLinear", [q, s1]),
            Case("DequantizeLinear", [q, s1, a(z1, t)]),
            Case("DequantizeLinear", [q, per_axis, z]),
            Case("DequantizeLinear", [q, per_axis, z], {"axis": -1}),
            Case("DequantizeLinear", [q, per_axis[:2], z[:2]], {"axis": 0}),
            Case("DequantizeLinear", [q, a(0.1, F16), a(z1, t)]),
            Case("DequantizeLinear", [ramp((3, 5), t, start=0), rng((3, 3)), a(np.ones((3, 3)), t)],
                 {"axis": 1, "block_size": 2}),
            Case("DequantizeLinear", [ramp((5, 3), t, start=0), rng((3, 3))],
                 {"axis": 0, "block_size": 2}),
            Case("DequantizeLinear", [ramp((2, 5, 3), t, start=0), rng((2, 2, 3))],
                 {"axis": -2, "block_size": 4}),
            Case("DequantizeLinear", [ramp((4, 3), t, start=0), rng((1, 3))],
                 {"axis": 0, "block_size": 128}),
        ]
    every = np.arange(256)
    cases += [
        Case("DequantizeLinear", [a(every, U8), a(0.003921569), a(128, U8)]),
        Case("DequantizeLinear", [a(every - 128, I8), a(-0.0078125), a(-128, I8)]),
        Case("DequantizeLinear", [np.array([2**31 - 1, -(2**31), 2**24 + 1], I32), a(0.5)]),
        Case("DequantizeLinear", [np.array([7, -9], I32), a([0.5, 0.25]), np.array([0, 0], I32)],
             {"axis": 0}),
        Case("DequantizeLinear", [np.array([7, -9], I32), a(0.5), np.array(1, I32)],
             oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), a(0.1), a(3, U8)], opset=10),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), per_axis, a([1, 2, 3], U8)], opset=13),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), a(0.1), a(3, U8)], opset=19),
        Case("DequantizeLinear", [a(5, U8), a(0.1), a(3, U8)]),
        Case("DequantizeLinear", [ramp((0, 3), U8), per_axis, a([1, 2, 3], U8)]),
        Case("DequantizeLinear", [ramp((4, 0), U8), np.zeros((0,), F32)], {"axis": 1}),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), a([0.1]), a(3, U8)],
             **formula("ORT wants equal shapes")),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), per_axis, a(3, U8)],
             **formula("ORT wants equal shapes")),
        Case("DequantizeLinear", [ramp((3,), I32), per_axis], {"axis": 1},
             **formula("an axis beyond rank 1, as onnx-neural-compressor writes it", axis=0)),
        Case("DequantizeLinear", [ramp((3,), I64), a(0.1)],
             **formula("int64 biases of tf2onnx: ORT refuses them")),
        Case("DequantizeLinear", [ramp((4, 600), I8), rng((4,))], {"axis": 0}),
        Case("DequantizeLinear", [ramp((300, 50), I4), rng((300, 4))], {"axis": 1, "block_size": 16}),
        Case("DequantizeLinear", [ramp((50, 300), U4), rng((4, 300)), rng((4, 300), U4, scale=7)],
             {"axis": 0, "block_size": 16}),
        Case("DequantizeLinear", [ramp((2, 3), U8), a([[0.1]]), a([[1]], U8)],
             **formula("a scale with one element is the tensor's, whatever its rank")),
        Case("DequantizeLinear", [ramp((2, 3), U8), a([0.1, 0.2])], oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 3), U8), a([0.1, 0.2])], {"axis": 2}, oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 3), U8), per_axis, a([1, 2], U8)], oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 3)), a(0.1)], oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 4), U8), rng((2, 3))], {"block_size": 2}, oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 4), U8), rng((2, 2))], {"block_size": -2}, oracle="fails"),
        Case("DequantizeLinear", [ramp((2, 3), U8, start=0), a(0.3), a(1, U8)], {"output_dtype": 10},
             opset=23),
        Case("DequantizeLinear", [ramp((2, 3), I8), a(0.3, F16)], {"output_dtype": 1}, opset=23),
        Case("DequantizeLinear", [ramp((2, 3), I8), a(0.3, BF16)],
             **formula(NO_HALF, out=BF16)),
        Case("DequantizeLinear", [a([-2, -1, 0, 1, 1], I2), a(0.3)], opset=25),
        Case("DequantizeLinear", [a([0, 1, 2, 3, 3], U2), a(0.3), a(1, U2)], opset=25),
        Case("DequantizeLinear", [np.arange(16, dtype=np.uint8).view(E2M1), a(0.3)], opset=23,
             **formula("ORT has no float4 kernel")),
        Case("DequantizeLinear", [ramp((2, 3), I8), a([[0.5], [2.0]], E8M0)],
             {"output_dtype": 1, "block_size": 3}, opset=24,
             **formula("ORT has no float8e8m0 kernel", block=3)),
    ]
    for t in [E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ]:
        all_codes = every.astype(np.uint8).view(t)
        cases += [
            Case("DequantizeLinear", [all_codes, a(0.3)]),
            Case("DequantizeLinear", [all_codes, a(0.3, F16)]),
            Case("DequantizeLinear", [all_codes[:6].reshape(2, 3), per_axis, a([0, 0, 0], t)]),
            Case("DequantizeLinear", [all_codes, a(0.3), a(1.0, t)], oracle="fails"),
        ]
    ms = "com.microsoft"
    for t in [U8, I8, U16, I16]:
        q = ramp((2, 3), t, start=0)
        cases += [
            Case("DequantizeLinear", [q, s1, a(z1, t)], domain=ms),
            Case("DequantizeLinear", [q, per_axis, a([1, 2, 3], t)], {"axis": 1}, domain=ms),
        ]
    cases += [
        Case("DequantizeLinear", [ramp((2, 3), I4), s1, a(1, I4)], domain=ms),
        Case("DequantizeLinear", [ramp((5,), I32), s1], domain=ms),
        Case("DequantizeLinear", [ramp((2, 3), U8), per_axis, a([1, 2, 3], U8)], domain=ms,
             oracle="fails"),
    ]
    return cases


def quantize_formula(x, s, z, dtype, axis=None):
    if axis is not None:
        shape = [1] * x.ndim
        shape[axis] = -1
        s, z = s.reshape(shape), z.reshape(shape)
    info = ml_dtypes.iinfo(dtype)
    with np.errstate(all="ignore"):
        y = np.rint(x.astype(F32) / s.astype(F32)) + z.astype(F32)
    return [np.clip(y, info.min, info.max).astype(np.int32).astype(dtype)]


def quantize():
    cases = []
    x = a([0.0, -0.0, 0.05, 0.15, 0.25, -0.05, -0.15, 1.0, 12.7, 25.5, 30.0, -30.0, 1e9, -1e9, INF, -INF,
           3e38, 1e-40, 6553.5, 3276.8])
    ties = ramp((9,), start=-4.5)
    per_axis = a([0.1, 0.25, 3.0])
    for t in [I8, U8, I16, U16, I4, U4]:
        cases += [
            Case("QuantizeLinear", [x, a(0.1), a(3, t)]),
            Case("QuantizeLinear", [ties, a(1.0), a(3, t)]),
            Case("QuantizeLinear", [rng((2, 3)), per_axis, a([1, 0, 2], t)]),
            Case("QuantizeLinear", [rng((3, 2)), per_axis, a([1, 0, 2], t)], {"axis": -2}),
            Case("QuantizeLinear", [rng((3, 5)), np.abs(rng((3, 3))), a(np.ones((3, 3)), t)],
                 {"axis": 1, "block_size": 2}),
            Case("QuantizeLinear", [rng((5, 3)), np.abs(rng((3, 3))), a(np.ones((3, 3)), t)],
                 {"axis": 0, "block_size": 2}),
            Case("QuantizeLinear", [rng((4, 3)), np.abs(rng((1, 3))), a(np.ones((1, 3)), t)],
                 {"axis": 0, "block_size": 128}),
            # Not what is infinite in float16: ORT makes the lowest value of any infinity there.
            Case("QuantizeLinear", [a(x[np.abs(x) < 6e4], F16), a(0.1, F16), a(3, t)]),
        ]
    cases += [
        Case("QuantizeLinear", [x, a(0.1)]),
        Case("QuantizeLinear", [x, a(0.1)], {"output_dtype": 3}),
        Case("QuantizeLinear", [rng((3, 5000)), per_axis, a([1, 2, 3], U8)], {"axis": 0}),
        Case("QuantizeLinear", [x, a(-0.1), a(3, U8)]),
        Case("QuantizeLinear", [a([1.0, -1.0]), a(0.0), a(3, U8)]),
        Case("QuantizeLinear", [x, a(0.1), a(3, U8)], opset=10),
        Case("QuantizeLinear", [rng((2, 3)), per_axis, a([1, 0, 2], I8)], opset=13),
        Case("QuantizeLinear", [x, a(0.1), a(3, I8)], opset=19),
        Case("QuantizeLinear", [a(2.55), a(0.1), a(3, U8)]),
        Case("QuantizeLinear", [ramp((0, 3)), a(0.1)]),
        Case("QuantizeLinear", [np.array([7, -9, 300], I32), a(0.5), a(3, I8)], **ref(
            lambda x, s, z: quantize_formula(x, s, z, I8), "ORT has no kernel for int32 input")),
        Case("QuantizeLinear", [a(x[:12], BF16), a(0.125, BF16), a(3, I8)], **ref(
            lambda x, s, z: quantize_formula(x, s, z, I8), NO_HALF)),
        Case("QuantizeLinear", [a([-1.0, -0.3, 0.2, 0.6, 9.0]), a(0.5), a(0, I2)], opset=25),
        Case("QuantizeLinear", [a([-1.0, 0.3, 0.8, 1.6, 9.0]), a(0.5), a(1, U2)], opset=25),
        Case("QuantizeLinear", [a([NAN]), a(0.1)], oracle="fails"),
        Case("QuantizeLinear", [a([0.0]), a(0.0)], oracle="fails"),
        Case("QuantizeLinear", [x, a([0.1, 0.2])], {"axis": 0}, oracle="fails"),
        Case("QuantizeLinear", [x, a(0.1), a(1, I8)], {"output_dtype": 2}, oracle="fails"),
        Case("QuantizeLinear", [x, a(0.1), a(1, I32)], oracle="fails"),
        Case("QuantizeLinear", [a([0.0, 0.26, 1.2, 9.0, -9.0]), a(1.0)], {"output_dtype": 23},
             opset=23, **ref(lambda x, s: [x.astype(E2M1)], "ORT has no float4 kernel")),
    ]
    for t in [E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ]:
        for saturate in [1, 0]:
            cases.append(Case("QuantizeLinear", [x, a(0.3), a(0, t)], {"saturate": saturate}))
        cases.append(Case("QuantizeLinear", [a(x, F16), a(0.3, F16), a(0, t)]))
    ms = "com.microsoft"
    for t in [U8, I8, U16, I16]:
        cases += [
            Case("QuantizeLinear", [x, a(0.1), a(3, t)], domain=ms),
            Case("QuantizeLinear", [rng((2, 3)), per_axis, a([1, 2, 3], t)], {"axis": 1}, domain=ms),
        ]
    cases += [Case("QuantizeLinear", [x, a(0.1)], domain=ms)]
    cases += [Case("DynamicQuantizeLinear", [v], outputs=3) for v in [
        rng((4, 5)), np.abs(rng((7,))), -np.abs(rng((7,))), a([0.0, 0.0]), a(3.0), a([1e-3, 500.0]),
        a([-1.0, 254.0]), a([-0.5, 127.0]), rng((3, 3000), seed=4)]]
    cases.append(Case("DynamicQuantizeLinear", [a([NAN, 1.0])], outputs=3, oracle="fails"))
    return cases
