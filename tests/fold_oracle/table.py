"""The table: every built-in kernel on inputs that have bitten somebody."""

import math

import ml_dtypes
import numpy as np
import onnx
from oracle import *  # noqa: F403
from oracle import Case

NAN, INF = np.nan, np.inf
SPECIAL = [NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1e-40, 3e38, -7.25, 1e-3]
POSITIVE = [0.0, 1e-40, 1e-3, 0.3, 0.5, 1.0, 1.5, 7.25, 100.0, 3e38, INF, NAN]
MILD = [0.0, -0.0, 0.5, -0.5, 0.1, 0.9, -0.9, 3.0, -3.0, 10.0, -10.0, 88.0, -88.0]
NO_HALF = "ORT has no bfloat16 kernel"


def a(values, dtype=F32, shape=None):
    with np.errstate(all="ignore"):
        x = np.asarray(values).astype(dtype)
    return x if shape is None else x.reshape(shape)


def ramp(shape, dtype=F32, start=-3, step=1):
    n = int(np.prod(shape))
    return a(np.arange(n) * step + start, dtype, shape)


def ints(*values):
    return np.array(values, np.int64)


def rng(shape, dtype=F32, seed=0, scale=3.0):
    return a(np.random.default_rng(seed).normal(size=shape) * scale, dtype)


def ref(inputs_to_outputs, why):
    return {"oracle": inputs_to_outputs, "why": why}


def in_f32(f):
    """An oracle for half types: compute in float32, round once."""

    def run(*inputs):
        half = next(x.dtype for x in inputs if x is not None)
        with np.errstate(all="ignore"):
            y = f(*[x.astype(np.float32) for x in inputs])
        return [y.astype(half) if y.dtype == np.float32 else y]

    return {"oracle": run, "why": NO_HALF}


# ---- arithmetic


