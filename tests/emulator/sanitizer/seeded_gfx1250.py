"""The seeded kernels of gfx12 on gfx1250, and some whose faults only its copies beside registers have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests import source_sections
from tests.emulator.sanitizer import seeded_gfx12
from tests.emulator.sanitizer.seeded import Seeded

TARGET = "gfx1250"

WITHOUT = {
    "flag_stored_before_the_data_is": "with several dies its twin needs a write-back, as one below has"
}
"""Cases of gfx12 that are none here, and why."""

LINE_OF_ANOTHER_STATEMENT = ("global_in_group", "load_after_an_own_atomic")
"""Cases whose load has the line of the statement before it, of which the compiler takes the address."""

SHARED = {
    name: replace(case, targets=(TARGET,)) for name, case in seeded_gfx12.CASES.items() if name not in WITHOUT
}
_HEAD, _SECTIONS = source_sections.read(Path(__file__).with_suffix(".hip"))
OWN = {name: Seeded(section.text, targets=(TARGET,), **section.record) for name, section in _SECTIONS.items()}
"""Faults that only gfx1250 has."""

HEADS = {**seeded_gfx12.HEADS, **dict.fromkeys(OWN, _HEAD)}
CASES = {**SHARED, **OWN}
