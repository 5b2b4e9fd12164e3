"""Cases of operators that move elements or make new ones."""

import numpy as np
import onnx
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403

MOVED = [F32, F64, F16, I64, I32, I8, U8, bool]


def reshapes():
    x = ramp((2, 3, 4))
    cases = [
        Case("Identity", [x]),
        Case("Reshape", [x, ints(4, -1)]),
        Case("Reshape", [x, ints(0, 0, -1)]),
        Case("Reshape", [x, ints(24)], opset=5),
        Case("Reshape", [ramp((0, 3)), ints(3, 0)], {"allowzero": 1}),
        Case("Reshape", [a(1.0), ints()]),
        Case("Reshape", [x, ints(5, -1)], oracle="fails"),
        Case("Reshape", [x, ints(-1, -1)], oracle="fails"),
        Case("Reshape", [x, ints(2**62, 2**62)], oracle="fails"),
        Case("Reshape", [ramp((0,)), ints(0, -1)], {"allowzero": 1}, oracle="fails"),
        Case("Flatten", [x]),
        Case("Flatten", [x], {"axis": 0}),
        Case("Flatten", [x], {"axis": 3}),
        Case("Flatten", [x], {"axis": -1}),
        Case("Flatten", [x], {"axis": 4}, oracle="fails"),
        Case("Squeeze", [ramp((1, 3, 1))]),
        Case("Squeeze", [ramp((1, 3, 1)), ints(0)]),
        Case("Squeeze", [ramp((1, 3, 1)), ints(-1, 0)]),
        Case("Squeeze", [ramp((1, 3, 1))], {"axes": [2]}, opset=11),
        Case("Squeeze", [ramp((1, 3, 1)), ints(1)], oracle="fails"),
        Case("Unsqueeze", [ramp((3,)), ints(0, 2)]),
        Case("Unsqueeze", [ramp((3,)), ints(-1)]),
        Case("Unsqueeze", [ramp((3,))], {"axes": [1]}, opset=11),
        Case("Unsqueeze", [a(1.0), ints(0)]),
        Case("Unsqueeze", [ramp((3,)), ints(5)], oracle="fails"),
        Case("Shape", [x]),
        Case("Shape", [x], {"start": 1}),
        Case("Shape", [x], {"start": -2, "end": -1}),
        Case("Shape", [x], {"start": 5, "end": -9}),
        Case("Shape", [a(1.0)]),
        Case("Shape", [x], opset=9),
        Case("Size", [x]),
        Case("Size", [a(1.0)]),
        Case("Size", [ramp((0, 3))]),
    ]
    return cases


