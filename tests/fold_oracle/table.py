"""The table: every built-in kernel on inputs that have bitten somebody."""

from cases_elementwise import arithmetic, bitwise, unary, compare_ops
from cases_reduce import reductions, order
from cases_movement import reshapes, strided, joins_and_pads, gathers, scatters, generators
from cases_linear import linear, casts
from cases_quantize import dequantize, quantize
from cases_legacy import legacy
from cases_models import convolutions, transposed_convolutions, pools, normalizations, fused, recurrent, resizes, qlinear, transformers
from cases_images import unpooled, regions, samples, signals


def table():
    return (arithmetic() + bitwise() + unary() + compare_ops() + reductions() + order() + reshapes()
            + strided() + joins_and_pads() + gathers() + scatters() + generators() + linear()
            + casts() + dequantize() + quantize() + convolutions() + transposed_convolutions() + pools() + normalizations() + fused()
            + recurrent() + resizes() + qlinear() + transformers() + legacy()
            + unpooled() + regions() + samples() + signals())
