"""Selection of the problems to time: those with published figures, or the operators' own."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.errors import ShapeError, UsageError
from workbench.operators import KernelSpec, Published, Shape, kernels
from workbench.runtime import Device
from workbench.targets import product

ANALYSIS = Path(__file__).with_name("hipkittens.json")
"""The figures of HipKittens' own analysis, point by point."""


@dataclass(frozen=True)
class Point:
    """One point on the axis of a figure.

    Attributes:
        x: label of the point.
        shape: shape of the problem.
        published: figures by implementation, in the unit of the figure.
        operator: our operator for it; "" if none of ours compares.
        settings: settings of its tunables.
    """

    x: str
    shape: Shape
    published: Mapping[str, float]
    operator: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Analysis:
    """A figure that HipKittens published of its kernels.

    Attributes:
        key, title: short name and title.
        operator: our operator for the same problem.
        variant: variant that computes as HipKittens' kernel does; "" for the operator's own choice.
        gpu: GPU of the published measurement.
        unit: unit of the published figures: "TFLOP/s" or "us".
        axis: parameter that differs between its points.
        source: source of the figures.
        note: a caveat for comparisons.
        points: points in the order of the axis.
    """

    key: str
    title: str
    operator: str
    gpu: str
    unit: str
    axis: str
    source: str
    note: str
    points: Sequence[Point]
    variant: str = ""

    @property
    def own(self) -> str:
        """Our operator, with its variant, that is compared unless a point names another."""
        return f"{self.operator}:{self.variant}" if self.variant else self.operator

    def published(self) -> list[Published]:
        """Its points as figures of the operator, without those of other settings or variants."""
        return [
            Published(point.shape, value, self.unit, self.gpu, who, self.source)
            for point in self.points
            if point.operator == self.own and not point.settings
            for who, value in point.published.items()
        ]


@functools.cache
def analyses() -> tuple[Analysis, ...]:
    """HipKittens' figures, in its paper's order."""
    figures = []
    for entry in json.loads(ANALYSIS.read_text(encoding="utf-8")):
        points, figure = entry.pop("points"), Analysis(**entry, points=())
        points = [Point(**{"operator": figure.own, **point}) for point in points]
        figures.append(replace(figure, points=points))
    return tuple(figures)


def published_of(spec: KernelSpec) -> list[Published]:
    """Every published figure of an operator: the spec's, and those of HipKittens' analysis."""
    return [
        *spec.published,
        *(row for figure in analyses() if figure.operator == spec.name for row in figure.published()),
    ]


def product_name(device: Device) -> str:
    """The product behind a device, such as "MI355X"; the device's name if that is unknown."""
    if device.product:
        return device.product
    try:
        return product(str(device.properties.get("name", ""))).name
    except UsageError:
        return device.name


@dataclass(frozen=True)
class Case:
    """A problem of an operator.

    Attributes:
        operator: name of the operator, optionally with a variant.
        shape: value of every parameter.
        settings: settings of its tunables.
    """

    operator: str
    shape: Shape
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def spec(self) -> KernelSpec:
        """The operator with these settings."""
        return kernels[self.operator].tuned(**self.settings)

    @property
    def name(self) -> str:
        """The operator's name, followed by its settings."""
        return self.spec.name


def cases(
    operators: Iterable[str] | None, shapes: str | Sequence[Shape], device: Device, figures: bool = False
) -> list[Case]:
    """Cases to time on a device, small problems of each operator first.

    Args:
        operators: names, optionally with variants, or categories such as "gemm"; None for all.
        shapes: "published" (each operator's problems with figures for the device's product, else for any,
            else the first of its own; by the variant that a figure compares, where it takes the problem),
            "own" (all of the operator's own), or shapes to take.
        figures: the points of HipKittens' figures that need a variant or settings, too.

    Raises:
        UnknownKernel: no operator has that name.
        UsageError: `shapes` is neither.
        ShapeError: a given shape that an operator does not support.
    """
    if isinstance(shapes, str) and shapes not in ("published", "own"):
        raise UsageError(f'bench: shapes is {shapes!r}; expected "published", "own" or a list of shapes')
    by_problem: dict[str, Case] = {}
    for name in named(operators):
        spec = kernels[name]
        if device.arch not in spec.targets:
            continue
        for shape in _shapes(spec, shapes, device):
            operator = compared(spec, shape, device.arch) if shapes == "published" else name
            by_problem.setdefault(repr((operator, sorted(shape.items()))), Case(operator, shape))
    if figures:
        for case in figure_cases(named(operators), device):
            by_problem.setdefault(repr((case.name, sorted(case.shape.items()))), case)
    order = {name: n for n, name in enumerate(dict.fromkeys(case.operator for case in by_problem.values()))}
    return sorted(by_problem.values(), key=lambda case: (order[case.operator], cost(case.spec, case.shape)))


def figure_cases(operators: Iterable[str], device: Device) -> list[Case]:
    """Points of HipKittens' figures that are not an operator's own choice of code."""
    names = set(operators)
    special_cases = []
    for figure in analyses():
        for point in figure.points:
            special = point.operator != figure.own or point.settings
            if special and point.operator and figure.operator in names:
                spec = kernels[point.operator].tuned(**point.settings)
                special_cases.append(
                    Case(point.operator, spec.shape(point.shape, arch=device.arch), point.settings)
                )
    return special_cases


def compared(spec: KernelSpec, shape: Shape, arch: str) -> str:
    """The operator to compare with HipKittens' figures of a problem, with the variant that a figure names."""
    for figure in analyses():
        if figure.operator != spec.name or not any(p.shape.items() <= shape.items() for p in figure.points):
            continue
        if figure.variant and spec.variants[figure.variant].takes(shape, arch):
            return figure.own
    return spec.name


def named(operators: Iterable[str] | None) -> list[str]:
    """Names of operators, with categories replaced by their operators."""
    if operators is None:
        return list(kernels)
    if not isinstance(operators, Iterable):
        raise UsageError(
            f"bench: operators is {operators!r}; expected names such as 'gemm/bf16', or categories such as "
            "'gemm'"
        )
    return kernels.named(operators)


def _shapes(spec: KernelSpec, shapes: str | Sequence[Shape], device: Device) -> list[dict[str, Any]]:
    if not isinstance(shapes, str):
        if not isinstance(shapes, Iterable):
            raise UsageError(f"bench: shapes is {shapes!r}; expected 'published', 'own', or a list of shapes")
        return [spec.shape(shape, arch=device.arch) for shape in shapes]
    if shapes == "own":
        return _supported(spec, spec.shapes, device)
    figures = published_of(spec)
    here = [row.shape for row in figures if row.gpu == product_name(device)]
    return _supported(spec, here or [row.shape for row in figures] or spec.shapes[:1], device)


def _supported(spec: KernelSpec, shapes: Iterable[Shape], device: Device) -> list[dict[str, Any]]:
    """Complete shapes that the target takes, each once."""
    by_text: dict[str, dict[str, Any]] = {}
    for shape in shapes:
        try:
            full = spec.shape(shape, arch=device.arch)
        except ShapeError:
            continue
        by_text.setdefault(repr(full), full)
    return list(by_text.values())


def cost(spec: KernelSpec, shape: Shape) -> float:
    """Cost of a problem in operations; a byte counts as ten."""
    work = spec.work(shape)
    return float(max(work.get("flops", 0), 10 * work.get("bytes", 0)))
