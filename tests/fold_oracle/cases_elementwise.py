"""Cases of arithmetic, bits, functions of one element, comparison."""

import math

import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403


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
        Case("Pow", [a([2.0, 3.0]), a([2.0, 0.5], F16)], ulp=1, oracle="reference", why="ONNX Runtime has no such kernel"),
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
                 **(ref(lambda p, q, r: [(p + q + r) / 3], "ORT has no double kernel")
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
