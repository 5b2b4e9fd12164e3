"""Cases of matrix products and casts."""

import ml_dtypes
import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403


def linear():
    p, q = ramp((3, 4)), ramp((4, 2))
    ulp = 64  # cancellation: ORT sums in float32
    cases = [
        Case("MatMul", [p, q]),
        Case("MatMul", [rng((5, 33)), rng((33, 7), seed=1)], ulp=ulp * 16),
        Case("MatMul", [p, ramp((4,))]),
        Case("MatMul", [ramp((4,)), q]),
        Case("MatMul", [ramp((4,)), ramp((4,))]),
        Case("MatMul", [ramp((2, 1, 3, 4)), ramp((5, 4, 2))]),
        Case("MatMul", [ramp((0, 4)), q]),
        Case("MatMul", [ramp((3, 0)), ramp((0, 2))]),
        Case("MatMul", [p.astype(F64), q.astype(F64)]),
        Case("MatMul", [p.astype(I32), q.astype(I32)]),
        Case("MatMul", [p.astype(I64), q.astype(I64)]),
        Case("MatMul", [p.astype(F16), q.astype(F16)]),
        Case("MatMul", [p.astype(BF16), q.astype(BF16)], **in_f32(np.matmul)),
        Case("MatMul", [p, p], oracle="fails"),
        Case("MatMul", [a(1.0), p], oracle="fails"),
        Case("Gemm", [p, q, ramp((2,))]),
        Case("Gemm", [p, q, ramp((3, 1))], {"alpha": 0.5, "beta": 2.0}),
        Case("Gemm", [p, q]),
        Case("Gemm", [p.T.copy(), q], {"transA": 1}),
        Case("Gemm", [p, q.T.copy(), a(1.0)], {"transB": 1}),
        Case("Gemm", [p.T.copy(), q.T.copy(), ramp((1, 2))], {"transA": 1, "transB": 1}, opset=7),
        Case("Gemm", [p.astype(F64), q.astype(F64), ramp((2,), F64)]),
        Case("Gemm", [p.astype(F16), q.astype(F16), ramp((2,), F16)]),
        Case("Gemm", [p, q, ramp((3,))], oracle="fails"),
        Case("Gemm", [p, p], oracle="fails"),
        Case("MatMulInteger", [ramp((3, 4), U8, start=0), ramp((4, 2), U8, start=0)]),
        Case("MatMulInteger", [ramp((3, 4), U8, start=0), ramp((4, 2), I8), np.array(3, U8),
                               np.array(1, I8)]),
        Case("MatMulInteger", [ramp((3, 4), U8, start=0), ramp((4, 2), I8), np.array([3], U8),
                               np.array([1, -1], I8)]),
        Case("MatMulInteger", [ramp((3, 4), I8), ramp((4, 2), I8), np.array([3, 4, 5], I8), None],
             **ref(lambda x, w, z, _: [(x.astype(I32) - z[:, None]) @ w.astype(I32)],
                   "ORT's CPU kernel takes no zero points of rows")),
        Case("MatMulInteger", [ramp((3, 4)), ramp((4, 2))], oracle="fails"),
    ]
    t = ramp((2, 3, 4))
    cases += [Case("Einsum", inputs, {"equation": equation}, ulp=ulp) for equation, *inputs in [
        ("i,j->ij", ramp((3,)), ramp((4,))), ("ij,jk->ik", p, q), ("ij,jk", p, q), ("ji,kj->ki", p.T.copy(), q.T.copy()),
        ("ij->ji", p), ("ij->", p), ("ij->i", p), ("ba", p), ("ii->i", ramp((3, 3))), ("ii", ramp((3, 3))), (" i j , j -> i ", p, ramp((4,))),
        ("bhid,bhjd->bhij", rng((2, 2, 3, 4)), rng((2, 2, 5, 4), seed=1)), ("...ij,...jk->...ik", t, ramp((2, 4, 2))), ("...ij,...jk", ramp((1, 3, 4)), rng((2, 4, 2))),
        ("i...->...", t), ("...i,i->...", t, ramp((4,))), ("i,i,i->i", ramp((3,)), ramp((3,)), ramp((3,))), ("Ba,aB->aB", p, p.T.copy()), (",i->i", a(2.0), ramp((3,))),
        ("ij,jk->ik", ramp((0, 4)), q), ("ij,jk->ik", p.astype(F64), q.astype(F64)), ("ij,jk->ik", p.astype(I32), q.astype(I32)), ("ij,jk->ik", p.astype(I64), q.astype(I64))]]
    cases += [Case("Einsum", inputs, {"equation": equation}, oracle="fails") for equation, *inputs in [
        ("ij,jk->ik", p, p), ("ij->k", p), ("ij,jk->ik", p), ("ijk->i", p), ("ij->iji", p)]]
    cases += determinants()
    x = rng((2, 3, 4))
    for op in ["Softmax", "LogSoftmax"]:
        for axis in [-1, 0, 1]:
            cases += [Case(op, [x], {"axis": axis}, ulp=16, atol=1e-6),
                      Case(op, [x], {"axis": axis if axis >= 0 else 2}, opset=11, ulp=16)]
        cases += [Case(op, [x], ulp=16), Case(op, [x], opset=11, ulp=16),
                  Case(op, [x.astype(F16)], ulp=1), Case(op, [x.astype(F64)], ulp=16),
                  Case(op, [a([[1e30, -1e30, 0]])], ulp=4), Case(op, [ramp((2, 0))])]
    return cases + hardmax(x)


