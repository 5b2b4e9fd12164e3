"""What cases are made of: special values, arrays, notes on the oracle."""

import numpy as np
from oracle import *  # noqa: F403

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