def arithmetic():
    cases = []
    x, y = a(SPECIAL), a(SPECIAL[::-1])
    for op in ["Add", "Sub", "Mul", "Div"]:
        cases += [
            Case(op, [x, y]),
            Case(op, [x.astype(F64), y.astype(F64)]),
            Case(op, [a(SPECIAL, F16), a(SPECIAL[::-1], F16)]),
            Case(op, [a(1.5), a(-2.0)]),
            Case(op, [ramp((2, 3)), ramp((3,), start=1)]),
            Case(op, [ramp((2, 1, 3)), ramp((4, 1), start=1)]),
            Case(op, [ramp((2, 3)), a(2.0)], opset=7),
            Case(op, [a(2.0), ramp((2, 3), start=1)], opset=13),
            Case(op, [ramp((0, 3)), ramp((1, 3), start=1)]),
            Case(op, [ramp((3, 1, 2, 1, 2)), ramp((2, 2, 1), start=1)]),
        ]
        for t in [I32, I64, I8, U8, I16, U16, U32, U64]:
            ours = ramp((2, 3), t, start=0), ramp((3,), t, start=1)
            cases.append(Case(op, list(ours)))
        f = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
        cases.append(Case(op, [a(SPECIAL, BF16), a(SPECIAL[::-1], BF16)], **in_f32(f)))
    big = np.array([2**31 - 1, -(2**31), 70000], I32)
    cases += [
        Case("Add", [big, big]),
        Case("Mul", [big, big]),
        Case("Sub", [big, np.array([-1, 1, 5], I32)]),
        Case("Mul", [np.array([2**62, -(2**63)], I64), np.array([4, -1], I64)]),
        Case("Div", [np.array([7, -7, 7, -7], I32), np.array([2, 2, -2, -2], I32)]),
        Case("Div", [np.array([7, 1], I32), np.array([0, 1], I32)], oracle="fails"),
        Case("Div", [np.array([-(2**31)], I32), np.array([-1], I32)],
             **ref(lambda x, y: [x], "ORT stops with SIGFPE")),
        Case("Mod", [np.array([7, -7, 7, -7], I64), np.array([3, 3, -3, -3], I64)]),
        Case("Mod", [np.array([7, -7, 7, -7], I32), np.array([3, 3, -3, -3], I32)], {"fmod": 1}),
        Case("Mod", [np.array([7, 250], U8), np.array([3, 100], U8)], opset=13),
        Case("Mod", [a([7.5, -7.5, 1e9, NAN]), a([2.0, 2.0, 0.3, 1.0])], {"fmod": 1}),
        Case("Mod", [a([7.5], F16), a([2.0], F16)], {"fmod": 1}),
        Case("Mod", [a([7.5]), a([2.0])], oracle="fails"),
        Case("Mod", [np.array([1], I64), np.array([0], I64)], oracle="fails"),
        Case("Mod", [np.array([-(2**63), 5], I64), np.array([-1, -1], I64)],
             **ref(lambda x, y: [np.zeros(2, I64)], "ORT stops with SIGFPE")),
        Case("Pow", [a(POSITIVE), a(2.0)], ulp=1),
        Case("Pow", [a([2.0, 3.0, -2.0, 0.5, 9.0]), a([3.0, 0.5, 3.0, -1.0, 0.5])], ulp=1),
        Case("Pow", [a([2.0, 3.0, -2.0]), ints(10, 0, 3)], ulp=1),
        Case("Pow", [a([2.0, 3.0, -2.0], F64), a([10.0, 0.5, 3.0])], ulp=1),
        Case("Pow", [a([2.0, 3.0], F64), a([10.0, 0.5], F64)], ulp=1),
        Case("Pow", [ints(2, -3, 7), ints(10, 3, 0)]),
        Case("Pow", [np.array([2, -3], I32), a([3.0, 2.0])]),
        Case("Pow", [ramp((2, 3), F16, start=1), a([2.0], F16)], ulp=1),
        Case("Pow", [ints(10), ints(30)], oracle="fails"),
        Case("PRelu", [ramp((2, 3)), a([0.5, 0.25, -2.0])]),
        Case("PRelu", [a(SPECIAL), a(0.1)]),
        Case("PRelu", [ramp((2, 3), I32), np.array([2], I32)], **ref(
            lambda x, s: [np.where(x < 0, x * s, x)], "ORT has no integer PRelu")),
        Case("Add", [ramp((2,)), ramp((3,))], oracle="fails"),
        Case("Add", [ramp((2,))] * 3, oracle="fails"),
        Case("Add", [ramp((2,)), ramp((2,), I32)], oracle="fails"),
    ]
    for op in ["Sum", "Min", "Max", "Mean"]:
        cases += [
            Case(op, [x]),
            Case(op, [ramp((2, 3)), ramp((3,), start=5, step=-2), a(0.25)]),
            Case(op, [ramp((2, 1), F64), ramp((3,), F64), a(0.25, F64)],
                 **(ref(lambda p, q, r: [(p + q + r) * F32(1 / 3)], "ORT has no double kernel")
                    if op == "Mean" else {})),
            Case(op, [ramp((2, 3), F16), a([0.1, 0.2, 0.3], F16), a([7.0], F16)]),
            Case(op, [ramp((0,)), a(1.0)]),
        ]
    for op in ["Min", "Max"]:
        cases += [Case(op, [x, y]), Case(op, [x.astype(F64), y.astype(F64)])]
        for t in [I32, I64, U32, U64, I8, U8]:
            cases.append(Case(op, [ramp((2, 3), t, start=0), np.array([3], t)]))
    cases += [
        Case("Sum", [x, y]),
        Case("Clip", [x, a(-1.0), a(2.0)]),
        Case("Clip", [x, None, a(2.0)]),
        Case("Clip", [x, a(-1.0)]),
        Case("Clip", [x]),
        Case("Clip", [ramp((2, 3), F16), a(-1.0, F16), a(2.0, F16)]),
        Case("Clip", [ramp((6,), F64), a(-1.0, F64), a(2.0, F64)]),
        Case("Clip", [x], {"min": -1.0, "max": 2.0}, opset=6),
        Case("Clip", [x], {"max": 2.0}, opset=6),
        Case("Clip", [ramp((7,)), a(3.0), a(1.0)]),
        Case("Clip", [ramp((7,), BF16), a(-1.0, BF16), a(2.0, BF16)],
             **in_f32(lambda v, lo, hi: np.clip(v, lo, hi))),
    ]
    for t in [I8, U8, I32, I64, U32, U64]:
        cases.append(Case("Clip", [ramp((6,), t, start=0), np.array(1, t), np.array(3, t)]))
    return cases


