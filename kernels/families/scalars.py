"""Types of elements by the names of operators' parameters, as PyTorch and kernels name them."""

from __future__ import annotations

from workbench import dtypes

HALVES = {known.name: known.dtype for known in (dtypes.BF16, dtypes.FP16)}
"""Types of 16 bits by name."""

FLOATS = {**HALVES, dtypes.FP32.name: dtypes.FP32.dtype}
"""Types of 16 and 32 bits by name."""

WIDE = (dtypes.FP32.dtype, dtypes.FP64.dtype)
"""Types of tensors that kernels have in float; references also take them in float64."""

FP8 = tuple(known.dtype for known in dtypes.E4M3)
"""Encodings that "fp8" stands for: gfx950's, then gfx942's."""

C_TYPES = {name: known.cpp for known in dtypes.TYPES for name in (known.name, known.format)} | {
    "fp8": dtypes.E4M3FN.cpp
}
"""The tile library's, by name and by format."""

QUALIFIED = {known.name: known.qualified for known in dtypes.TYPES}
"""The tile library's types with their namespace, by name."""

SYMBOLS = {known.name: known.spelled[0] for known in dtypes.TYPES if known.spelled}
"""As kernels' symbols have them."""
