"""Cases of operators of detectors, samplers and signals."""

import numpy as np
from oracle import *  # noqa: F403
from oracle import Case
from cases_models import image
from values import *  # noqa: F403

NO_TYPE = "ORT has no kernel for the type"
NEAR = {"ulp": 64, "atol": 2e-6}


def reference(dtype_of, op, attrs, opset, outputs=1):
    """An oracle: onnx's evaluator on wider inputs, rounded once."""

    def run(*inputs):
        wide = [None if x is None else x.astype(dtype_of) if x.dtype in (np.dtype(F16), np.dtype(BF16)) else x for x in inputs]
        half = next((x.dtype for x in inputs if x is not None and x.dtype in (np.dtype(F16), np.dtype(BF16))), None)
        results = [y.array() for y in run_reference(Case(op, wide, attrs, opset=opset, outputs=outputs))]  # noqa: F405
        return [y.astype(half) if half is not None and y.dtype == np.dtype(dtype_of) else y for y in results]

    return {"oracle": run, "why": NO_TYPE}


def fails(op, opset, *rows):
    return [Case(op, inputs, attrs, opset=opset, oracle="fails") for inputs, attrs in rows]


def unpooled():
    x, at, two = a([[[[1, 2], [3, 4]]]]), ints(5, 7, 13, 15).reshape(1, 1, 2, 2), {"kernel_shape": [2, 2], "strides": [2, 2]}
    op, twice = "MaxUnpool", ints(5, 7, 5, 0).reshape(1, 1, 2, 2)
    volume, batch = image((2, 3, 2, 2, 2)), np.arange(48).reshape(2, 3, 2, 2, 2) * 8
    cases = [Case(op, [x, i], two, opset=opset) for i in (at, twice) for opset in (9, 11, 22)] + [
        Case(op, [x, at, ints(1, 1, 5, 5)], two), Case(op, [x, at, ints(1, 1, 4, 4)], two),
        Case(op, [x, ints(0, 1, 2, 3).reshape(1, 1, 2, 2)], {"kernel_shape": [1, 1]}), Case(op, [x, ints(0, 2, 6, 8).reshape(1, 1, 2, 2)], {"kernel_shape": [2, 2]}),
        Case(op, [x, ints(0, 2, 6, 3).reshape(1, 1, 2, 2)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 0]}),
        Case(op, [volume, batch], {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}), Case(op, [image((2, 2, 3)), np.arange(12).reshape(2, 2, 3) * 2], {"kernel_shape": [2], "strides": [2]}),
        Case(op, [a([[[[NAN, INF], [-0.0, 1e-40]]]]), at], two)]
    cases += [Case(op, [x.astype(t), twice], two, opset=22, **ref(lambda v, i: [a([4, 0, 0, 0, 0, 3, 0, 2] + [0] * 8, v.dtype, (1, 1, 4, 4))], NO_TYPE)) for t in (F64, F16, BF16)]
    cases += fails(op, 11, ([x, at + 1], two), ([x, -at], two), ([x, at[0]], two), ([x, at], {}), ([x, at], {"kernel_shape": [2]}), ([x, at], {**two, "strides": [0, 1]}),
                   ([x, at], {**two, "pads": [-1, 0, 0, 0]}), ([x, at], {**two, "pads": [9, 0, 9, 0]}), ([x, at, ints(1, 1, 3, 4)], two), ([x, at, ints(4, 4)], two), ([x, at, ints(2, 1, 4, 4)], two),
                   ([x, at, ints(1, 1, 2**40, 2**40)], two), ([x, at], {**two, "strides": [2**31, 2**31]}), ([x, at], {**two, "strides": [2**62, 1]}), ([x.astype(I32), at], two), ([x[0, 0], at[0, 0]], two), ([x], two))
    return cases + columns()


