"""Operators as they were before opset 7. ONNX Runtime runs none of them: NumPy says what the old text says, or ONNX Runtime runs
the newer form, translated here by hand."""

import numpy as np
import oracle
from oracle import *  # noqa: F403
from oracle import Case
from cases_models import SUMS, image
from values import *  # noqa: F403

OLD = "ONNX Runtime runs opset 7 and later"


def by(f):
    """An oracle of NumPy, of one output."""

    def run(*inputs):
        with np.errstate(all="ignore"):
            return [np.asarray(f(*inputs))]

    return {"oracle": run, "why": OLD}


def newer(op, attrs=None, opset=13, outputs=1, first=None):
    """An oracle: another form of the operator in ONNX Runtime, of the first inputs."""

    def run(*inputs):
        case = Case(op, list(inputs[:first]), attrs or {}, opset=opset, outputs=outputs)
        return [value.array() for value in oracle.run_ort(case)]

    return {"oracle": run, "why": OLD}


def fails(op, opset, *rows):
    return [Case(op, inputs, attrs, opset=opset, oracle="fails") for inputs, attrs in rows]


# Shapes of both operands, the axis, and the second's shape as NumPy broadcasts it. No axis: the last dimensions.
LAYOUTS = [
    ((2, 3, 4), (), None, ()), ((2, 3, 4), (1,), None, ()), ((2, 3, 4), (1, 1), None, ()), ((2, 3, 4), (1,), 0, ()),
    ((2, 3, 4), (4,), None, (4,)), ((2, 3, 4), (3, 4), None, (3, 4)), ((2, 3, 4), (3, 4), 1, (3, 4)),
    ((2, 3, 4), (3,), 1, (3, 1)), ((2, 3, 4), (2,), 0, (2, 1, 1)), ((2, 3, 4), (2, 3), 0, (2, 3, 1)),
    ((2, 3, 4), (3,), -2, (3, 1)), ((2, 3, 4), (2, 3, 4), None, (2, 3, 4)), ((2, 3, 4), (2, 3, 4), 0, (2, 3, 4)),
    # Where several axes have this size the right one is taken.
    ((3, 3, 3), (3,), 0, (3, 1, 1)), ((3, 3, 3), (3,), 1, (3, 1)), ((3, 3, 3), (3,), None, (3,)),
    ((2, 3, 1), (3, 1), 1, (3, 1)), ((2, 0, 4), (0,), 1, (0, 1)),
]
# Of what the text allows none is: larger, from another place on, with a dimension of 1 that would be stretched.
MISLAID = [
    ((4,), (2, 4), None), ((4,), (1, 1), None), ((2, 3, 4), (3,), None), ((2, 3, 4), (3,), 0), ((2, 3, 4), (3,), 2),
    ((2, 3, 4), (4,), 3), ((2, 3, 4), (3,), -1), ((2, 3, 4), (4,), -4), ((2, 3, 4), (3, 4), -1),
    ((2, 3, 4), (1, 4), None), ((2, 3, 4), (3, 1), None), ((2, 1, 4), (3, 4), None), ((2, 3, 4), (3, 1), 1),
]


