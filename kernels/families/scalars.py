"""Element types by the operators' parameter values, as PyTorch and the kernels name them."""

from __future__ import annotations

from workbench import dtypes

HALVES = {data_type.name: data_type.dtype for data_type in (dtypes.BF16, dtypes.FP16)}
"""Types of 16 bits by name."""

FLOATS = {**HALVES, dtypes.FP32.name: dtypes.FP32.dtype}
"""Types of 16 and 32 bits by name."""

WIDE = (dtypes.FP32.dtype, dtypes.FP64.dtype)
"""Dtypes of tensors that kernels read in float; references also accept float64."""

FP8 = tuple(data_type.dtype for data_type in dtypes.E4M3)
"""Encodings that "fp8" stands for: gfx950's, then gfx942's."""

C_TYPES = {
    name: data_type.cpp for data_type in dtypes.TYPES for name in (data_type.name, data_type.format)
} | {"fp8": dtypes.E4M3FN.cpp}
"""The tile library's types, by name and by format."""

QUALIFIED = {data_type.name: data_type.qualified for data_type in dtypes.TYPES}
"""The tile library's types with their namespace, by name."""

SYMBOLS = {data_type.name: data_type.spelled[0] for data_type in dtypes.TYPES if data_type.spelled}
"""Names of the types in the symbols of kernels."""