def columns():
    op, three, two = "Col2Im", ints(3, 3), ints(2, 2)
    forms = [(ramp((1, 4, 4)), three, two, {}), (image((2, 8, 4)), three, two, {}), (image((1, 4, 9)), ints(4, 4), two, {"strides": [1, 1]}), (image((1, 4, 4)), ints(4, 4), two, {"strides": [2, 2]}),
             (image((1, 4, 16)), three, two, {"pads": [1, 1, 1, 1]}), (image((1, 4, 4)), three, two, {"pads": [1, 1, 1, 1], "strides": [2, 2]}), (image((1, 4, 6)), ints(4, 5), two, {"dilations": [2, 2]}),
             (image((1, 6, 12)), ints(4, 4), ints(3, 2), {"pads": [0, 1, 1, 0]}), (image((2, 16, 6)), ints(3, 2, 4), ints(2, 2, 2), {}), (image((0, 4, 4)), three, two, {})]
    cases = [Case(op, inputs, attrs, opset=18, **NEAR) for *inputs, attrs in forms]
    x = ramp((1, 4, 4))
    cases += [Case(op, [x.astype(t), three, two], opset=18, **reference(F32, op, {}, 18)) for t in (F64, I8, U8, I16, I32, I64, F16, BF16)]
    return cases + fails(op, 18, *[([*inputs], attrs) for *inputs, attrs in [
        (x, ints(3, 4), two, {}), (x, three, ints(3, 2), {}), (x, three, ints(2), {}), (x[0], three, two, {}), (x, ints(-1, 3), two, {}), (x, ints(2**40, 3), two, {}), (x, three, ints(0, 2), {}),
        (x, three, two, {"strides": [1]}), (x, three, two, {"strides": [0, 1]}), (x, three, two, {"pads": [-1, 0, 0, 0]}), (ramp((1, 4, 0)), ints(2**31, 2**31), two, {}), (x, ints(), ints(), {}),
        (x.astype(np.complex64), three, two, {})]])


def regions():
    x = image((2, 3, 9, 8))
    boxes, images = a([[0, 0, 7, 8], [1.3, 2.2, 5.1, 6.7], [-3, -2, 4, 3], [6, 6, 20, 30], [5, 5, 5, 5], [4, 4, 3, 2], [2.5, 2.5, 2.6, 2.7]]), ints(0, 1, 1, 0, 0, 1, 0)
    op = "RoiAlign"
    forms = [{}, {"output_height": 2, "output_width": 3}, {"output_height": 3, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.7}, {"sampling_ratio": 3}, {"output_height": 20, "output_width": 20}]
    cases = [Case(op, [x, boxes, images], {**form, "mode": mode, **places}, opset=opset, **NEAR) for mode in ("avg", "max") for form in forms for opset, places in (
        (10, {}), (16, {}), (21, {"coordinate_transformation_mode": "half_pixel"}), (16, {"coordinate_transformation_mode": "output_half_pixel"}))]
    cases += [Case(op, [v.astype(F64) for v in (x, boxes)] + [images], forms[1], opset=16, ulp=1 << 10, atol=1e-12)]
    cases += [Case(op, [v.astype(t) for v in (x, boxes)] + [images], forms[2], opset=opset, ulp=1, **reference(F32, op, forms[2], 16)) for opset, t in ((16, F16), (22, BF16), (22, F16))]
    cases += [Case(op, [x, boxes[:0], images[:0]], forms[1], opset=16), Case(op, [x[:, :0], boxes, images], forms[1], opset=16)]
    cases += fails(op, 16, *[([*inputs], attrs) for *inputs, attrs in [
        (x, boxes, images[:3], {}), (x, boxes, images + 1, {}), (x, boxes, images - 1, {}), (x, boxes[:, :3], images, {}), (x[0], boxes, images, {}), (x, boxes, images, {"mode": "sum"}),
        (x, boxes, images, {"output_height": 0}), (x, boxes, images, {"output_width": -1}), (x, boxes, images, {"sampling_ratio": -1}), (x, boxes, images, {"sampling_ratio": 2**40}),
        (x, boxes, images, {"sampling_ratio": 1023, "output_height": 1000, "output_width": 1000}), (x, boxes, images, {"output_height": 2**40}), (x, boxes * a(INF), images, {}), (x, boxes + a(NAN), images, {}), (x, boxes * a(1e30), images, {}),
        (x, boxes, images, {"coordinate_transformation_mode": "asymmetric"}), (x, boxes.astype(F64), images, {}), (x[:, :, :0], boxes, images, {}), (x.astype(I32), boxes.astype(I32), images, {})]])
    return cases + suppressions()