def broadcasts():
    cases = []
    floats = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}
    logic = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}
    compared = {"Greater": np.greater, "Less": np.less}
    operators = [(op, f, opset, F32) for op, f in floats.items() for opset in (1, 6)]
    operators += [(op, f, 6, I32) for op, f in floats.items() if op != "Div"]
    operators += [(op, f, opset, bool) for op, f in logic.items() for opset in (1, 6)]
    operators += [(op, f, opset, F32) for op, f in compared.items() for opset in (1, 6)]
    operators += [("Equal", np.equal, opset, dtype) for opset in (1, 6) for dtype in (I32, I64, bool)]
    for op, f, opset, dtype in operators:
        for first, second, axis, shape in LAYOUTS:
            def run(x, y, f=f, shape=shape):
                return f(x, y.reshape(shape))

            attrs = {"broadcast": 1} | ({} if axis is None else {"axis": axis})
            x, y = (rng(s, F32, seed) for s, seed in ((first, 1), (second, 2)))
            x, y = (x > 0, y > 0) if dtype == bool else (x.astype(dtype), y.astype(dtype))
            cases.append(Case(op, [x, y], attrs, opset=opset, **by(run)))
    x, y = np.abs(image((2, 3, 4))) + F32(0.1), image((3,))
    cases += [Case("Pow", [x, y], {"broadcast": 1, "axis": 1}, opset=opset, ulp=2, **by(lambda x, y: np.power(x, y[:, None]))) for opset in (1, 6)]
    cases += [Case("Pow", [x, y[0]], {"broadcast": 1}, opset=6, ulp=2, **by(np.power))]
    for op in [*floats, "Greater", "Less", "Pow"]:
        cases += [Case(op, [image(first), image(second)], {"broadcast": 1} | ({} if axis is None else {"axis": axis}), opset=6, oracle="fails")
                  for first, second, axis in MISLAID]
    return cases + no_broadcasts()


def no_broadcasts():
    x, y, row = rng((2, 3), seed=1), rng((2, 3), seed=2), rng((3,), seed=3)
    q, one = a([[1, 2, 3]], I32), a([1.0])
    return [
        Case("Add", [x, y], {}, opset=6, **by(np.add)), Case("Sub", [x, y], {"broadcast": 0}, opset=1, **by(np.subtract)),
        Case("Mul", [x, y], {"axis": 7}, opset=6, **by(np.multiply)),  # nobody needs it
        Case("Add", [x, y], {"consumed_inputs": [0, 1]}, opset=1, **by(np.add)),
        Case("Add", [x.astype(F16), row.astype(F16)], {"broadcast": 1}, opset=6, **by(np.add)),
        Case("Div", [x.astype(F64), row.astype(F64)], {"broadcast": 1}, opset=1, **by(np.divide)),
        Case("Div", [a([7, -7, 9], I64), a([2], I64)], {"broadcast": 1}, opset=6, **by(lambda x, y: a([3, -3, 4], I64))),
        *fails("Add", 6, ([x, row], {}), ([x, one], {}), ([x, row], {"broadcast": 0}), ([x, y], {"consumed_inputs": [0]}), ([x, y], {"alpha": 1.0}), ([x], {}),
               ([x, y, y], {}), ([q.astype(I8), q.astype(I8)], {}), ([x.astype(BF16), y.astype(BF16)], {}), ([x, y.astype(F64)], {})),
        *fails("Add", 1, ([q, q], {})), *fails("Div", 6, ([q, q * 0], {})), *fails("Pow", 6, ([q, q], {})), *fails("Less", 6, ([q, q], {})),
        *fails("Greater", 1, ([x, row], {})), *fails("And", 6, ([q, q], {})), *fails("Equal", 6, ([x, x], {})), *fails("Equal", 1, ([q, q[0]], {})),
    ]


def equal_shapes():
    x, y, z = (rng((2, 3), seed=s) for s in (1, 2, 3))
    cases = []
    for op, f in {"Sum": lambda *v: v[0] + v[1] + v[2], "Max": lambda *v: np.max(v, 0), "Min": lambda *v: np.min(v, 0),
                  "Mean": lambda *v: (v[0] + v[1] + v[2]) / F32(3)}.items():
        cases += [Case(op, [x, y, z], {"consumed_inputs": [0, 0, 1]}, opset=1, ulp=2, **by(f)), Case(op, [x, y, z], opset=6, ulp=2, **by(f)),
                  Case(op, [x, y, z], opset=7, ulp=2), Case(op, [x], opset=1, **by(lambda x: x))]
        cases += fails(op, 6, ([x, y[:1]], {}), ([x, y[0]], {}), ([x, a(1.0)], {}), ([x, y], {"consumed_inputs": [0]}), ([], {}))
        cases += fails(op, 7, ([x, y[:1]], {})) + fails(op, 1, ([a([1], I32), a([2], I32)], {}))
    return cases