def strided():
    x = ramp((2, 3, 4))
    cases = [Case("Transpose", [x.astype(t)], {"perm": [2, 0, 1]}) for t in MOVED]
    cases += [
        Case("Transpose", [x]),
        Case("Transpose", [x], {"perm": [0, 2, 1]}),
        Case("Transpose", [ramp((70, 45))]),
        Case("Transpose", [ramp((3, 70, 45), U8, start=0)], {"perm": [2, 0, 1]}),
        Case("Transpose", [ramp((5, 2, 3, 4, 2))], {"perm": [4, 1, 0, 3, 2]}),
        Case("Transpose", [a(1.0)]),
        Case("Transpose", [ramp((0, 3))]),
        Case("Transpose", [x.astype(BF16)], {"perm": [1, 0, 2]}, oracle="reference", why=NO_HALF),
        Case("Transpose", [ramp((3, 5), I4, step=1, start=-8)]),
        Case("Transpose", [ramp((3, 5), U4, start=0)]),
        Case("Transpose", [a([[1, 0, -1], [-2, 1, 0]], I2)], opset=25, **ref(
            lambda x: [np.ascontiguousarray(x.T)], "ORT has no int2 kernel")),
        Case("Transpose", [ramp((2, 3), E4M3FN)], **ref(
            lambda x: [np.ascontiguousarray(x.T)], "ORT has no float8 kernel")),
        Case("Transpose", [x], {"perm": [0, 0, 1]}, oracle="fails"),
        Case("Transpose", [x], {"perm": [0, 1]}, oracle="fails"),
        Case("Slice", [x, ints(0), ints(1)]),
        Case("Slice", [x, ints(1, 0), ints(3, 2), ints(1, 2)]),
        Case("Slice", [x, ints(-1), ints(-9), ints(-1), ints(-2)]),
        Case("Slice", [x, ints(-1), ints(-(2**63)), ints(2), ints(-1)]),
        Case("Slice", [x, ints(-9), ints(-9), ints(-1), ints(-1)]),  # from the first one on
        Case("Slice", [x, ints(-5), ints(-100), ints(1), ints(-2)]),
        # ONNX Runtime takes these for the first element.
        Case("Slice", [x, ints(-1), ints(2**63 - 1), ints(2), ints(-1)], oracle="fails"),
        Case("Slice", [x, ints(-1), ints(2**31 - 1), ints(2), ints(-1)], oracle="fails"),
        Case("Slice", [x, ints(0), ints(2**63 - 1), ints(2), ints(3)]),
        Case("Slice", [x, ints(-100), ints(100), ints(1)]),
        Case("Slice", [x, ints(3), ints(1), ints(2)]),
        Case("Slice", [x, ints(2), ints(0), ints(2), ints(-(2**63))]),
        Case("Slice", [x, ints(1), ints(3), ints(1)], opset=10),
        Case("Slice", [x], {"starts": [1], "ends": [9], "axes": [1]}, opset=9),
        Case("Slice", [x, np.array([1], I32), np.array([2], I32)]),
        Case("Slice", [ramp((3, 5), I4), ints(1), ints(4), ints(1)], **ref(
            lambda x, *r: [np.ascontiguousarray(x[:, 1:4])], "ORT has no int4 kernel")),
        Case("Slice", [x, ints(0), ints(1), ints(0), ints(0)], oracle="fails"),
        Case("Slice", [x, ints(0), ints(1), ints(3)], oracle="fails"),
        Case("Expand", [ramp((3, 1)), ints(2, 1, 4)]),
        Case("Expand", [ramp((3, 1)), ints(3, 1)]),
        Case("Expand", [a(2.0), ints(2, 3)]),
        Case("Expand", [ramp((3,)), ints(1)]),
        Case("Expand", [ramp((3, 1)), ints(3, 0)]),
        Case("Expand", [ramp((3,), U8, start=0), ints(2, 3)]),
        Case("Expand", [ramp((3,)), ints(2)], oracle="fails"),
        Case("Expand", [a(1.0), ints(2**40, 2**40)], oracle="fails"),
        Case("Tile", [ramp((2, 3)), ints(2, 1)]),
        Case("Tile", [ramp((2, 3)), ints(1, 3)]),
        Case("Tile", [ramp((2, 3)), ints(0, 3)]),
        Case("Tile", [ramp((2, 3), I64), ints(2, 2)], opset=6),
        Case("Tile", [ramp((2, 3)), ints(2**62, 2)], oracle="fails"),
        Case("DepthToSpace", [ramp((1, 8, 2, 3))], {"blocksize": 2}),
        Case("DepthToSpace", [ramp((2, 8, 2, 3))], {"blocksize": 2, "mode": "CRD"}),
        Case("DepthToSpace", [ramp((1, 8, 2, 3))], {"blocksize": 2}, opset=10),
        Case("DepthToSpace", [ramp((1, 7, 2, 3))], {"blocksize": 2}, oracle="fails"),
        Case("SpaceToDepth", [ramp((2, 3, 4, 6))], {"blocksize": 2}),
        Case("SpaceToDepth", [ramp((2, 3, 4, 6))], {"blocksize": 2, "mode": "CRD"}, opset=28,
             oracle="reference", why="ORT knows no opset after 26"),
        Case("SpaceToDepth", [ramp((1, 1, 3, 4))], {"blocksize": 2}, oracle="fails"),
        Case("Split", [ramp((2, 6))], {"axis": 1, "num_outputs": 3}, outputs=3),
        Case("Split", [ramp((2, 7))], {"axis": -1, "num_outputs": 3}, outputs=3),
        Case("Split", [ramp((2, 6)), ints(1, 5)], {"axis": 1}, outputs=2),
        Case("Split", [ramp((2, 6))], {"axis": 1}, outputs=2, opset=13),
        Case("Split", [ramp((2, 6))], {"axis": 1, "split": [2, 4]}, outputs=2, opset=11),
        Case("Split", [ramp((4, 2), I64)], {"num_outputs": 2}, outputs=2),
        Case("Split", [ramp((2, 6)), ints(1, 4)], {"axis": 1}, outputs=2, oracle="fails"),
    ]
    return cases