def determinants():
    m, near = a([[2, 1, 3], [1, 0, 1], [4, 1, 1]]), {"ulp": 64, "atol": 1e-4}
    wide = in_f32(lambda v: np.asarray(np.linalg.det(v.astype(F64)), F32))
    return [Case("Det", [v], opset=opset, **near) for v in (m, rng((5, 5)), rng((2, 3, 4, 4)), a([[7.5]]), a([[0, 2], [3, 0]]), rng((20, 20), scale=0.5)) for opset in (11, 22)] + [
        Case("Det", [ramp((0, 3, 3))]), Case("Det", [ramp((2, 0, 0))]), Case("Det", [ramp((0, 0))]), Case("Det", [a([[NAN, 1], [1, 1]])]), Case("Det", [ramp((3, 3))], **near),
        Case("Det", [rng((4, 3, 3), F64)], ulp=1 << 10, **ref(lambda v: [np.linalg.det(v)], "ORT has a kernel for float alone")),
        *[Case("Det", [rng((4, 3, 3), t)], opset=22, ulp=1, **wide) for t in (F16, BF16)],
        Case("Det", [ramp((2, 3))], oracle="fails"), Case("Det", [ramp((3,))], oracle="fails"), Case("Det", [a(1.0)], oracle="fails"), Case("Det", [ramp((2, 2), I32)], oracle="fails"),
    ]


def hardmax(x):
    def largest(axis=-1):
        return ref(lambda v: [(np.arange(v.shape[axis]) == np.expand_dims(v.argmax(axis), axis)).astype(v.dtype)
                              if axis == -1 else np.moveaxis(largest()["oracle"](np.moveaxis(v, axis, -1))[0], -1, axis)], NO_HALF)

    op, ties = "Hardmax", a([[1, 3, 3, 2], [-INF, -INF, -INF, -INF], [0.0, -0.0, INF, INF]])
    cases = [Case(op, [x], {"axis": axis}) for axis in (-3, -1, 0, 1, 2)] + [Case(op, [x]), Case(op, [ties]), Case(op, [ties], {"axis": 0})]
    cases += [Case(op, [x], {"axis": axis}, opset=11) for axis in (-3, -1, 0, 1, 2)] + [Case(op, [x], opset=11), Case(op, [x], opset=9), Case(op, [ties], {"axis": 0}, opset=1, **ref(
        lambda v: [np.eye(12, dtype=F32)[v.argmax()].reshape(v.shape)], "ORT has opset 7 and later"))]
    return cases + [
        Case(op, [x.astype(F64)], **largest()), Case(op, [x.astype(F16)], **largest()), Case(op, [x.astype(BF16)], {"axis": 1}, **largest(1)),
        Case(op, [ramp((2, 0))]), Case(op, [ramp((0, 3))]), Case(op, [a([[NAN, 1, 2], [1, NAN, 2], [NAN, NAN, NAN]])], **ref(
            lambda v: [a([[0, 0, 1], [0, 0, 1], [1, 0, 0]])], "NaN is no largest one; ORT takes whatever its search meets")),
        Case(op, [x], {"axis": 3}, oracle="fails"), Case(op, [x.astype(I32)], oracle="fails"), Case(op, [a(1.0)], oracle="fails"),
    ]


