"""Record of the replacements in a model, which also undoes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch

from workbench.display import Shown


@dataclass(frozen=True)
class Row:
    """One or several modules of the same kind.

    Attributes:
        path: path in the model; * for layer numbers.
        kind: class of the module.
        replaced: name of its replacement; "" if it was not replaced.
        by: functions of `workbench.ops`, or the reason for not replacing it.
        count: number of modules.
    """

    path: str
    kind: str
    replaced: str
    by: str
    count: int = 1


@dataclass(frozen=True)
class Used(Shown):
    """A model whose modules run on the kernels.

    Attributes:
        model: the model itself; its parameters are the same tensors as before.
        rows: replaced modules, and others with the reason; children of replaced modules are not listed.
    """

    model: torch.nn.Module = field(repr=False)
    rows: tuple[Row, ...]
    _back: list[Callable[[], None]] = field(repr=False, default_factory=list)

    def undo(self) -> torch.nn.Module:
        """Restores the model: its forward passes give the same bits as before `use`."""
        while self._back:
            self._back.pop()()
        return self.model

    def __enter__(self) -> Used:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def __str__(self) -> str:
        head = ("module", "class", "count", "replaced", "by")
        cells = [head, *((r.path, r.kind, str(r.count), r.replaced or "left", r.by) for r in self.rows)]
        widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in cells]
        return "\n".join(lines)