def joins_and_pads():
    x = ramp((2, 3))
    cases = [Case("Concat", [x.astype(t), x.astype(t)], {"axis": 1}) for t in MOVED]
    cases += [
        Case("Concat", [x], {"axis": 0}),
        Case("Concat", [x, ramp((1, 3)), ramp((0, 3))], {"axis": -2}),
        Case("Concat", [ramp((3,), I4), ramp((2,), I4)], {"axis": 0}, **ref(
            lambda x, y: [np.concatenate([x, y])], "ORT has no int4 kernel")),
        Case("Concat", [x, ramp((2, 2))], {"axis": 0}, oracle="fails"),
        Case("Concat", [x, x.astype(I32)], {"axis": 0}, oracle="fails"),
        Case("Concat", [a(1.0)], {"axis": 0}, oracle="fails"),
    ]
    for mode in ["constant", "reflect", "edge", "wrap"]:
        cases += [
            Case("Pad", [x, ints(1, 2, 0, 1)], {"mode": mode}),
            Case("Pad", [x, ints(0, 1, 1, 2)], {"mode": mode}),
            Case("Pad", [x.astype(I64), ints(0, 1, 0, 1)], {"mode": mode}, opset=18),
        ]
    cases += [
        Case("Pad", [a([1, 2, 3]), ints(2, -1)], {"mode": "wrap"}, opset=19, oracle="fails"),  # cut off before, or after
        Case("Pad", [a([1, 2, 3]), ints(-1, -1)], {"mode": "wrap"}, opset=19),
        Case("Pad", [x, ints(1, 2, 0, 1), a(7.0)]),
        Case("Pad", [x, ints(0, -1, 1, 2)]),
        Case("Pad", [x, ints(2, 1), a(7.0), ints(1)]),
        Case("Pad", [x, ints(2, 1), None, ints(-2)]),
        Case("Pad", [x.astype(I8), ints(1, 0, 0, 0), np.array(-5, I8)]),
        Case("Pad", [x], {"pads": [1, 0, 0, 2], "value": 2.5}, opset=2),
        Case("Pad", [ramp((0, 3)), ints(1, 0, 1, 0)]),
        Case("Pad", [x, ints(-1, -1, 0, 0)]),
        Case("Pad", [x, ints(9, 9)], oracle="fails"),
        Case("Pad", [x, ints(1, 2, 0, 1), a([])], oracle="fails"),
        Case("Pad", [x, ints(-9, 0, 0, 0)], oracle="fails"),
        Case("Pad", [x, ints(0, 5, 0, 0)], {"mode": "reflect"}, oracle="fails"),
    ]
    return cases


def gathers():
    x = ramp((3, 4))
    cases = [Case("Gather", [x.astype(t), ints(2, -1)]) for t in MOVED]
    cases += [
        Case("Gather", [x, ints(1)], {"axis": 1}),
        Case("Gather", [x, np.array(1, I64)], {"axis": 1}),
        Case("Gather", [x, np.array([[0, -2], [3, 3]], I32)], {"axis": -1}),
        Case("Gather", [x, np.zeros((0,), I64)]),
        Case("Gather", [ramp((3, 4), U4, start=0), ints(2, 0)], **ref(
            lambda x, i: [x[i]], "ORT has no uint4 kernel")),
        Case("Gather", [x, ints(3)], oracle="fails"),
        Case("Gather", [x, a([1.0])], oracle="fails"),
        Case("GatherElements", [x, np.array([[0, 1], [-1, 2]], I64)], {"axis": 1}),
        Case("GatherElements", [x, np.array([[0, 1, 2, 0]], I64)]),
        Case("GatherElements", [x.astype(I8), np.array([[0, 1, 2, 0]], I32)]),
        Case("GatherElements", [x, np.array([[4]], I64)], {"axis": 1}, oracle="fails"),
        Case("GatherElements", [x, np.zeros((4, 1), I64)], {"axis": 1}, oracle="fails"),
        Case("GatherND", [x, np.array([[0, 1], [2, -1]], I64)]),
        Case("GatherND", [x, np.array([[2], [0]], I64)]),
        Case("GatherND", [ramp((2, 3, 4)), np.array([[1], [2]], I64)], {"batch_dims": 1}),
        Case("GatherND", [ramp((2, 3, 4)), np.array([[[1, 0]], [[2, 3]]], I64)], {"batch_dims": 1}),
        Case("GatherND", [x, np.array([[3, 0]], I64)], oracle="fails"),
        Case("GatherND", [x, np.zeros((1, 3), I64)], oracle="fails"),
    ]
    return cases + choices(x)


