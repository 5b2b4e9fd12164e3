"""Tensors of the library as numpy arrays, and back.

The library's tensor is (dtype, dims, buffer): ONNX's number of the element type, the sizes, and the elements as
TensorProto.raw_data has them. Whole-byte elements become a view; smaller ones are unpacked, which copies.
"""
from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Sequence

if TYPE_CHECKING:
    import numpy as np

Plain = tuple[int, Sequence[int], Any]

#: By ONNX's number: the name in rules, in lower case.
NAMES = ("undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 complex128 "
         "bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 uint2 int2 "
         "float6e2m3 float6e3m2").split()
_NUMPY = {"float": "float32", "double": "float64"}
_ML_DTYPES = {"bfloat16": "bfloat16", "float8e4m3fn": "float8_e4m3fn", "float8e4m3fnuz": "float8_e4m3fnuz",
              "float8e5m2": "float8_e5m2", "float8e5m2fnuz": "float8_e5m2fnuz", "uint4": "uint4", "int4": "int4",
              "float4e2m1": "float4_e2m1fn", "float8e8m0": "float8_e8m0fnu", "uint2": "uint2", "int2": "int2",
              "float6e2m3": "float6_e2m3fn", "float6e3m2": "float6_e3m2fn"}
_BITS = {"uint4": 4, "int4": 4, "float4e2m1": 4, "uint2": 2, "int2": 2, "float6e2m3": 6, "float6e3m2": 6}


def dtype_name(number: int) -> str:
    return NAMES[number] if 0 <= number < len(NAMES) else f"type {number}"


@cache
def numpy_dtype(number: int) -> np.dtype:
    """The numpy type (of ml_dtypes where numpy has none) of an ONNX element type. TypeError if there is none."""
    import numpy as np
    name = dtype_name(number)
    if name == "string":
        return np.dtype(object)
    if name in _ML_DTYPES:
        import ml_dtypes
        if (found := getattr(ml_dtypes, _ML_DTYPES[name], None)) is not None:
            dtype: np.dtype[Any] = np.dtype(found)
            return dtype
    elif not name.startswith(("type", "undefined")):
        return np.dtype(_NUMPY.get(name, name))
    raise TypeError(f"there is no numpy type for {name}")


@cache
def _numbers() -> dict[np.dtype, int]:
    numbers = {}
    for number in range(1, len(NAMES)):
        try:
            numbers[numpy_dtype(number)] = number
        except TypeError:  # this ml_dtypes does not have it
            pass
    return numbers


def to_numpy(plain: Plain) -> np.ndarray:
    """A read-only array; a view of the library's bytes unless elements are smaller than a byte."""
    import numpy as np
    number, dims, buffer = plain
    dtype = numpy_dtype(number)
    bits = _BITS.get(NAMES[number])
    if bits is None:
        if len(buffer) == 0:
            return np.empty(dims, dtype)
        return _shaped(np.frombuffer(buffer, dtype), dims)
    packed = np.frombuffer(buffer, np.uint8) if len(buffer) else np.empty(0, np.uint8)
    raw = _unpack(packed, bits, int(np.prod(dims, dtype=np.int64)))
    if NAMES[number].startswith("float"):
        array = raw.view(dtype)
    elif NAMES[number].startswith("int"):
        sign = 1 << (bits - 1)
        array = ((raw.astype(np.int8) ^ sign) - sign).astype(dtype)
    else:
        array = raw.astype(dtype)
    array = _shaped(array, dims)
    array.flags.writeable = False
    return array


