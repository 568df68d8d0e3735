"""Figures that others published, to be shown beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.operators.parameters import Shape
from workbench.origin import Figure, Origin


@dataclass(frozen=True)
class Published:
    """A published figure for this kernel, or for a competing one.

    Attributes:
        shape: the problem size that it belongs to.
        value, unit: the figure, such as 15.4 and "us", or 1610 and "TFLOP/s".
        gpu: "MI355X", "MI300X", ...
        implementation: "HipKittens", "PyTorch", "AITER", ...
        source: publication or file that states it.
    """

    shape: Shape
    value: float
    unit: str
    gpu: str
    implementation: str
    source: str

    @property
    def figure(self) -> Figure:
        """The value with its unit and its source, as a figure of origin "published"."""
        return Figure(
            self.value, self.unit, Origin.PUBLISHED, f"{self.implementation}, {self.gpu}: {self.source}"
        )

    @classmethod
    def times(cls, shape: Shape, gpu: str, source: str, times: Mapping[str, float]) -> list[Published]:
        """Times of several implementations on one shape; `times` has microseconds by implementation."""
        return [cls(shape, us, "us", gpu, who, source) for who, us in times.items()]