def choices(x):
    """Compress and ReverseSequence."""
    types = (I8, U8, I16, U16, I32, U32, I64, U64, F16, F64, np.bool_)
    new = {"opset": 28, **ref(None, "ORT 1.31 knows no opset 28")}
    some, t = np.array([True, False, True]), ramp((2, 3, 4))
    cases = [Case("Compress", [t, np.array(c)], attrs, opset=opset) for opset in (9, 11) for c, attrs in [
        ([False, True], {"axis": 0}), (some, {"axis": 1}), ([True, True, False, True], {"axis": 2}), ([False, True], {"axis": 2}), ([True] * 7, {"axis": 1}),
        ([False] * 3, {"axis": 1}), ([True, False, True, True], {}), ([False] * 20 + [True] * 4, {})]]
    cases += [Case("Compress", [t, some.reshape(1, 3)], {"axis": 1})]  # ONNX has no such one, ONNX Runtime reads it flat
    cases += [Case("Compress", [t, some], {"axis": axis}) for axis in (-2, 1)] + [Case("Compress", [ramp((2, 0)), some[:2]], {"axis": axis}) for axis in (0, 1)]
    cases += [Case("Compress", [t.astype(d), some], {"axis": 1}) for d in types] + [
        Case("Compress", [t.astype(BF16), some], {"axis": 1}, **new | {"oracle": lambda v, c: [v[:, c]]})]
    cases += [Case("Compress", [t, c], attrs, oracle="fails") for c, attrs in [
        (some, {"axis": 3}), (some, {"axis": -4}), (some.astype(I32), {"axis": 1})]] + [Case("Compress", [a(1.0), some], oracle="fails")]
    rows = {"batch_axis": 0, "time_axis": 1}
    cases += [Case("ReverseSequence", [ramp((4, 3)), ints(4, 0, 2)], opset=10), Case("ReverseSequence", [ramp((3, 4)), ints(1, 4, 3)], rows),
              Case("ReverseSequence", [t, ints(2, 1, 0)]), Case("ReverseSequence", [t, ints(3, 2)], rows), Case("ReverseSequence", [ramp((2, 3, 0)), ints(2, 1, 0)]),
              Case("ReverseSequence", [ramp((0, 2)), ints(0, 0)], **ref(lambda v, n: [v], "ORT refuses no times"))]
    cases += [Case("ReverseSequence", [t.astype(d), ints(3, 2)], rows) for d in types] + [
        Case("ReverseSequence", [ramp((3, 2), BF16), ints(3, 2)], **new | {"oracle": lambda v, n: [np.stack([v[::-1, 0], v[[1, 0, 2], 1]], 1)]})]
    return cases + [Case("ReverseSequence", [t, n], attrs, oracle="fails") for n, attrs in [
        (ints(3, 1, 1), {}), (ints(-1, 1, 1), {}), (ints(1, 1), {}), (ints(1, 1, 1), {"batch_axis": 1, "time_axis": 1}), (ints(1, 1), {"batch_axis": 0, "time_axis": 2}),
        (ints(1, 1, 1), {"batch_axis": -2})]] + [Case("ReverseSequence", [ramp((3,)), ints(1)], oracle="fails")]


def scatters():
    x = ramp((3, 4))
    u = ramp((1, 4), start=50)
    i = np.array([[0, 1, 2, -1]], I64)
    nd = np.array([[0], [2]], I64)
    cases = [
        Case("Scatter", [x, i, u], opset=9),
        Case("ScatterElements", [x, i, u]),
        Case("ScatterElements", [x, np.array([[1, 3]], I64), ramp((1, 2))], {"axis": 1}),
        Case("ScatterElements", [x.astype(I8), i, u.astype(I8)], opset=11),
        Case("ScatterElements", [x, np.array([[9, 0, 0, 0]], I64), u], oracle="fails"),
        Case("ScatterElements", [x, i, ramp((1, 3))], oracle="fails"),
        Case("ScatterND", [x, nd, ramp((2, 4), start=50)]),
        Case("ScatterND", [x, np.array([[0, 1], [2, -1]], I64), a([8.0, 9.0])]),
        Case("ScatterND", [x.astype(I64), nd, ramp((2, 4), I64)], opset=11),
        Case("ScatterND", [x, np.array([[3]], I64), ramp((1, 4))], oracle="fails"),
        Case("ScatterND", [x, nd, ramp((2, 3))], oracle="fails"),
    ]
    twice = np.array([[1, 1, 1, 1], [1, 0, 1, 0]], I64)
    for reduction in ["add", "mul", "max", "min"]:
        attrs = {"reduction": reduction}
        cases += [
            Case("ScatterElements", [x, twice, ramp((2, 4), start=2)], attrs),
            Case("ScatterElements", [x.astype(I32), i, u.astype(I32)], attrs),
            Case("ScatterND", [x, np.array([[1], [1]], I64), ramp((2, 4), start=2)], attrs),
            Case("ScatterND", [x.astype(I64), nd, ramp((2, 4), I64)], attrs),
        ]
    return cases + caches()