def casts():
    cases = []
    whole = [0, 1, -1, 2, 127, -128, 5, 100]
    types = {F32: 1, F64: 11, F16: 10, I8: 3, U8: 2, I16: 5, U16: 4, I32: 6, U32: 12, I64: 7,
             U64: 13, np.bool_: 9}
    for source in types:
        for number in types.values():
            values = whole
            if number in (2, 4, 12, 13) and np.dtype(source).kind == "f":
                values = [abs(v) for v in whole[:7]]  # negative floats are undefined there
                values[5] = 12
            cases.append(Case("Cast", [a(values, source)], {"to": number}))
    halves = [0.5, 1.5, -0.5, -1.5, 2.5, 1e-8, 65504, 65519, 1e9, -1e9, 1e-40, NAN, INF, -INF, 0.1]
    cases += [
        Case("Cast", [a(halves)], {"to": 10}),
        Case("Cast", [a(halves, F64)], {"to": 10}),
        Case("Cast", [a(halves)], {"to": 16}),
        Case("Cast", [a(halves, F64)], {"to": 1}),
        Case("Cast", [a(halves, F64)], {"to": 16}),
        Case("Cast", [a(halves, F16)], {"to": 16}),
        Case("Cast", [a(halves, BF16)], {"to": 10}),
        Case("Cast", [a(halves, BF16)], {"to": 1}),
        Case("Cast", [a(halves[:6])], {"to": 7}),
        Case("Cast", [a(halves[:6], F16)], {"to": 6}),
        Case("Cast", [a(halves)], {"to": 9}),
        Case("Cast", [ints(2**53 + 1, 2**24 + 1, 65519, -(2**63))], {"to": 1}),
        Case("Cast", [ints(2**53 + 1, 2**24 + 1, 65519, 2**63 - 1)], {"to": 11}),
        Case("Cast", [ints(2**53 + 1, 2**24 + 1, 65519, 2049)], {"to": 10}),
        Case("Cast", [ints(300, -129, 2**40 + 7)], {"to": 3}),
        Case("Cast", [np.array([2**63 + 2**40, 5], U64)], {"to": 1}),
        Case("Cast", [np.array([2**63 + 2**40, 5], U64)], {"to": 7}),
        Case("Cast", [a([1e10, 1.0])], {"to": 6}, oracle="fails"),
        Case("Cast", [a([NAN])], {"to": 7}, oracle="fails"),
        Case("Cast", [a([256.0])], {"to": 2}, oracle="fails"),
        Case("Cast", [a([1.0])], {"to": 99}, oracle="fails"),
        Case("Cast", [a(2.7)], {"to": 6}),
        Case("Cast", [ramp((0, 2))], {"to": 7}),
        Case("CastLike", [a([1.5, 2.5]), ints(1)]),
        Case("CastLike", [ints(1, 0), a([1.5])]),
    ]
    f8 = [0.0, -0.0, 1.0, -1.0, 0.3, 447, 448, 449, 464, 465, 1e9, -1e9, INF, -INF, NAN, 1e-9, 57344,
          61440, 2**-9, 2**-10, 1.5 * 2**-10, 240, 248, 2**-7, -(2**-18)]
    for number, t in {17: E4M3FN, 18: E4M3FNUZ, 19: E5M2, 20: E5M2FNUZ}.items():
        for source in [F32, F16, BF16]:
            for saturate in [1, 0]:
                # ORT rounds the tie 61440 of E5M2 to NaN where ONNX has infinity.
                values = [v for v in f8 if v != 61440] if number == 19 and not saturate else f8
                cases.append(Case("Cast", [a(values, source)],
                                  {"to": number, "saturate": saturate}))
        everything = np.arange(256, dtype=np.uint8).view(t)
        cases += [Case("Cast", [everything], {"to": 1}), Case("Cast", [everything], {"to": 10})]
    cases.append(Case("Cast", [a([61440, -61440])], {"to": 19, "saturate": 0}, **ref(
        lambda x: [x.astype(E5M2)], "ORT gives NaN, ONNX infinity")))
    nibbles = np.arange(-8, 8)
    cases += [
        Case("Cast", [a(nibbles, I4)], {"to": 1}),
        Case("Cast", [a(nibbles[:15] + 8, U4)], {"to": 10}),
        Case("Cast", [a(nibbles, I4)], {"to": 3}),
        Case("Cast", [a(nibbles, I8)], {"to": 22}),
        Case("Cast", [a(nibbles)], {"to": 22}),
        Case("Cast", [a(nibbles + 8)], {"to": 21}),
        Case("Cast", [a([-2, -1, 0, 1, 1], I2)], {"to": 1}, opset=25),
        Case("Cast", [a([0, 1, 2, 3, 3])], {"to": 25}, opset=25),
        Case("Cast", [a([-2, -1, 0, 1, 1], I8)], {"to": 26}, opset=25),
    ]
    fp4 = [0.0, 0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.1, 7.0, -7.0, INF, -0.2]
    cases += [
        Case("Cast", [a(fp4)], {"to": 23}, opset=23, **ref(
            lambda x: [x.astype(E2M1)], "ORT has no float4 kernel")),
        Case("Cast", [np.arange(16, dtype=np.uint8).view(E2M1)], {"to": 1}, opset=23, **ref(
            lambda x: [x.astype(F32)], "ORT has no float4 kernel")),
    ]
    for t, number in [(ml_dtypes.float6_e2m3fn, 27), (ml_dtypes.float6_e3m2fn, 28)]:
        values = a([0.0, 0.1, 0.125, 0.19, 1.06, 7.4, 7.6, 30.0, -3.3, INF])
        cases += [
            Case("Cast", [values], {"to": number}, opset=28, **ref(
                lambda x, t=t: [x.astype(t)], "ORT has no float6 kernel")),
            Case("Cast", [np.arange(64, dtype=np.uint8).view(t)], {"to": 1}, opset=28, **ref(
                lambda x: [x.astype(F32)], "ORT has no float6 kernel")),
        ]
    e8 = a([1.0, 1.5, 2.9, 3.0, 3.1, 1e-3, 1e30, 2**-126, 3e38])
    for mode in ["up", "down", "nearest"]:
        cases.append(Case("Cast", [e8], {"to": 24, "round_mode": mode}, opset=24,
                          oracle="reference", why="ORT has no float8e8m0 kernel"))
    cases.append(Case("Cast", [np.arange(1, 256, dtype=np.uint8).view(E8M0)], {"to": 1}, opset=24,
                      **ref(lambda x: [x.astype(F32)], "ORT has no float8e8m0 kernel")))
    return cases + bit_casts()


