"""Published figures of an operator, by problem, beside the modelled time of its kernel.

`modelled.json` beside this file stores the times, since modelling a problem runs it on the emulated device,
which takes minutes if it is large; `python tests/modelled_times.py` makes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.operators.parameters import Shape, shape_text
from workbench.operators.published import Published
from workbench.origin import Figure, Origin

if TYPE_CHECKING:
    from workbench.operators.spec import KernelSpec

TABLE = Path(__file__).with_name("modelled.json")
SOURCE = "timing model, kernel time, kept by tests/modelled_times.py"


@dataclass(frozen=True)
class Comparison:
    """One problem on one GPU.

    Attributes:
        shape: the problem.
        gpu: GPU of the published figures; two names if the publication leaves open which.
        published: figures by implementation.
        modelled: figure of our kernel in the same unit; None if it was not modelled.
    """

    shape: Shape
    gpu: str
    published: dict[str, Figure]
    modelled: Figure | None

    @property
    def best(self) -> Figure:
        """The fastest published figure."""
        figures = self.published.values()
        fastest = min if next(iter(figures)).unit == "us" else max
        return fastest(figures, key=lambda figure: figure.value)


def key(name: str, shape: Shape, gpu: str) -> str:
    """Key of the time in `modelled.json`."""
    return f"{name} {shape_text(shape)} {gpu}"


@cache
def times() -> dict[str, float]:
    """Stored times in microseconds, by `key`."""
    table: dict[str, float] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def comparisons(spec: KernelSpec) -> list[Comparison]:
    """All problems with a published figure, in the spec's order."""
    groups: dict[str, list[Published]] = {}
    for publication in spec.published:
        groups.setdefault(key(spec.name, publication.shape, publication.gpu), []).append(publication)
    return [
        Comparison(
            group[0].shape,
            group[0].gpu,
            {publication.implementation: publication.figure for publication in group},
            _in_unit(spec, times().get(name), group[0]),
        )
        for name, group in groups.items()
    ]


def _in_unit(spec: KernelSpec, us: float | None, like: Published) -> Figure | None:
    """A time in the unit of the published figure: microseconds, or TFLOP/s of the operator's work."""
    if us is None:
        return None
    value = us if like.unit == "us" else spec.work(spec.shape(like.shape))["flops"] / us / 1e6
    return Figure(value, like.unit, Origin.MODELLED, SOURCE)