def bitwise():
    cases = []
    for t in [U8, U16, U32, U64]:
        x = np.array([1, 255, 128, 77], np.uint64).astype(t)
        by = np.array([0, 1, 7, 3], t)
        for direction in ["LEFT", "RIGHT"]:
            case = Case("BitShift", [x, by], {"direction": direction})
            if t == U16:
                f = np.left_shift if direction == "LEFT" else np.right_shift
                case.oracle, case.why = (lambda p, q, f=f: [f(p, q)]), "ORT has no kernel for uint16"
            cases.append(case)
    cases.append(Case("BitShift", [np.array([1], U8), np.array([9], U8)], {"direction": "LEFT"},
                      **ref(lambda x, y: [np.array([0], U8)], "undefined in C++, and so in ORT")))
    cases.append(Case("BitShift", [ints(1), ints(1)], {"direction": "LEFT"}, oracle="fails"))
    for op in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"]:
        for t in [I8, U8, I16, U16, I32, U32, I64, U64]:
            cases.append(Case(op, [ramp((2, 3), t, start=0, step=37), np.array([5, 6, 7], t)]))
    for t in [I8, U8, I16, U16, I32, U32, I64, U64]:
        cases.append(Case("BitwiseNot", [ramp((5,), t, start=0)]))
    p, q = np.array([[True], [False]]), np.array([True, False])
    for op in ["And", "Or", "Xor"]:
        cases += [Case(op, [p, q]), Case(op, [p, q], opset=7)]
    cases += [Case("Not", [q]), Case("Not", [np.zeros((0,), bool)])]
    cases.append(Case("And", [ints(1), ints(1)], oracle="fails"))
    return cases


def unary():
    cases = []
    exact = ["Neg", "Abs", "Sign", "Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Relu"]
    close = ["Exp", "Log", "Erf", "Sigmoid", "Tanh", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan",
             "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Softplus", "Softsign", "HardSwish",
             "LeakyRelu", "Elu", "HardSigmoid", "Gelu"]
    atol = {"Sigmoid": 1e-7, "Gelu": 1e-6}
    loose = {"Erf": 16, "Tanh": 16, "Sigmoid": 16, "Gelu": 64, "Softplus": 16, "Elu": 16}
    for op in exact:
        # ORT has Sign of NaN as NaN in float and double and as 0 in float16.
        halves = SPECIAL[1:] if op == "Sign" else SPECIAL
        cases += [Case(op, [a(SPECIAL)]), Case(op, [a(halves, F16)]), Case(op, [ramp((2, 0, 3))])]
        cases += [Case(op, [a(SPECIAL, F64)]), Case(op, [a(0.7)])]
    for op in close:
        ulp = loose.get(op, 4)
        values = MILD if op not in ("Exp", "Log") else SPECIAL
        cases += [Case(op, [a(values)], ulp=ulp, atol=atol.get(op, 0)),
                  Case(op, [a(values, F16)], ulp=1), Case(op, [a(0.7)], ulp=ulp)]
    for op in ["Exp", "Log", "Sin", "Tanh", "Sigmoid"]:
        cases.append(Case(op, [a(MILD, F64)], ulp=4, atol=1e-30 if op != "Sigmoid" else 1e-12))
    cases.append(Case("Erf", [a(MILD, F64)], **ref(
        lambda x: [np.array([math.erf(v) for v in x])], "ORT has no double kernel"), ulp=1))
    for op in ["Neg", "Abs", "Sign"]:
        for t in [I8, I32, I64]:
            cases.append(Case(op, [np.array([-128, 127, 0, -1], t)]))
    cases += [
        Case("Neg", [np.array([-(2**31)], I32)]),
        Case("Relu", [ramp((6,), I32)]),
        Case("Relu", [ramp((6,), I8)]),
        Case("Exp", [a(MILD, BF16)], **in_f32(np.exp), ulp=1),
        Case("Round", [a(SPECIAL, BF16)], **in_f32(np.rint)),
        Case("Sqrt", [ramp((2,), I32)], oracle="fails"),
        Case("LeakyRelu", [a(MILD)], {"alpha": 0.3}),
        Case("Elu", [a(MILD)], {"alpha": 0.3}, ulp=16),
        Case("HardSigmoid", [a(MILD)], {"alpha": 0.3, "beta": 0.1}, ulp=1),
        Case("Gelu", [a(MILD)], {"approximate": "tanh"}, ulp=64, atol=1e-6),
        Case("IsNaN", [a(SPECIAL)]),
        Case("IsNaN", [a(SPECIAL, F16)]),
        Case("IsNaN", [a(SPECIAL, F64)]),
        Case("IsInf", [a(SPECIAL)]),
        Case("IsInf", [a(SPECIAL)], {"detect_negative": 0}),
        Case("IsInf", [a(SPECIAL, F64)], {"detect_positive": 0}),
    ]
    return cases