def bit_casts():
    of_bits = {8: (U8, I8, np.bool_), 16: (U16, I16, F16, BF16), 32: (U32, I32, F32), 64: (U64, I64, F64), -8: (E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0), -4: (I4, U4, E2M1)}
    number = onnx.helper.np_dtype_to_tensor_dtype  # noqa: F405
    cases = []
    for bits, types in of_bits.items():
        plain = {4: U8, 8: U8}.get(-bits) or types[0]
        values = np.array([0, 1, 1, 0, 1, 1], plain) if bits == 8 else np.arange(6).astype(plain) * (1 if bits == -4 else 41)
        for source in types:
            for to in types + ((U8,) if bits == -8 else ()):
                x = values.view(source).reshape(2, 3)
                by = "ort" if bits in (16, 32, 64) and BF16 not in (source, to) else (lambda x, to=to: [x.view(to)])
                cases.append(Case("BitCast", [x], {"to": number(np.dtype(to))}, opset=26, oracle=by, why="ORT has no kernel for the type"))
    return cases + [Case("BitCast", [ramp((2, 0))], {"to": 6}, opset=26), Case("BitCast", [a([NAN, -0.0, INF])], {"to": 12}, opset=26), Case("BitCast", [a(1.0)], {"to": 6}, opset=26)] + [
        Case("BitCast", [ramp((2,))], attrs, opset=26, oracle="fails") for attrs in ({"to": 7}, {"to": 8}, {"to": 0}, {"to": 99}, {"to": -1}, {}, {"to": 10}, {"to": 2**40})]
