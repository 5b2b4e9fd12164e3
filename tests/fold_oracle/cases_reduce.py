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
    return cases + unique()


def unique():
    x = a([[2, 1, 1, 3, 4, 3], [2, 0, 1, 3, 4, 3], [2, 1, 1, 3, 4, 3]])
    t = a([[[1, 1], [0, 1], [2, 1], [0, 1]], [[1, 1], [0, 1], [2, 1], [0, 1]]])
    forms = [{"sorted": s, **axis} for s in (0, 1) for axis in ({}, {"axis": 0}, {"axis": 1}, {"axis": -1})] + [{}]

    def by(axis=None):
        def run(v):
            y, first, inverse, counts = np.unique(v, True, True, True, axis=axis)
            return [y, first, inverse.reshape(-1), counts]

        return ref(run, "ORT has no kernel for the type")

    cases = [Case("Unique", [v], form, outputs=4) for v in (x, t) for form in forms] + [Case("Unique", [x], outputs=n) for n in (1, 2, 3)]
    cases += [Case("Unique", [x.astype(d)], {"axis": 1}, outputs=4) for d in (F64, I64, I8)]
    cases += [Case("Unique", [x.astype(d)], form, outputs=4, **by(form.get("axis"))) for d in (F16, U8, I16, U16, I32, U32, U64, np.bool_) for form in ({}, {"axis": 1})]
    return cases + [
        Case("Unique", [np.array([2**63, 1, 2**64 - 1, 1], U64)], outputs=4, **by()), Case("Unique", [np.array([-1, 5, -128, 127, -1], I8)], outputs=4),
        Case("Unique", [a([INF, -INF, 0.0, -0.0, 1e-40, -1e-40, INF])], outputs=4), Case("Unique", [a([-0.0, 0.0])], outputs=4), Case("Unique", [a(3.0)], outputs=4),
        Case("Unique", [ramp((0,))], outputs=4), Case("Unique", [ramp((2, 0))], outputs=4), Case("Unique", [ramp((2, 0))], {"axis": 1}, outputs=4),
        Case("Unique", [ramp((2, 0))], {"axis": 0}, outputs=4, **ref(lambda v: [v[:1], ints(0), ints(0, 0), ints(2)], "ORT dies of it")),
        Case("Unique", [a([NAN, 1])], outputs=4, oracle="fails"), Case("Unique", [x], {"axis": 2}, oracle="fails"), Case("Unique", [a(1.0)], {"axis": 0}, oracle="fails"),
        Case("Unique", [x.astype(np.complex64)], oracle="fails"),
    ]
