"""Small kernels with one fault if FAULT is defined, and correct ones otherwise: sections of seeded.hip."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import source_sections
from workbench.codeobject.instructions import forms
from workbench.targets import NAMES

LOADS_TO_LDS = tuple(
    name for name in NAMES if any(form.opcode == "global_load_lds_dword" for form in forms(name).values())
)
"""Targets with loads to LDS through global addresses."""


@dataclass(frozen=True)
class Seeded:
    """A kernel `k(const float *in, float *out)` and what is wrong with it.

    Attributes:
        source: its C++ text; each line to be found ends in `// HERE`.
        category: of the finding.
        words: part of the finding's message.
        block, grid: work-items and work-groups.
        elements: floats in each of its two buffers.
        targets: where the instruction exists.
    """

    source: str
    category: str
    words: str
    block: int = 64
    grid: int = 1
    elements: int = 4096
    targets: tuple[str, ...] = NAMES


_TARGETS = {"loads to LDS": LOADS_TO_LDS}


def _seeded(record: dict[str, Any], source: str) -> Seeded:
    targets = record.pop("targets", None)
    if targets is not None:
        record["targets"] = _TARGETS.get(targets) or tuple(targets.split())
    return Seeded(source, **record)


HEAD, _SECTIONS = source_sections.read(Path(__file__).with_suffix(".hip"))
CASES = {name: _seeded(*section) for name, section in _SECTIONS.items()}
