"""Operators: a kernel with its inputs, reference, launch, work and published figures; their registry."""

from __future__ import annotations

from workbench.kernel import Launch
from workbench.kernel.packed import Strided
from workbench.spec.parameters import Choice, Parameter, Range, Shape, shape_text
from workbench.spec.published import Published
from workbench.spec.registry import KernelRegistry, kernels, spec_of
from workbench.spec.rowwise import lanes_of_row
from workbench.spec.spec import KernelSpec
from workbench.spec.steps import Step
from workbench.spec.tolerances import TOLERANCES, Bounds, FlashRule, Tolerance
from workbench.spec.tunables import Tunables
from workbench.spec.variants import Tuned, Variant

__all__ = [
    "TOLERANCES",
    "Bounds",
    "Choice",
    "FlashRule",
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