def compare_ops():
    cases = []
    x, y = a(SPECIAL), a(SPECIAL[::-1])
    for op in ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]:
        cases += [Case(op, [x, y]), Case(op, [a(SPECIAL, F16), a(0.5, F16)]),
                  Case(op, [ramp((2, 1)), ramp((3,))]), Case(op, [ramp((0, 2)), a(1.0)]),
                  Case(op, [x.astype(F64), y.astype(F64)])]
        for t in [I32, I64]:
            cases.append(Case(op, [ramp((5,), t), np.array(1, t)]))
        for t in [I8, U8, I16, U16, U32, U64]:
            cases.append(Case(op, [ramp((5,), t, start=0), np.array(1, t)], oracle="reference",
                              why="ORT lacks some of these types"))
    p = np.array([True, False, True])
    cases += [
        Case("Equal", [p, np.array([True])]),
        Case("Where", [p, ramp((3,)), a(9.0)]),
        Case("Where", [np.array([[True], [False]]), ramp((3,), I64), ints(7)]),
        Case("Where", [p, ramp((2, 1), U8, start=0), ramp((3,), U8, start=5)]),
        Case("Where", [p, a([1, 2, 3], F16), a([4.0], F16)], oracle="reference",
             why="ORT has no float16 kernel"),
        Case("Where", [p, a([1, -2, 3], I4), a([4], I4)],
             **ref(lambda c, x, y: [np.where(c, x.astype(I8), y.astype(I8)).astype(I4)],
                   "no runtime has int4")),
        Case("Where", [np.zeros((0,), bool), a(1.0), a(2.0)]),
        Case("Where", [p, ramp((3,)), ramp((3,), I32)], oracle="fails"),
    ]
    return cases


# ---- reductions and order


def reductions():
    cases = []
    axes_input = {"ReduceSum": 13}
    x = rng((2, 3, 4))
    for op in ["ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare",
               "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMin"]:
        first = axes_input.get(op, 18)
        # ORT sums in float32, in an order of its own.
        ulp = 0 if op in ("ReduceMax", "ReduceMin") else 16
        data = np.abs(x) if op == "ReduceLogSum" else x
        for new in [True, False]:
            opset = 21 if new else first - 1
            for axes in [None, [1], [0, 2], [-1], [0, 1, 2], [2, 0]]:
                for keep in [0, 1]:
                    attrs = {"keepdims": keep}
                    inputs = [data]
                    if axes is not None and new:
                        inputs.append(ints(*axes))
                    elif axes is not None:
                        attrs["axes"] = axes
                    cases.append(Case(op, inputs, attrs, opset=opset, ulp=ulp))
        cases += [
            Case(op, [np.abs(rng((3, 5), F16)), ints(1)], ulp=1),
            Case(op, [data.astype(F64), ints(1)], ulp=16),
            Case(op, [a(2.0)], ulp=ulp),
            Case(op, [data, ints()], {"noop_with_empty_axes": 1}, ulp=ulp),
            Case(op, [data], {"noop_with_empty_axes": 1}, ulp=ulp),
            Case(op, [data, ints()], ulp=ulp),
            Case(op, [data, ints(3)], oracle="fails"),
            Case(op, [data, ints(1, 1)], oracle="fails"),
        ]
        if op not in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2", "ReduceL1"):
            cases.append(Case(op, [ramp((2, 3), I32), ints(1)]))
    for op in ["ReduceSum", "ReduceMax", "ReduceMin"]:
        cases.append(Case(op, [ramp((2, 3), I64), ints(0)]))
    big = np.array([[2**31 - 1, 5]], I32)
    for op in ["ReduceSum", "ReduceProd", "ReduceL1", "ReduceSumSquare"]:
        cases += [Case(op, [big, ints(1)], oracle="fails"),
                  Case(op, [np.array([2**62, 2**62], I64)], oracle="fails")]
    cases += [
        Case("ReduceSum", [np.array([2**30, -(2**30), 2**24 + 1], I32)]),
        Case("ReduceMean", [np.array([[-7, -8]], I32), ints(1)]),
        Case("ReduceL2", [np.array([[3, 5]], I64), ints(1)]),
        Case("ReduceSum", [ramp((2, 0, 3)), ints(1)]),
        Case("ReduceProd", [ramp((2, 0, 3)), ints(1)]),
        Case("ReduceMax", [a([1.0, NAN, 2.0])], oracle="fails"),
        Case("ReduceMax", [a([-INF, INF])]),
        Case("ReduceMin", [a([3.0, -INF])]),
        Case("ReduceMax", [np.array([[True, False], [False, False]]), ints(1)]),
        Case("ReduceMin", [np.array([[True, False], [True, True]]), ints(1)]),
        Case("ReduceMax", [ramp((2, 3), I8), ints(1)]),
        Case("ReduceMean", [a([[1.5, 2.5]], BF16), ints(1)],
             **in_f32(lambda x, ax=None: x.mean(1, keepdims=True))),
    ]
    cases[-1].oracle = lambda x, ax: [x.astype(F32).mean(1, keepdims=True).astype(BF16)]
    return cases


