"""Operators: a kernel with its inputs, reference, launch, work and published figures; their registry."""

from __future__ import annotations

from workbench.spec.spec import (
    Choice,
    KernelRegistry,
    KernelSpec,
    Launch,
    Published,
    Range,
    Tolerance,
    kernels,
    lanes_of_row,
    spec_of,
)

__all__ = [
    "Choice",
    "KernelRegistry",
    "KernelSpec",
    "Launch",
    "Published",
    "Range",
    "Tolerance",
    "kernels",
    "lanes_of_row",
    "spec_of",
]
