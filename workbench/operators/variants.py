"""Several implementations of one operator, and the choice of one for a shape."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.operators.parameters import Shape


@dataclass(frozen=True, init=False)
class Variant:
    """One implementation of an operator: the shapes that it supports, and its differences from the spec.

    `Variant(fits, entry="gemm_split", launch=...)`: every further argument is a field of the spec.

    Attributes:
        fits: `(shape, arch) -> bool`: True if it supports this shape; None for every shape.
        fields: fields of the spec that it replaces.
    """

    fits: Callable[[Shape, str], bool] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, fits: Callable[[Shape, str], bool] | None = None, **fields: Any) -> None:
        object.__setattr__(self, "fits", fits)
        object.__setattr__(self, "fields", fields)

    def takes(self, shape: Shape, arch: str) -> bool:
        """True if it supports this shape on this target."""
        return self.fits is None or bool(self.fits(shape, arch))


@dataclass(frozen=True)
class Tuned:
    """A tuning table's row for some shapes.

    Attributes:
        shape: the parameters that decide; the row applies to every shape that contains them.
        variant: the implementation to take; "" for an operator without variants.
        settings: settings of its tunables that differ from the defaults.
        us, default_us: microseconds with this choice, and with the untuned one; 0 if not timed.
        origin: origin of these times: "measured" or "modelled"; "" if there are none.
        source: device, compiler and sources behind the times.
    """

    shape: Shape
    variant: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    us: float = 0.0
    default_us: float = 0.0
    origin: str = ""
    source: str = ""

    @classmethod
    def from_row(cls, row: Any) -> Tuned:
        """A row of a table: one of these, `(shape, variant)`, or a mapping of the attributes."""
        if isinstance(row, Tuned):
            return row
        if isinstance(row, Mapping):
            return cls(**row)
        shape, variant = row
        return cls(dict(shape), str(variant))


FOLDER = "HIPKITTENS_TUNING"
"""Names a folder with your own tables, `<category>/<operator>.json`."""

TuningTable = Mapping[str, Sequence[Tuned]]
"""Rows by target; the first row that fits a shape applies."""


def read_tuning(path: Path) -> dict[str, tuple[Tuned, ...]]:
    """A tuning table from a JSON file: `{"gfx950": [[{"m": 64}, "split"], ...], ...}`.

    Raises:
        WorkbenchError: the file cannot be read, or is not a table.
    """
    try:
        table = json.loads(path.read_text())
        return {arch: tuple(map(Tuned.from_row, rows)) for arch, rows in table.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise WorkbenchError(
            f"the tuning table {path} cannot be read: {error}; "
            'expected {"gfx950": [[{"m": 64}, "name of a variant"], ...]}, or rows as wb.tune saves them'
        ) from error


def read_own_tuning(operator: str) -> dict[str, tuple[Tuned, ...]]:
    """The table of an operator in the folder that `HIPKITTENS_TUNING` names; empty if there is none."""
    folder = os.environ.get(FOLDER)
    path = Path(folder or "") / f"{operator}.json"
    return read_tuning(path) if folder and path.is_file() else {}


def row_for(table: TuningTable, shape: Shape, arch: str) -> Tuned | None:
    """The first row of a table whose parameters the shape has; None if there is none."""
    for row in table.get(arch, ()):
        if all(shape.get(key) == value for key, value in row.shape.items()):
            return row
    return None