def suppressions():
    op = "NonMaxSuppression"
    b = a([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]]])
    s, most, half = a([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]]]), ints(3), a([0.5])
    flipped = a([[[1, 1, 0, 0], [0, 0.1, 1, 1.1], [0, 0.9, 1, -0.1], [0, 10, 1, 11], [1, 10.1, 0, 11.1], [1, 101, 0, 100]]])
    center = a([[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 0.4, 1, 1], [0.5, 10.5, 1, 1], [0.5, 10.6, 1, 1], [0.5, 100.5, 1, 1]]])
    random = np.random.default_rng(5)
    many, scores = random.uniform(0, 10, (2, 60, 4)).astype(F32), random.uniform(0, 1, (2, 3, 60)).astype(F32).round(1)
    forms = [(b, s, most, half, a([0.0])), (b, s, most, half, a([0.4])), (b, s, most, half, a([0.3])), (b, s, most, half), (b, s, np.array(3, I64), a(0.5)), (b, s), (b, s, most), (b, s, ints(-3)),
             (flipped, s, most, half), (b, a([[[0.5] * 6]]), ints(6), half), (b[:, :0], s[:, :, :0], most, half), (b, s, ints(30), a([1.0])), (b, s, ints(30), a([0.0])), (b, s, ints(2**62), half),
             (b * a(0), s, ints(30), half), (b, a([[[INF, -INF, 1, 1, 0, -0.0]]]), ints(30), a([0.9])), (b, np.concatenate([s, s[:, :, ::-1]], 1), ints(2), half), (b, s[:, :0], ints(2), half), (b[:0], s[:0], ints(2), half)]
    cases = [Case(op, list(form), opset=opset) for form in forms for opset in (10, 11)] + [Case(op, [center, s, most, half, a([0.4])], {"center_point_box": 1})]
    cases += [Case(op, [many, scores, ints(n), a([t])] + more, {"center_point_box": c}) for n in (5, 60) for t in (0.0, 0.1, 0.5) for c in (0, 1) for more in ([], [a([0.5])])]
    return cases + fails(op, 11, ([b, s, most, a([1.5])], {}), ([b, s, most, a([-0.1])], {}), ([b, s, most, a([NAN])], {}), ([b, s[0], most], {}), ([b, s[:, :, :5], most], {}), ([b[:, :, :3], s, most], {}),
                         ([b, s, ints(1, 2)], {}), ([b, s, most, a([0.1, 0.2])], {}), ([b, a([[[NAN] + [1] * 5]]), most], {}), ([b, s, most], {"center_point_box": 2}), ([b.astype(F64), s, most], {}), ([b], {}),
                         ([np.concatenate([b, b]), s, most], {}))


