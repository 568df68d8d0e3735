"""Several implementations of one operator, and which of them takes a shape."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.spec.parameters import Shape


@dataclass(frozen=True, init=False)
class Variant:
    """One implementation of an operator: what it takes, and where it differs from the spec.

    `Variant(fits, entry="gemm_split", launch=...)`: every further argument is a field of the spec.

    Attributes:
        fits: `(shape, arch) -> bool`: whether it takes this shape; every shape where it is None.
        fields: fields of the spec that it replaces.
    """

    fits: Callable[[Shape, str], bool] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)

    def __init__(self, fits: Callable[[Shape, str], bool] | None = None, **fields: Any) -> None:
        object.__setattr__(self, "fits", fits)
        object.__setattr__(self, "fields", fields)

    def takes(self, shape: Shape, arch: str) -> bool:
        """Whether it takes this shape on this target."""
        return self.fits is None or bool(self.fits(shape, arch))


Tuning = Mapping[str, Sequence[tuple[Shape, str]]]
"""By target: shapes, or the parameters of one that decide, each with the variant to take."""


def read_tuning(given: Tuning | str, folder: Path | None) -> Tuning:
    """A tuning table, from a JSON file where it is a name: `{"gfx950": [[{"m": 64}, "split"], ...], ...}`.

    Raises:
        WorkbenchError: the file cannot be read, or holds something else.
    """
    if not isinstance(given, str):
        return given
    path = (folder or Path()) / given
    try:
        table = json.loads(path.read_text())
        return {arch: [(dict(shape), str(name)) for shape, name in rows] for arch, rows in table.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise WorkbenchError(
            f"the tuning table {path} cannot be read: {error}; "
            'expected {"gfx950": [[{"m": 64}, "name of a variant"], ...]}'
        ) from error


def tuned(table: Tuning, shape: Shape, arch: str) -> str | None:
    """The variant that a table names for a shape: of the first entry whose parameters the shape has."""
    for wanted, name in table.get(arch, ()):
        if all(shape.get(key) == value for key, value in wanted.items()):
            return name
    return None
