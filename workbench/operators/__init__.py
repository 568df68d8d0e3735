"""Operators: a kernel with its inputs, reference, launch, work and published figures; their registry."""

from __future__ import annotations

from workbench.kernel import Launch
from workbench.kernel.packed import Strided
from workbench.operators.gradient import Gradient
from workbench.operators.indexes import Index
from workbench.operators.parameters import Choice, Parameter, Range, Shape, shape_text
from workbench.operators.published import Published
from workbench.operators.registry import KernelRegistry, kernels, spec_of
from workbench.operators.rowwise import lanes_of_row
from workbench.operators.spec import KernelSpec
from workbench.operators.steps import Step
from workbench.operators.tolerances import TOLERANCES, Bounds, FlashRule, Tolerance
from workbench.operators.tunables import Tunables
from workbench.operators.variants import Tuned, Variant

__all__ = [
    "TOLERANCES",
    "Bounds",
    "Choice",
    "FlashRule",
    "Gradient",
    "Index",
    "KernelRegistry",
    "KernelSpec",
    "Launch",
    "Parameter",
    "Published",
    "Range",
    "Shape",
    "Step",
    "Strided",
    "Tolerance",
    "Tunables",
    "Tuned",
    "Variant",
    "kernels",
    "lanes_of_row",
    "shape_text",
    "spec_of",
]