def samples():
    op, x = "GridSample", image((2, 3, 5, 4))
    grid = np.random.default_rng(3).uniform(-1.6, 1.6, (2, 4, 6, 2)).astype(F32)
    halves = np.stack(np.meshgrid(np.linspace(-1.5, 1.5, 25), np.linspace(-1.5, 1.5, 31)), -1).astype(F32)[None].repeat(2, 0)
    old, new = ("bilinear", "nearest", "bicubic"), ("linear", "nearest", "cubic")
    paddings = [{"padding_mode": p, "align_corners": c} for p in ("zeros", "border", "reflection") for c in (0, 1)]
    near = {"ulp": 64, "atol": 4e-6}
    cases = [Case(op, [x, g], {"mode": mode, **padding}, opset=opset, **near) for opset, modes in ((16, old), (20, new), (22, new)) for mode in modes for padding in paddings for g in (grid, halves)]
    volume, places = image((1, 2, 3, 4, 5)), np.random.default_rng(4).uniform(-1.5, 1.5, (1, 2, 3, 4, 3)).astype(F32)
    cases += [Case(op, [volume, places], {"mode": mode, **padding}, opset=20, **near) for mode in new[:2] for padding in paddings]
    cases += [Case(op, [volume[:, :1], places[:, :1]], {"mode": "cubic", **padding}, opset=20, **near, oracle="reference", why="ORT has none of three axes") for padding in paddings if padding["padding_mode"] == "zeros"]
    line, along = image((2, 2, 6)), np.random.default_rng(4).uniform(-1.5, 1.5, (2, 5, 1)).astype(F32)
    cases += [Case(op, [line, along], {"mode": mode, **padding}, opset=20, **near, oracle="reference", why="ORT has none of one axis") for mode in new for padding in paddings if mode != "cubic" or padding["padding_mode"] == "zeros"]
    cases += [Case(op, [x, grid], opset=16, **near), Case(op, [x, grid], opset=20, **near), Case(op, [x, grid * a(1000)], {"mode": "nearest", "padding_mode": "reflection"}, opset=20, **near)]
    border, of_floats = {"mode": "linear", "padding_mode": "border"}, lambda attrs: ref(  # onnx's evaluator has weights of the data's type
        lambda v, g: [run_ort(Case(op, [v.astype(F32), g.astype(F32)], attrs, opset=20))[0].array().astype(v.dtype)], NO_TYPE)  # noqa: F405
    for t in (F64, I8, U8, I16, U16, I32, U32, I64, U64, F16):
        cases += [Case(op, [ramp((1, 2, 4, 4), t, start=0), a([[[[0.3, -0.4], [0.25, 0.75], [0.9, 0.1]]]])], border, opset=20, ulp=1, atol=1e-4 if t is F64 else 0, **of_floats(border))]
    cases += [Case(op, [ramp((1, 1, 4, 4), BF16, start=0), a([[[[0.3, -0.4], [0.25, 0.75]]]], BF16)], opset=22, ulp=1, **reference(F32, op, {}, 22)),
              Case(op, [x.astype(F64), grid.astype(F64)], {"mode": "cubic", "padding_mode": "reflection"}, opset=20, atol=1e-4, **of_floats({"mode": "cubic", "padding_mode": "reflection"})),
              Case(op, [x, grid[:, :0]], opset=20, **ref(lambda v, g: [np.zeros((2, 3, 0, 6), F32)], "ORT computes nothing of no places")),
              Case(op, [x[:, :, :1, :1], grid], {"align_corners": 1, "padding_mode": "reflection"}, opset=20, **ref(lambda v, g: [np.broadcast_to(v, (2, 3, 4, 6)).copy()], "ORT divides by the size less 1"))]
    return cases + fails(op, 20, ([x, grid[:1]], {}), ([x, grid[:, :, :, :1]], {}), ([x, grid[0]], {}), ([x, grid], {"mode": "bilinear"}), ([x, grid], {"padding_mode": "edge"}), ([x, grid * a(INF)], {}), ([x, grid + a(NAN)], {}),
                         ([x, grid * a(1e30)], {}), ([x, grid.astype(I32)], {}), ([x.astype(np.complex64), grid], {}), ([x[:, :, :0], grid], {}), ([x], {})) + fails(
                             op, 16, ([x, grid], {"mode": "linear"}), ([volume, places], {}))