def caches():
    op, circular = "TensorScatter", {"mode": "circular"}
    cache, update, at = ramp((2, 3, 5, 2)), ramp((2, 3, 2, 2), start=100), ints(3, 1)
    flat, one = ramp((3, 4)), ramp((3, 1), start=50)
    cases = [([cache, update], {}), ([cache, update, at], {}), ([cache, update, at], {"axis": 2}), ([cache, update, ints(4, 8)], circular),
             ([cache, ramp((2, 2, 5, 2)), ints(2, 7)], {"axis": 1, **circular}), ([cache, ramp((2, 3, 5, 1)), ints(0, 1)], {"axis": -1}),
             ([flat, one, ints(3, 0, 1)], {"axis": 1}), ([flat, flat + a(50), ints(3, 0, 2)], {"axis": -1, **circular}),
             ([cache, update[:, :, :0], ints(5, 0)], {}), ([cache[:0], update[:0], ints()], {})]
    cases += [([v.astype(t) for v in (cache, update)] + [at], {}) for t in (I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F64, np.bool_)]
    narrow = [[v.astype(t) for v in (cache, update)] + [at] for t in (E4M3FN, I4)]
    text = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    wrong = [([cache, update, ints(4, 1)], {}), ([cache, update, ints(-1, 1)], {}), ([cache, update, ints(-1, 1)], circular), ([cache, update, ints(1)], {}),
             ([cache, update, np.array([[1, 1]], I64)], {}), ([cache, update], {"axis": 0}), ([cache, update], {"axis": 4}), ([cache, update], {"axis": 1}),
             ([update, cache], {}), ([cache, update], {"mode": "round"}), ([cache, update.astype(F64)], {}), ([cache, update[0]], {}), ([cache], {}), ([text, flat], {"axis": 1})]
    return [Case(op, inputs, attrs, opset=24) for inputs, attrs in cases] + [
        Case(op, inputs, opset=24, oracle="reference", why="ORT has no kernel of 8 bits and less") for inputs in narrow] + [
        Case(op, inputs, attrs, opset=24, oracle="fails") for inputs, attrs in wrong]


