"""Where a figure comes from, kept with the figure wherever it goes.

A number of this workbench may be measured on a GPU, counted exactly by the emulated device, or computed
from a machine model; a reader must never have to guess which.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """How a figure was obtained."""

    MEASURED = "measured"
    """Read from a GPU's clock or counters, or from this computer's own clock where `source` says so."""
    COUNTED = "counted"
    """Counted exactly by the emulated device."""
    MODELLED = "modelled"
    """Computed from a machine model; never seen on hardware."""
    PUBLISHED = "published"
    """Taken from a publication that `source` names."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and origin.

    Attributes:
        value: the number.
        unit: its unit as written beside it, such as "us", "TFLOP/s", "bytes"; "" for a plain count.
        origin: how it was obtained.
        source: what gave it: a device, a model, a file.
    """

    value: float
    unit: str
    origin: Origin
    source: str = ""

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        # A count is exact, and is written out; six digits are enough for anything else.
        whole = float(self.value).is_integer() and abs(self.value) < 1e15
        return f"{self.value:{',.0f' if whole else ',.6g'}}{unit} ({self.origin})"