def _shaped(array: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    try:
        return array.reshape(dims)
    except ValueError:  # numpy 2 has 64 axes at most, older ones 32
        from ._errors import Unsupported, without_place
        raise without_place(Unsupported, f"numpy has no arrays of {len(dims)} axes") from None


def from_numpy(value: Any, what: str) -> Plain:
    """The library's tensor for an array, a numpy scalar, or Python numbers in lists. TypeError names `what`.

    Arrays keep their type, also in lists. Python numbers become int64, bool and float (32 bit), whether alone or in lists.
    """
    import numpy as np
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what} is a masked array; ONNX has no masks")
    if value is None or isinstance(value, (str, bytes, dict)):
        raise TypeError(f"{what} is {type(value).__name__}, not an array or a number")
    try:
        array = np.asarray(value)
    except ValueError as error:
        if not isinstance(value, (list, tuple)):
            raise
        raise TypeError(f"{what} is a {type(value).__name__} of {len(value)}, which are no array together; it is one tensor that is asked for") from error
    if array.dtype.kind in "SUT" or array.dtype == object and array.size and isinstance(array.flat[0], str):
        raise TypeError(f"{what} holds texts; what is given here holds numbers")
    first = _first(value)
    if not hasattr(first, "dtype") and not hasattr(first, "__array__"):  # Python numbers
        if array.dtype == object:
            raise TypeError(f"{what} is {type(value).__name__}, not an array or a number{_beyond(value)}")
        if array.dtype == np.uint64:
            raise TypeError(f"{what} holds a number beyond int64")
        if array.dtype == np.float64:
            with np.errstate(over="ignore"):
                narrow = array.astype(np.float32)
            if (np.isinf(narrow) & np.isfinite(array)).any():
                raise TypeError(f"{what} holds a number beyond float (32 bit); numpy's keep their type")
            array = narrow
    if (number := _numbers().get(array.dtype.newbyteorder("="))) is None or array.dtype == object:
        raise TypeError(f"{what} is an array of {array.dtype}, for which ONNX has no type")
    # A copy unless nobody can write to it: what is done to the array later does not concern a model.
    dims, native = array.shape, array.dtype.newbyteorder("=")
    array = np.array(array, native, order="C") if _is_writable(array) else np.ascontiguousarray(array, native)
    bits = _BITS.get(NAMES[number])
    if bits is not None:
        array = _pack(array.reshape(-1), bits, NAMES[number].startswith("float"))
    return number, dims, array.reshape(-1).view(np.uint8).data


def _first(value: Any) -> Any:
    """What a list of lists begins with."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _beyond(value: Any) -> str:
    """What else is to be said of what numpy has only objects for."""
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_beyond, value)), "")
    if isinstance(value, int):
        return "" if -2**63 <= value < 2**63 else " that fits into int64"
    if type(value).__name__ == "TensorProto":
        return "; onnx.numpy_helper.to_array() makes one of it"
    return ""


def _is_writable(array: Any) -> bool:
    """Whether the array, or one that it is a view of, can be written to."""
    while hasattr(array, "flags"):
        if array.flags.writeable:
            return True
        array = array.base
    while isinstance(array, memoryview) and array.readonly:  # a read-only view, perhaps of memory that is not
        array = array.obj
    try:
        return array is not None and not memoryview(array).readonly
    except TypeError:  # what it is nobody can tell
        return True


def _unpack(packed: np.ndarray, bits: int, count: int) -> np.ndarray:
    """A byte for each element of `bits` bits, the lowest bits of a byte first."""
    import numpy as np
    if 8 % bits == 0:
        parts = np.stack([(packed >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)], axis=-1)
        return parts.reshape(-1)[:count]
    single = np.unpackbits(packed, bitorder="little")[:count * bits].reshape(-1, bits)
    return np.packbits(single, axis=-1, bitorder="little").reshape(-1)


def _pack(array: np.ndarray, bits: int, is_float: bool) -> np.ndarray:
    import numpy as np
    raw = array.view(np.uint8) if is_float else array.astype(np.int8).view(np.uint8)
    if 8 % bits != 0:
        single = np.unpackbits(raw[:, None], axis=-1, bitorder="little")[:, :bits]
        return np.packbits(single.reshape(-1), bitorder="little")
    per_byte = 8 // bits
    raw = np.concatenate([raw, np.zeros(-len(raw) % per_byte, np.uint8)]).reshape(-1, per_byte)
    packed = np.zeros(len(raw), np.uint8)
    for i in range(per_byte):
        packed |= (raw[:, i] & ((1 << bits) - 1)) << (bits * i)
    return packed
