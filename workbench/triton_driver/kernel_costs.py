"""Time of Triton code on an emulated device: Triton's compiler, translation, the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.launches import LaunchRecord


@dataclass
class Row:
    """Cost of one kernel, in seconds of this computer's clock.

    Attributes:
        compiler: time of Triton's compiler, including lookups in its cache.
        translation: time to translate its machine code to this computer's.
        run: time of the emulated device without translation.
        launches: number of launches that have ended.
    """

    compiler: float = 0.0
    translation: float = 0.0
    run: float = 0.0
    launches: int = 0

    @property
    def total(self) -> float:
        return self.compiler + self.translation + self.run


@dataclass
class Spent:
    """Time by kernel since Triton was put on the device; it prints as a table.

    Attributes:
        kernels: costs by kernel name.
        seconds: seconds since then; the part in no row is Python's: Triton's front end, PyTorch, the program.
    """

    kernels: dict[str, Row] = field(default_factory=dict)
    _began: float = field(default_factory=time.perf_counter, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._began

    @property
    def total(self) -> Row:
        """The sum over all kernels."""
        rows = self.kernels.values()
        return Row(
            sum(row.compiler for row in rows),
            sum(row.translation for row in rows),
            sum(row.run for row in rows),
            sum(row.launches for row in rows),
        )

    def compiled(self, name: str, seconds: float) -> None:
        self.kernels.setdefault(name, Row()).compiler += seconds

    def launched(self, name: str, record: LaunchRecord) -> None:
        row = self.kernels.setdefault(name, Row())
        row.translation += record.translation_seconds
        row.run += record.wall_seconds - record.translation_seconds
        row.launches += 1

    def __repr__(self) -> str:
        ordered = sorted(self.kernels.items(), key=lambda item: -item[1].total)
        lines = [f"{'compiler':>9} {'translated':>10} {'run':>9} {'launches':>8}  kernel (seconds)"]
        for name, row in (*ordered, ("all", self.total)):
            lines.append(
                f"{row.compiler:9.3f} {row.translation:10.3f} {row.run:9.3f} {row.launches:8}  {name}"
            )
        rest = max(0.0, self.seconds - self.total.total)
        return "\n".join([*lines, f"{rest:9.3f} s of {self.seconds:.3f} s elsewhere: Python, PyTorch"])


def listener(spent: Spent, before: Callable[..., Any] | None) -> Callable[..., None]:
    """A listener to Triton's compilations that adds up their times, and calls `before` too."""

    def heard(*, metadata: dict[str, Any], times: Any, **others: Any) -> None:
        spent.compiled(metadata["name"], times.total / 1e6)
        if before is not None:
            before(metadata=metadata, times=times, **others)

    return heard
