"""Rows of an earlier document, for problems that the present model was not asked for: marked as such."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from published_times import Problem

from workbench.profile.model import UNITS
from workbench.profile.simulation.unit import REASONS

if TYPE_CHECKING:
    from model_error import Modelled

WIDE_BYTES = 16.0
"""Bytes a lane: what the tile kernels of HipKittens and of this repository move."""

_COLUMNS = 8
_ADDED = re.compile(r"(\w+): [^;:]*?, ([\d.]+) us more than the kernel time")
_KEYS = {text: key for key, text in {**UNITS, **REASONS, "launch": "launch overhead"}.items()}


def former(document: Path, known: dict[Problem, Modelled]) -> dict[Problem, Modelled]:
    """The problems of a document's tables of single rows that `known` lacks.

    What each way of timing adds is taken off as the document has it, which may be otherwise today.
    """
    from model_error import Modelled

    text = document.read_text(encoding="utf-8")
    constants = {name: float(us) for name, us in _ADDED.findall(text)}
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != _COLUMNS or cells[6] not in _KEYS:
            continue
        kernel, shape, gpu, us, _, _, bound, told = cells
        problem = Problem(kernel, shape, gpu)
        if problem in known:
            continue
        kernel_us = float(us) - constants[told.partition(";")[0]]
        key = _KEYS[bound]
        found[problem] = Modelled(
            kernel_us, kernel_us, bound, key=key, warm_key=key, width=WIDE_BYTES, former=True
        )
    return found
