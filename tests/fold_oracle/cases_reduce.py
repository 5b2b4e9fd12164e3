"""Cases of reductions, ArgMax, TopK."""

import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from values import *  # noqa: F403


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
        *[Case("ReduceSum", [ramp((2, 3)), ints(1)], {"keepdims": keep}) for keep in (-2, 2)],
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
                      {"axis": 1, "keepdims": 2}, {"axis": 1, "select_last_index": 1}]:
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
