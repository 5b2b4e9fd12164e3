"""Running one operator on constants: by fold_eval, by ONNX Runtime, by onnx's reference evaluator."""

import ctypes
import dataclasses
import struct

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

F32, F64, F16, BF16 = np.float32, np.float64, np.float16, ml_dtypes.bfloat16
I2, U2, I4, U4 = ml_dtypes.int2, ml_dtypes.uint2, ml_dtypes.int4, ml_dtypes.uint4
I8, U8, I16, U16 = np.int8, np.uint8, np.int16, np.uint16
I32, U32, I64, U64 = np.int32, np.uint32, np.int64, np.uint64
E4M3FN, E4M3FNUZ = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz
E5M2, E5M2FNUZ = ml_dtypes.float8_e5m2, ml_dtypes.float8_e5m2fnuz
E2M1, E8M0 = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e8m0fnu


@dataclasses.dataclass
class Case:
    op: str
    inputs: list  # arrays; None: absent
    attrs: dict = dataclasses.field(default_factory=dict)
    opset: int = 21
    domain: str = ""
    outputs: int = 1
    ulp: int = 0  # allowed distance of floats, in units of the last place of the result's type
    atol: float = 0.0  # or in absolute terms, where ORT approximates
    # "ort"; "reference": onnx's evaluator, where ORT has no kernel for the type; a function of the
    # inputs that gives the outputs, where neither is an oracle; "fails": there must be a reason
    oracle: object = "ort"
    why: str = ""  # why not "ort"

    def __str__(self):
        types = ",".join("-" if a is None else f"{a.dtype}{list(a.shape)}" for a in self.inputs)
        attrs = ",".join(f"{k}={v}" for k, v in self.attrs.items() if not hasattr(v, "dims"))
        return f"{self.domain}{'.' if self.domain else ''}{self.op}-{self.opset}({types}){attrs}"


@dataclasses.dataclass
class Value:
    """A tensor as the model file has it."""

    dtype: int
    dims: tuple
    raw: bytes

    @staticmethod
    def of(array):
        proto = numpy_helper.from_array(np.asarray(array))
        return Value(proto.data_type, tuple(proto.dims), proto.raw_data)

    def array(self):
        proto = onnx.TensorProto(data_type=self.dtype, dims=self.dims, raw_data=self.raw)
        return numpy_helper.to_array(proto)


def model(case):
    names = ["" if a is None else f"x{i}" for i, a in enumerate(case.inputs)]
    outputs = [f"y{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, domain=case.domain, **case.attrs)
    constants = [
        numpy_helper.from_array(a, n) for a, n in zip(case.inputs, names, strict=True) if n
    ]
    # Types of the outputs are left to inference.
    infos = [onnx.ValueInfoProto(name=o) for o in outputs]
    graph = helper.make_graph([node], "g", [], infos, constants)
    opsets = [helper.make_opsetid("", case.opset)]
    if case.domain:
        opsets.append(helper.make_opsetid(case.domain, 1))
    return helper.make_model(graph, opset_imports=opsets, ir_version=10 if case.opset < 23 else 11)


def run_ort(case):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model(case).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results = []
    for value in session.run_with_ort_values(None, {}):
        dims = tuple(value.shape())
        dtype = value.element_type()
        count = int(np.prod(dims))
        numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
        bits = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}.get(
            numpy_type.name, numpy_type.itemsize * 8
        )
        size = (count * bits + 7) // 8
        raw = ctypes.string_at(value.data_ptr(), size) if size else b""
        results.append(Value(dtype, dims, raw))
    return results


def run_reference(case):
    session = ReferenceEvaluator(model(case))
    return [Value.of(y) for y in session.run(None, {})]


# ---- fold_eval's files (the format is described in fold_eval.cc)


def _int(n):
    return struct.pack("<q", n)


def _bytes(data):
    return _int(len(data)) + data