def prelus():
    x, s = rng((2, 3, 3)), a([0.1, 10, -2])
    shared, of_channels = by(lambda x, s: np.where(x > 0, x, x * s.reshape(()))), by(lambda x, s: np.where(x > 0, x, x * s[:, None]))
    return [
        *(Case("PRelu", [x, s], opset=opset, **of_channels) for opset in (1, 6)),
        Case("PRelu", [x, s], {"consumed_inputs": [0, 1]}, opset=1, **of_channels),
        *(Case("PRelu", [x, one], opset=6, **shared) for one in (a(0.1), a([0.1]), a([[0.1]]), a([[[[0.1]]]]))),
        Case("PRelu", [x[0], s], opset=6, **by(lambda x, s: np.where(x > 0, x, x * s))),
        Case("PRelu", [x[0, 0], s[:1]], opset=6, **shared), Case("PRelu", [a(-2.0), s[:1]], opset=6, **shared),
        Case("PRelu", [x[:, :1], s[:1]], opset=6, **shared),
        *fails("PRelu", 6, ([x, s[:2]], {}), ([x[:, :1], s], {}), ([x[0, 0], s], {}), ([x, x[0]], {}), ([x, s[:, None]], {}), ([x], {}), ([x, s], {"consumed_inputs": [0]}),
               ([x.astype(I32), s.astype(I32)], {})),
    ]