def signals():
    op, x = "DFT", image((2, 10, 6, 1))
    pairs = image((2, 10, 6, 2), 1)
    near = {"ulp": 64, "atol": 1e-5}

    def by(axis, length=None, inverse=0, onesided=0):
        def run(v, *_):
            wide = v[..., 0].astype(F64) + (1j * v[..., 1].astype(F64) if v.shape[-1] == 2 else 0)
            f = {(0, 0): np.fft.fft, (1, 0): np.fft.ifft, (0, 1): lambda w, n, ax: np.fft.rfft(w.real, n, ax), (1, 1): np.fft.irfft}[inverse, onesided]
            y = f(wide, length, axis)
            return [(y[..., None] if np.isrealobj(y) else np.stack([y.real, y.imag], -1)).astype(v.dtype)]

        return ref(run, "ORT's errors grow with the length")

    cases = []
    for axis in (0, 1, 2):
        for length in (None, 3, 7, 8, 16):
            n = None if length is None else np.array(length, I64)
            for v, inverse, onesided in ((x, 0, 0), (x, 0, 1), (x, 1, 0), (pairs, 0, 0), (pairs, 1, 0), (pairs, 1, 1)):
                attrs, oracle = {"inverse": inverse, "onesided": onesided}, by(axis, length, inverse, onesided)
                cases += [Case(op, [v, n], {**attrs, "axis": axis}, opset=17, **near, **oracle), Case(op, [v, n, np.array(axis, I64)], attrs, opset=20, **near, **oracle)]
    cases += [Case(op, [v] if axis is None else [v, None, np.array(axis, I64)], {"onesided": o, "inverse": i}, opset=20, **near) for axis in (None, -2, -3, 0) for v, i, o in ((x, 0, 0), (x, 0, 1), (pairs, 1, 0), (pairs, 0, 0))]
    cases += [Case(op, [x], opset=17, **near), Case(op, [x, np.array(8, I32)], {"axis": -2}, opset=17, **near), Case(op, [x.astype(F64)], opset=17, ulp=1 << 10, atol=1e-12)]
    cases += [Case(op, [x.astype(t)], opset=20, ulp=1, atol=1e-3 if t is F16 else 1e-2, **by(2)) for t in (F16, BF16)]
    cases += [Case(op, [image((1, n, 1)), None, np.array(1, I64)], opset=20, **near, **by(1)) for n in (1, 2, 97, 360, 1024)] + [Case(op, [ramp((0, 4, 1))], {"axis": 1}, opset=17, **by(1))]
    cases += fails(op, 20, ([x, np.array(0, I64)], {}), ([x, np.array(-1, I64)], {}), ([x, np.array(2**40, I64)], {}), ([x, np.array(2**26, I64)], {}), ([x, None, np.array(3, I64)], {}), ([x, None, np.array(-1, I64)], {}), ([x, None, np.array(4, I64)], {}),
                   ([pairs], {"onesided": 1}), ([x], {"onesided": 1, "inverse": 1}), ([image((2, 3))], {}), ([image((2,))], {}), ([x.astype(I32)], {}), ([image((2, 0, 1))], {}), ([image((2, 1, 2))], {"onesided": 1, "inverse": 1}))
    return cases + mel_weights()


def mel_weights():
    op = "MelWeightMatrix"

    def of(bands, length, rate, low, high, kind=F32, edges=I64):
        return [np.array(v, edges) for v in (bands, length, rate)] + [np.array(v, kind) for v in (low, high)]

    cases = [Case(op, of(*form), opset=17, ulp=4) for form in ((8, 16, 8192, 0.0, 4096.0), (10, 64, 16000, 20.0, 7600.0), (80, 400, 16000, 0.0, 8000.0), (3, 7, 100, 1.5, 44.0), (40, 512, 44100, 80.0, 22050.0), (4, 16, 8192, 100.0, 100.0))]
    cases += [Case(op, of(8, 16, 8192, 0.0, 4096.0, edges=I32), opset=17), *[Case(op, of(8, 16, 8192, 0.0, 4096.0), {"output_datatype": n}, opset=17, ulp=4) for n in (1, 2, 3, 4, 5, 6, 7, 11, 12, 13)]]
    cases += [Case(op, of(8, 16, 8192, 0.0, 4096.0), {"output_datatype": n}, opset=17, ulp=1, **ref(
        lambda *v, t=t: [run_ort(Case(op, list(v), opset=17))[0].array().astype(t)], NO_TYPE)) for n, t in ((10, F16), (16, BF16))]  # noqa: F405
    cases += [Case(op, of(8, 16, 8192, 0.0, 4096.0, t), opset=17, **ref(lambda *v: [run_ort(Case(op, of(8, 16, 8192, 0.0, 4096.0), opset=17))[0].array()], NO_TYPE)) for t in (F16, BF16, F64)]  # noqa: F405
    good = (8, 16, 8192, 0.0, 4096.0)
    return cases + fails(op, 17, *[(of(*form), {}) for form in ((0, *good[1:]), (-1, *good[1:]), (8, 0, *good[2:]), (8, 16, 0, 0.0, 1.0), (8, 16, 8192, 5.0, 1.0), (8, 16, 8192, -5.0, 1.0), (8, 16, 8192, 0.0, NAN), (8, 16, 8192, 0.0, INF),
                                   (8, 16, 8192, 0.0, 1e6), (2**40, *good[1:]), (8, 2**62, *good[2:]), (8, 2**63 - 1, *good[2:]))], (of(*good), {"output_datatype": 9}), (of(*good), {"output_datatype": 99}), (of(*good), {"output_datatype": 8}), (of(*good)[:4], {}))
