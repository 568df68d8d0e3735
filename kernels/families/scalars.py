"""Types of elements by the names of operators' parameters, as PyTorch and kernels name them."""

from __future__ import annotations

from workbench import dtypes

HALVES = {known.name: known.dtype for known in (dtypes.BF16, dtypes.FP16)}
"""Of 16 bits."""

FLOATS = {**HALVES, dtypes.FP32.name: dtypes.FP32.dtype}
"""Of 16 and 32 bits."""

WIDE = (dtypes.FP32.dtype, dtypes.FP64.dtype)
"""Of what is in float; float64 is what references are given."""

FP8 = tuple(known.dtype for known in dtypes.E4M3)
"""What "fp8" means: that of gfx950, then that of gfx942."""

C_TYPES = {name: known.cpp for known in dtypes.TYPES for name in (known.name, known.format)} | {
    "fp8": dtypes.E4M3FN.cpp
}
"""The tile library's, by name and by format."""

QUALIFIED = {known.name: known.qualified for known in dtypes.TYPES}
"""The same outside its namespace."""

SYMBOLS = {known.name: known.spelled[0] for known in dtypes.TYPES if known.spelled}
"""As kernels' symbols have them."""