def gemms():
    x, w, c = rng((2, 3), seed=1), rng((3, 4), seed=2), rng((2, 4), seed=3)
    plain, half = by(lambda x, w, c: x @ w + c), by(lambda x, w, c: F32(0.5) * (x.T @ w.T) + 2 * c)
    return [
        *(Case("Gemm", [x, w, c], opset=opset, **SUMS, **plain) for opset in (1, 6)),
        Case("Gemm", [x.T.copy(), w.T.copy(), c], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}, opset=6, **SUMS, **half),
        *(Case("Gemm", [x, w, add], {"broadcast": 1}, opset=6, **SUMS, **plain) for add in (c, c[0], a(3.0), a([3.0]), a([[3.0]]), c[:1], c[:, :1])),
        Case("Gemm", [x.T.copy(), w.T.copy(), c[0]], {"broadcast": 1, "transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}, opset=1, **SUMS, **half),
        *fails("Gemm", 6, ([x, w, c[0]], {}), ([x, w, a(3.0)], {}), ([x, w], {"broadcast": 1}), ([x, w, c[:, 0]], {"broadcast": 1}), ([x, w, c[None]], {"broadcast": 1}),
               ([x, w.T.copy(), c], {}), ([x[None], w, c], {}), ([x, w, c], {"axis": 1}), ([x.astype(I32), w.astype(I32), c.astype(I32)], {})),
    ]


def in_training():
    x, stats = rng((2, 3, 4, 5)), [a([1, 2, 3]), a([0.5, -1, 0]), a([0.1, 0.2, -3]), a([1, 2, 0.5])]
    test = {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}
    new = newer("BatchNormalization", {"epsilon": 0.5}, opset=9)
    return [
        Case("BatchNormalization", [x, *stats], test | {"epsilon": 0.5, "momentum": 0.3, "spatial": 1}, opset=1, **SUMS, **new),
        Case("BatchNormalization", [x, *stats], {"is_test": 1, "epsilon": 0.5}, opset=6, **SUMS, **new),
        Case("BatchNormalization", [x[:, :, 0, 0], *stats], {"is_test": 2}, opset=6, **SUMS, **newer("BatchNormalization", opset=9)),
        *fails("BatchNormalization", 6, ([x, *stats], {}), ([x, *stats], {"is_test": 0}), ([x, *stats], test), ([x, *stats], {"is_test": 1, "spatial": 0}),
               ([x, *stats[:3]], {"is_test": 1}), ([x, *[s[:2] for s in stats]], {"is_test": 1}), ([x, *[s[:, None] for s in stats]], {"is_test": 1}),
               ([x[0, 0, 0], *[s[:1] for s in stats]], {"is_test": 1}), ([x, *stats], {"is_test": 1, "training_mode": 0})),
        *fails("BatchNormalization", 1, ([x, *stats], {}), ([x[:, :, 0], *stats], test)),
        Case("BatchNormalization", [x, *stats], {"is_test": 1}, opset=6, outputs=5, oracle="fails"),
        Case("Dropout", [x], {"is_test": 1, "ratio": 0.9, "consumed_inputs": [0]}, opset=1, **by(lambda x: x)),
        Case("Dropout", [x], {"is_test": 1}, opset=6, **by(lambda x: x)),
        *fails("Dropout", 6, ([x], {}), ([x], {"is_test": 0}), ([x], {"is_test": 1, "seed": 1}), ([x.astype(I32)], {"is_test": 1}), ([x, x], {"is_test": 1})),
        Case("Dropout", [x], {"is_test": 1}, opset=6, outputs=2, oracle="fails"),
    ]


def attributes():
    x = a([-INF, -3.7, -0.5, 0, 0.5, 2.6, 7, INF, NAN])
    lowest, most = (lambda v: np.finfo(v.dtype).min), (lambda v: np.finfo(v.dtype).max)
    cases = [Case("Clip", [x.astype(t)], {"consumed_inputs": [0]}, opset=1, **by(lambda v: np.clip(v, lowest(v), most(v)))) for t in (F32, F64, F16)]
    for t in (F32, F64, F16):
        cases += [Case("Clip", [x.astype(t)], {"max": 2.5}, opset=1, **by(lambda v: np.clip(v, lowest(v), v.dtype.type(2.5)))),
                  Case("Clip", [x.astype(t)], {"min": -0.5}, opset=5, **by(lambda v: np.clip(v, v.dtype.type(-0.5), most(v)))),
                  Case("Clip", [x.astype(t)], {"min": -0.5, "max": 2.5}, opset=1, **by(lambda v: np.clip(v, v.dtype.type(-0.5), v.dtype.type(2.5))))]
    cases += fails("Clip", 1, ([x.astype(BF16)], {}), ([a([1], I32)], {}), ([x, a(1.0)], {}), ([x], {"most": 1.0}))
    y = a([-20.5, -1, 0, 2.7, 300.2])
    for word, t in {"FLOAT": F32, "FLOAT16": F16, "DOUBLE": F64, "INT32": I32, "INT64": I64, "BOOL": bool}.items():
        cases.append(Case("Cast", [y], {"to": word}, opset=1, **by(lambda v, t=t: v.astype(t))))
    for word, t in {"INT8": I8, "INT16": I16, "UINT8": U8, "UINT16": U16, "UINT32": U32, "UINT64": U64}.items():
        cases.append(Case("Cast", [a([0, 1, 2.7, 100])], {"to": word}, opset=5, **by(lambda v, t=t: v.astype(t))))
    cases += [Case("Cast", [a([0, 3], I32)], {"to": "BOOL"}, opset=1, **by(lambda v: v != 0)), Case("Cast", [a([0, 3], U8)], {"to": "FLOAT"}, opset=1, **by(lambda v: v.astype(F32)))]
    cases += fails("Cast", 1, ([y], {}), ([y], {"to": "INT"}), ([y], {"to": "float"}), ([y], {"to": 6}), ([y], {"to": "STRING"}), ([y], {"to": "BFLOAT16"}), ([y], {"to": "COMPLEX64"}),
                   ([y], {"to": "UNDEFINED"}), ([y], {"to": ""}), ([y.astype(BF16)], {"to": "FLOAT"}))
    return cases + selus()


def selus():
    x = a([-88, -3, -0.5, -0.0, 0, 0.5, 3, 100, NAN, INF, -INF])

    def selu(alpha, gamma):
        return lambda v: (gamma * np.where(v.astype(F64) > 0, v.astype(F64), alpha * np.expm1(v.astype(F64)))).astype(v.dtype)

    return [
        Case("Selu", [x], opset=1, ulp=4, **by(selu(F32(1.6732), F32(1.0507)))), Case("Selu", [x], {"alpha": 2.0, "gamma": 3.0, "consumed_inputs": [0]}, opset=5, ulp=4, **by(selu(2, 3))),
        Case("Selu", [x], opset=6, ulp=4, **by(selu(F32(1.67326319217681884765625), F32(1.05070102214813232421875)))),
        Case("Selu", [x], opset=13, ulp=8), Case("Selu", [x], {"alpha": 2.0, "gamma": 3.0}, opset=21, ulp=8),
        Case("Selu", [x.astype(F16)], opset=6, ulp=1, **by(selu(F32(1.67326319217681884765625), F32(1.05070102214813232421875)))),
        *fails("Selu", 6, ([a([1], I32)], {})),
    ]


def moved():
    x = rng((4, 3))
    rows, columns = (lambda v, _=None: [v[:1], v[1:]]), (lambda v, _=None: [v[:, :2], v[:, 2:]])
    pieces = lambda f: {"oracle": f, "why": OLD, "outputs": 2}  # noqa: E731
    cases = [
        Case("Split", [x, a([1, 3])], {"axis": 0}, opset=1, **pieces(rows)), Case("Split", [x], {"axis": 0, "split": [1, 3]}, opset=1, **pieces(rows)),
        Case("Split", [x, a([2, 1])], {"axis": 1}, opset=1, **pieces(columns)), Case("Split", [x], {"axis": -1, "split": [2, 1]}, opset=1, **pieces(columns)),
        Case("Split", [x], {"axis": 0}, opset=1, **pieces(lambda v: [v[:2], v[2:]])), Case("Split", [x[:, 0]], {}, opset=1, **pieces(lambda v: [v[:2], v[2:]])),
        Case("Split", [x[:, 0], a([3, 1])], {}, opset=1, **pieces(lambda v, _: [v[:3], v[3:]])),
    ]
    bad = [([x], {}), ([x, a([1, 3])], {}), ([x], {"axis": 1}), ([x], {"axis": 2}), ([x, a([1, 3])], {"axis": 0, "split": [1, 3]}), ([x, a([1.5, 2.5])], {"axis": 0}),
           ([x, a([1, 2])], {"axis": 0}), ([x, a([5, -1])], {"axis": 0}), ([x, a([NAN, 1])], {"axis": 0}), ([x, a([1e30, 1])], {"axis": 0}), ([x, a([[1, 3]])], {"axis": 0}),
           ([x.astype(I32)], {"axis": 0}), ([x], {"axis": 0, "num_outputs": 2})]
    cases += [Case("Split", inputs, attrs, opset=1, outputs=2, oracle="fails") for inputs, attrs in bad]
    for mode in "constant", "reflect", "edge":
        attrs = {"paddings": [1, 0, 2, 1], "mode": mode} | ({"value": 0.5} if mode == "constant" else {})
        extra = {"constant_values": 0.5} if mode == "constant" else {}
        cases += [Case("Pad", [x], attrs, opset=1, **by(lambda v, mode=mode, extra=extra: np.pad(v, ((1, 2), (0, 1)), mode, **extra))),
                  Case("Pad", [x], attrs, opset=1, oracle="reference", why=OLD)]
    cases += [Case("Pad", [x], {"paddings": [0, 1, 0, 0]}, opset=1, **by(lambda v: np.pad(v, ((0, 0), (1, 0)))))]
    cases += fails("Pad", 1, ([x], {}), ([x], {"pads": [0, 0, 1, 1]}), ([x], {"paddings": [0, 0, -1, 1]}), ([x], {"paddings": [1, 1]}), ([x], {"paddings": [0, 0, 1, 1], "mode": "wrap"}),
                   ([x], {"paddings": [4, 0, 0, 0], "mode": "reflect"}), ([x.astype(I32)], {"paddings": [0, 0, 1, 1]}))
    return cases


def grown():
    x, y = rng((2, 3)), rng((1, 2, 3, 5))
    cases = [
        *(Case("Tile", [x, a(t), a(0.0)], opset=opset, **by(lambda v, *_: np.tile(v, (3, 1)))) for t in (3.0, [3.0]) for opset in (1, 5)),
        Case("Tile", [x, a(2.0), a([1.0])], opset=1, **by(lambda v, *_: np.tile(v, (1, 2)))), Case("Tile", [x, a(2.0), a(-2.0)], opset=1, **by(lambda v, *_: np.tile(v, (2, 1)))),
        Case("Tile", [x, a(0.0), a(0.0)], opset=1, **by(lambda v, *_: v[:0])), Case("Tile", [x.astype(F16), a(2.0, F16), a(1.0, F16)], opset=1, **by(lambda v, *_: np.tile(v, (1, 2)))),
        *fails("Tile", 1, ([x, a([3.0, 2.0]), a(0.0)], {}), ([x, a(1.5), a(0.0)], {}), ([x, a(-1.0), a(0.0)], {}), ([x, a(2.0), a(2.0)], {}), ([x, a(2.0), a(0.5)], {}), ([x, a(2.0)], {}),
               ([x, ints(2), ints(0)], {}), ([x, a(INF), a(0.0)], {}), ([a(1.0), a(2.0), a(0.0)], {})),
    ]
    for height, width in (2.0, 3.0), (1.0, 1.0), (1.5, 2.7), (1.0, 1.2):
        scales = {"height_scale": height, "width_scale": width}
        for mode, new in ("nearest", "nearest"), ("bilinear", "linear"):
            cases.append(Case("Upsample", [y], scales | {"mode": mode}, opset=6, **SUMS, **newer("Upsample", {"mode": new, "scales": [1.0, 1.0, height, width]}, opset=7)))
    cases += [Case("Upsample", [a([[[[1, 2], [3, 4]]]], t)], {"height_scale": 2.0, "width_scale": 2.0}, opset=1, **by(lambda v: v.repeat(2, 2).repeat(2, 3))) for t in (F32, F16, F64, I32, I64, bool)]
    two = {"height_scale": 2.0, "width_scale": 2.0}
    cases += fails("Upsample", 1, ([y], {}), ([y], {"height_scale": 2.0}), ([y], two | {"width_scale": 0.5}), ([y], two | {"height_scale": NAN}), ([y], two | {"width_scale": 1e30}),
                   ([y], two | {"mode": "linear"}), ([y], {"scales": [1.0, 1.0, 2.0, 2.0]}), ([y[0]], two), ([y.astype(I8)], two))
    return cases


def states():
    t, n, i, h = 4, 2, 3, 2
    cases = []
    for op, gates in ("LSTM", 4), ("GRU", 3), ("RNN", 1):
        outputs = 3 if op == "LSTM" else 2
        for direction in "forward", "reverse", "bidirectional":
            d = 2 if direction == "bidirectional" else 1
            inputs = [image((t, n, i)), image((d, gates * h, i), 1), image((d, gates * h, h), 2), image((d, 2 * gates * h), 3), np.array([2, 4], I32), image((d, n, h), 4)]
            attrs = {"hidden_size": h, "direction": direction}
            if op == "RNN":  # its newer form has no case elsewhere
                cases += [Case(op, inputs[:3], attrs, outputs=2, **SUMS), Case(op, inputs, attrs, outputs=2, opset=11, **SUMS),
                          Case(op, inputs[:4], attrs | {"activations": ["Relu", "Sigmoid"][:d]}, outputs=2, opset=7, **SUMS)]
            for wanted in 0, 1:
                cases.append(Case(op, inputs, attrs | {"output_sequence": wanted}, opset=6, outputs=outputs, **SUMS, **newer(op, attrs, 7, outputs)))
        cases.append(Case(op, inputs[:3], attrs, opset=1, outputs=outputs, **SUMS, **newer(op, attrs, 7, outputs)))
        bad = [{"direction": "backward"}, {"hidden_size": 3}, {"layout": 0}, {"clip": 1.0}, {"activations": ["Tanh"] * 7}]
        bad += [{"direction": "foward"}] if op != "GRU" else []
        cases += fails(op, 6, *[(inputs, attrs | more) for more in bad], (inputs[:2], attrs)) + fails(op, 1, (inputs, attrs | {"linear_before_reset": 1}))
    inputs = [image((t, n, i)), image((1, 3 * h, i), 1), image((1, 3 * h, h), 2), image((1, 6 * h), 3)]
    reset = {"linear_before_reset": 1}
    return cases + [
        Case("GRU", inputs, {"direction": "foward", "hidden_size": h}, opset=1, outputs=2, **SUMS, **newer("GRU", {"hidden_size": h}, 7, 2)),
        Case("GRU", inputs, {"hidden_size": h}, opset=1, outputs=2, **SUMS, **newer("GRU", {"hidden_size": h}, 7, 2)),
        Case("GRU", inputs, {"hidden_size": h} | reset, opset=3, outputs=2, **SUMS, **newer("GRU", {"hidden_size": h} | reset, 7, 2)),
        *fails("GRU", 3, (inputs, {"direction": "foward", "hidden_size": h})),
    ]


def lp_pools():
    x = image((2, 2, 6, 5))
    three = by(lambda v: (np.abs(v) ** 3).sum((2, 3), keepdims=True) ** F32(1 / 3))
    cases = [Case("GlobalLpPool", [x], {"p": 3.0}, opset=1, **SUMS, **three), Case("GlobalLpPool", [x], {"p": 3}, opset=2, **SUMS, **three), Case("GlobalLpPool", [x], **SUMS),
             Case("GlobalLpPool", [x], {"p": 1}, opset=7, **SUMS)]
    for attrs in {}, {"pads": [1, 0, 2, 1]}, {"strides": [2, 3]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}, {"auto_pad": "VALID"}:
        attrs = attrs | {"kernel_shape": [3, 2]}
        new = newer("LpPool", attrs | {"p": 3}, 11)
        cases += [Case("LpPool", [x], attrs | {"p": 3.0}, opset=1, **SUMS, **new), Case("LpPool", [x], attrs | {"p": 3}, opset=6, **SUMS, **new), Case("LpPool", [x], attrs, opset=11, **SUMS),
                  Case("LpPool", [x], attrs | {"p": 1}, **SUMS)]
    cases.append(Case("LpPool", [x], {"kernel_shape": [3, 2], "dilations": [2, 3]}, **SUMS))
    return cases + fails("LpPool", 6, ([x], {}), ([x], {"kernel_shape": [2, 2], "p": 0}), ([x.astype(I32)], {"kernel_shape": [2, 2]})) \
        + fails("LpPool", 18, ([x], {"kernel_shape": [2, 2], "ceil_mode": 1})) + fails("GlobalLpPool", 1, ([x], {"p": -1.0}), ([x], {"p": NAN}))


def legacy():
    return broadcasts() + equal_shapes() + prelus() + gemms() + in_training() + attributes() + moved() + grown() + states() + lp_pools()