def generators():
    tensor = onnx.numpy_helper.from_array  # noqa: F405
    cases = [
        Case("Constant", [], {"value": tensor(ramp((2, 2), I8))}),
        Case("Constant", [], {"value_float": 1.5}),
        Case("Constant", [], {"value_int": 7}),
        Case("Constant", [], {"value_floats": [1.5, 2.5]}),
        Case("Constant", [], {"value_ints": [1, 2]}),
        Case("ConstantOfShape", [ints(2, 3)]),
        Case("ConstantOfShape", [ints()], {"value": tensor(np.array([7], I64))}),
        Case("ConstantOfShape", [ints(2, 0)], {"value": tensor(np.array([True]))}),
        Case("ConstantOfShape", [ints(3)], {"value": tensor(np.array([5], U8))}, opset=9),
        Case("ConstantOfShape", [ints(-1)], oracle="fails"),
        Case("ConstantOfShape", [ints(2**40)], oracle="fails"),
        Case("Range", [np.array(1, I64), np.array(10, I64), np.array(3, I64)]),
        Case("Range", [np.array(10, I32), np.array(1, I32), np.array(-3, I32)]),
        Case("Range", [np.array(0, I64), np.array(0, I64), np.array(1, I64)]),
        Case("Range", [np.array(0, I64), np.array(-5, I64), np.array(1, I64)]),
        Case("Range", [a(0.0), a(1.0), a(0.1)]),
        Case("Range", [a(1.0, F64), a(0.0, F64), a(-0.3, F64)]),
        Case("Range", [np.array(0, I16), np.array(9, I16), np.array(4, I16)]),
        Case("Range", [np.array(0, I64), np.array(1, I64), np.array(0, I64)], oracle="fails"),
        Case("Range", [np.array(-(2**63), I64), np.array(2**63 - 1, I64), np.array(1, I64)],
             oracle="fails"),
        Case("Range", [a(0.0), a(NAN), a(1.0)], oracle="fails"),
        Case("EyeLike", [ramp((3, 4))]),
        Case("EyeLike", [ramp((3, 4), I32)], {"k": 1}),
        Case("EyeLike", [ramp((3, 2), I64)], {"k": -1, "dtype": 1}),
        Case("EyeLike", [ramp((2, 2))], {"k": 2**63 - 1}, **ref(
            lambda x: [np.zeros((2, 2), F32)], "ORT overflows")),
        Case("EyeLike", [ramp((3,))], oracle="fails"),
        Case("OneHot", [ints(0, 2, -1, 7), ints(3), a([0.0, 1.0])]),
        Case("OneHot", [ints(0, 2), np.array(3, I64), np.array([5, 9], I64)], {"axis": 0}),
        Case("OneHot", [np.array([[0, 1]], I64), np.array([3], I64), a([0.5, 2.0])], {"axis": 1}),
        Case("OneHot", [a([1.0, 0.0]), a([2.0]), a([0.0, 1.0])]),
        Case("OneHot", [ints(0), ints(0), a([0.0, 1.0])], oracle="fails"),
        Case("NonZero", [a([[0, 1, 0], [2, 0, -3]])]),
        Case("NonZero", [np.array([False, True])]),
        Case("NonZero", [ramp((4,), I64, start=-2)]),
        Case("NonZero", [ramp((2, 0))]),
        Case("Trilu", [ramp((3, 4))]),
        Case("Trilu", [ramp((2, 3, 3)), np.array(-1, I64)], {"upper": 0}),
        Case("Trilu", [ramp((3, 4), I64), np.array(1, I64)]),
        Case("Trilu", [ramp((3,))], oracle="fails"),
        Case("CumSum", [ramp((2, 3)), np.array(1, I32)]),
        Case("CumSum", [ramp((2, 3)), np.array(0, I64)], {"exclusive": 1}),
        Case("CumSum", [ramp((2, 3), I64), np.array(-1, I64)], {"reverse": 1}),
        Case("CumSum", [ramp((2, 3), I32), np.array(1, I64)], {"reverse": 1, "exclusive": 1}),
        Case("CumSum", [ramp((2, 3), F64), np.array(1, I64)], opset=11),
        Case("CumSum", [ramp((2, 0)), np.array(1, I64)]),
        Case("CumSum", [ramp((2, 3)), np.array(2, I64)], oracle="fails"),
    ]
    return cases + products()


def products():
    last, new = np.array(1, I64), {"opset": 26}
    forms = [{}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}]
    cases = [Case("CumProd", [ramp((2, 3, 2), start=2), np.array(axis, I32)], attrs, **new) for attrs in forms for axis in (-3, -1, 0, 1, 2)]
    cases += [Case("CumProd", [ramp((2, 3), t, start=1), last], attrs, **new) for t in (F64, I32, I64, U32, U64) for attrs in forms]
    halves = ref(lambda v, axis: [np.cumprod(v.astype(F32), 1).astype(v.dtype)], "ORT has no kernel for half precision")
    return cases + [Case("CumProd", [a([[1.1, 2.3, 3.7]], t), last], **new, **halves) for t in (F16, BF16)] + [
        Case("CumProd", [np.array([[2**30, 3, 5], [-7, 2**31 - 1, 2]], I32), last], **new), Case("CumProd", [np.array([[2**62, 3, 5]], I64), last], **new),
        Case("CumProd", [a([[0.0, INF, 1], [-2, NAN, 3], [-1, -0.0, 2]]), last], **new), Case("CumProd", [ramp((2, 0)), last], **new),
        Case("CumProd", [ramp((0, 2)), last], **new), Case("CumProd", [ramp((2, 3)), np.array(2, I64)], oracle="fails", **new),
        Case("CumProd", [ramp((2, 3)), ints(0, 1)], oracle="fails", **new), Case("CumProd", [a(1.0), last], oracle="fails", **new)]