def order():
    x = a([[3, 1, 3, -2], [5, 5, 0, 5]])
    cases = []
    for op in ["ArgMax", "ArgMin"]:
        for attrs in [{}, {"axis": 1}, {"axis": -1, "keepdims": 0},
                      {"axis": 1, "select_last_index": 1}]:
            cases.append(Case(op, [x], attrs))
        cases += [Case(op, [x.astype(t)], {"axis": 1}) for t in [F64, I32, I8]]
        cases += [Case(op, [x.astype(F16)], {"axis": 1}), Case(op, [x], {"axis": 1}, opset=11)]
        cases.append(Case(op, [ramp((2, 0))], {"axis": 1}, oracle="fails"))
    cases += [
        Case("TopK", [x, ints(2)], outputs=2),
        Case("TopK", [x, ints(3)], {"largest": 0}, outputs=2),
        Case("TopK", [x, ints(1)], {"axis": 0}, outputs=2),
        Case("TopK", [x, ints(0)], outputs=2),
        Case("TopK", [x.astype(I64), ints(2)], outputs=2),
        Case("TopK", [x], {"k": 2}, opset=9, outputs=2),
        Case("TopK", [x, ints(2)], opset=10, outputs=2),
        Case("TopK", [x.astype(F16), ints(2)], outputs=2),
        Case("TopK", [x, ints(9)], outputs=2, oracle="fails"),
    ]
    return cases


# ---- movement


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
        Case("Pad", [x, ints(1, 2, 0, 1), a(7.0)]),
        Case("Pad", [x, ints(0, -1, 1, 2)]),
        Case("Pad", [x, ints(2, 1), a(7.0), ints(1)]),
        Case("Pad", [x, ints(2, 1), None, ints(-2)]),
        Case("Pad", [x.astype(I8), ints(1, 0, 0, 0), np.array(-5, I8)]),
        Case("Pad", [x], {"pads": [1, 0, 0, 2], "value": 2.5}, opset=2),
        Case("Pad", [ramp((0, 3)), ints(1, 0, 1, 0)]),
        Case("Pad", [x, ints(-1, -1, 0, 0)]),
        Case("Pad", [x, ints(9, 9)], oracle="fails"),
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
    return cases


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
    return cases


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
    return cases


# ---- linear


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
    x = rng((2, 3, 4))
    for op in ["Softmax", "LogSoftmax"]:
        for axis in [-1, 0, 1]:
            cases += [Case(op, [x], {"axis": axis}, ulp=16, atol=1e-6),
                      Case(op, [x], {"axis": axis if axis >= 0 else 2}, opset=11, ulp=16)]
        cases += [Case(op, [x], ulp=16), Case(op, [x], opset=11, ulp=16),
                  Case(op, [x.astype(F16)], ulp=1), Case(op, [x.astype(F64)], ulp=16),
                  Case(op, [a([[1e30, -1e30, 0]])], ulp=4), Case(op, [ramp((2, 0))])]
    return cases


# ---- casts


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
    return cases


# ---- quantization


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


def table():
    return (arithmetic() + bitwise() + unary() + compare_ops() + reductions() + order() + reshapes()
            + strided() + joins_and_pads() + gathers() + scatters() + generators() + linear()
            + casts() + dequantize() + quantize())