def _tensor(array):
    if array is None:
        return _int(0)
    v = Value.of(array)
    return _int(v.dtype) + _int(len(v.dims)) + b"".join(map(_int, v.dims)) + _bytes(v.raw)


def _attribute(name, value):
    proto = helper.make_attribute(name, value)
    kinds = onnx.AttributeProto
    head = _bytes(name.encode()) + _int(proto.type)
    if proto.type == kinds.FLOAT:
        return head + _bytes(struct.pack("<f", proto.f))
    if proto.type == kinds.INT:
        return head + _int(proto.i)
    if proto.type == kinds.STRING:
        return head + _bytes(proto.s)
    if proto.type == kinds.TENSOR:
        return head + _tensor(numpy_helper.to_array(proto.t))
    if proto.type == kinds.FLOATS:
        floats = [_bytes(struct.pack("<f", f)) for f in proto.floats]
        return head + _int(len(floats)) + b"".join(floats)
    if proto.type == kinds.STRINGS:
        return head + _int(len(proto.strings)) + b"".join(map(_bytes, proto.strings))
    assert proto.type == kinds.INTS
    return head + _int(len(proto.ints)) + b"".join(map(_int, proto.ints))


def since(case):
    if case.domain or not onnx.defs.has(case.op):  # of ONNX Runtime
        return 1
    return onnx.defs.get_schema(case.op, case.opset).since_version


def encode(case):
    attrs = [_attribute(k, v) for k, v in case.attrs.items()]
    return (
        _bytes(case.domain.encode())
        + _bytes(case.op.encode())
        + _int(since(case))
        + _int(case.outputs)
        + _int(len(case.inputs))
        + b"".join(map(_tensor, case.inputs))
        + _int(len(attrs))
        + b"".join(attrs)
    )


def decode(data):
    """The results of all calls: lists of Values, or the reason as a str."""
    at = 0

    def integer():
        nonlocal at
        (n,) = struct.unpack_from("<q", data, at)
        at += 8
        return n

    def string():
        nonlocal at
        n = integer()
        at += n
        return data[at - n : at]

    def tensor():
        dtype = integer()
        if dtype == 0:
            return None
        dims = tuple(integer() for _ in range(integer()))
        return Value(dtype, dims, string())

    results = []
    while at < len(data):
        if integer():
            results.append([tensor() for _ in range(integer())])
        else:
            results.append(string().decode())
    return results


# ---- comparison


def ulp_distance(a, b):
    """Distance of floats in steps of their type; NaN is no distance from NaN."""
    bits = a.dtype.itemsize * 8
    signed = {16: np.int16, 32: np.int32, 64: np.int64}[bits]

    def ordered(x):
        i = x.view(signed).astype(object)  # Python's integers do not overflow
        return np.array([n if n >= 0 else -(n + (1 << (bits - 1))) for n in i.ravel()], object)

    nan = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    distance = np.abs(ordered(a) - ordered(b))
    distance[(nan[0] & nan[1]).ravel()] = 0
    distance[(nan[0] ^ nan[1]).ravel()] = 1 << bits
    return distance.max(initial=0)


def close(x, y, atol):
    with np.errstate(all="ignore"):
        return atol > 0 and np.allclose(x, y, rtol=0, atol=atol, equal_nan=True)


def compare(ours, theirs, ulp, atol=0.0):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        if a is None:
            continue
        assert (a.dtype, a.dims) == (b.dtype, b.dims)
        x, y = a.array(), b.array()
        if x.dtype in (np.dtype(F16), np.dtype(F32), np.dtype(F64), np.dtype(BF16)):
            assert ulp_distance(x, y) <= ulp or close(x, y, atol), f"\n{x}\n{y}"
        else:
            if x.dtype.itemsize < 8:  # float8 has NaN, and ml_dtypes' types no equality of arrays
                x, y = x.astype(np.float64), y.astype(np.float64)
            assert np.array_equal(x, y, equal_nan=x.dtype.kind == "f"), f"\n{x}\n{y}"
