"""Semantics of instructions as short functions by family; importing this fills `registry.SEMANTICS`."""

from __future__ import annotations

from workbench.emulator.semantics import (
    compare,
    control,
    convert,
    indexed,
    packed,
    scalar,
    scalar_float,
    scalar_memory,
    small_floats,
    vector_bf16,
    vector_bits,
    vector_division,
    vector_extremes,
    vector_float,
    vector_functions,
    vector_int,
    vector_move,
    vector_rounding,
    vector_wide,
)
from workbench.emulator.semantics.registry import ENDS_BLOCK, NO_OPERATION, SEMANTICS

__all__ = [
    "ENDS_BLOCK",
    "NO_OPERATION",
    "SEMANTICS",
    "compare",
    "control",
    "convert",
    "indexed",
    "packed",
    "scalar",
    "scalar_float",
    "scalar_memory",
    "small_floats",
    "vector_bf16",
    "vector_bits",
    "vector_division",
    "vector_extremes",
    "vector_float",
    "vector_functions",
    "vector_int",
    "vector_move",
    "vector_rounding",
    "vector_wide",
]
