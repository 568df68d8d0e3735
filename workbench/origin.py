"""Origin of a figure, carried with the figure.

A number of this workbench may be measured on a GPU, counted exactly by the emulated device, or computed
from a machine model; a reader must never have to guess which.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """The way in which a figure was obtained."""

    MEASURED = "measured"
    """Read from a GPU's clock or counters, or from this computer's own clock where `source` says so."""
    COUNTED = "counted"
    """Counted exactly by the emulated device."""
    EMULATED = "emulated"
    """Read from the clock of a GPU that software plays, beneath AMD's own libraries; not a GPU's speed."""
    MODELLED = "modelled"
    """Computed from a machine model; never seen on hardware."""
    PUBLISHED = "published"
    """Taken from a publication that `source` names."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Errors of a kind of figures compared with published ones: the expected error of a new figure.

    Attributes:
        rows: number of compared figures; 0 if this kind was never compared.
        median: median of the relative errors.
        low, high: bounds of 80 % of the figures, as multiples of the published ones.
        kind: kind of compared figures, such as "times of GEMMs".
    """

    rows: int = 0
    median: float = 0.0
    low: float = 1.0
    high: float = 1.0
    kind: str = ""

    @property
    def short(self) -> str:
        """Text such as "typically 22 % off", or that the error is unknown."""
        return f"typically {self.median:.0%} off" if self.rows else "accuracy unknown"

    @property
    def text(self) -> str:
        """The error in words, with its basis."""
        if not self.rows:
            return f"{self.short}: nothing like it was compared with published times (docs/model_error.md)"
        return (
            f"{self.short}: half of {self.rows} {self.kind} were nearer to the published ones, "
            f"80 % were {self.low:.2f} to {self.high:.2f} times those (docs/model_error.md)"
        )

    def around(self, value: float) -> tuple[float, float] | None:
        """Range of the true figure in 80 % of such cases; None if nothing is known."""
        return (value / self.high, value / self.low) if self.rows else None


NEVER_COMPARED = Expected()
"""Error of a modelled figure whose kind was never compared with a published one."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its unit and origin.

    Attributes:
        value: the number.
        unit: unit as written after the number, such as "us", "TFLOP/s", "bytes"; "" for a plain count.
        origin: how it was obtained.
        source: source of the figure: a device, a model, a file.
        error: expected error of a modelled figure; None for all others.
    """

    value: float
    unit: str
    origin: Origin
    source: str = ""
    error: Expected | None = None

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        # A count is exact, and is written out; six digits are enough for anything else.
        whole = float(self.value).is_integer() and abs(self.value) < 1e15
        return f"{self.value:{',.0f' if whole else ',.6g'}}{unit} ({self.provenance})"

    @property
    def provenance(self) -> str:
        """Its origin, and how far off it may be."""
        return str(self.origin) if self.error is None else f"{self.origin}, {self.error.short}"
