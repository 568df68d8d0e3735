"""Rows of an earlier document, for problems that the present model was not asked for: marked as such."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from published_times import Problem

from workbench.profile.launch import QUANTITIES
from workbench.profile.model import UNITS
from workbench.profile.simulation.unit import REASONS

if TYPE_CHECKING:
    from model_error import Modelled

WIDE_BYTES = 16.0
"""Bytes a lane: what the tile kernels of HipKittens and of this repository move."""

_COLUMNS = 8
_KEYS = {text: key for key, text in {**UNITS, **REASONS, "launch": "launch overhead"}.items()}


def former(document: Path, known: dict[Problem, Modelled]) -> dict[Problem, Modelled]:
    """The problems of a document's tables of single rows that `known` lacks, timed by events or a profiler.

    A graph's constant has changed since, and Triton's rows are quick to run: they are not taken over.
    """
    from model_error import Modelled

    found = {}
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != _COLUMNS or cells[6] not in _KEYS:
            continue
        kernel, shape, gpu, us, _, _, bound, told = cells
        quantity = told.partition(";")[0]
        problem = Problem(kernel, shape, gpu)
        if problem in known or quantity not in ("events", "kernel"):
            continue
        kernel_us = float(us) - QUANTITIES[quantity].seconds * 1e6
        key = _KEYS[bound]
        found[problem] = Modelled(
            kernel_us, kernel_us, bound, key=key, warm_key=key, width=WIDE_BYTES, former=True
        )
    return found
