"""The seeded kernels in gfx11's assembly, for waves of 32 lanes.

Waits are gfx9's, but that stores have a counter of their own.
"""

from __future__ import annotations

import re
from dataclasses import replace

from tests.emulator.sanitizer import seeded_gfx12
from tests.emulator.sanitizer.seeded import CASES as GFX9_CASES
from tests.emulator.sanitizer.seeded import HEAD as HEAD
from tests.emulator.sanitizer.seeded import Seeded

TARGET = "gfx1100"


def _gfx11(name: str, case: Seeded) -> Seeded:
    """A case of gfx9 with the changes that gfx12's has, and its own waits."""
    later = seeded_gfx12.SHARED[name]
    source = case.source
    for before, after in seeded_gfx12.CHANGES_FOR_HALF_THE_LANES.get(name, {}).items():
        source = source.replace(before, after)
    stores = r"s_waitcnt vmcnt(\1)\\n\\ts_waitcnt_vscnt null, \1"
    source = re.sub(r"s_waitcnt vmcnt\((\d+)\)", stores, source)
    words = later.words if name == "missed_barrier" else case.words
    return replace(case, source=source, words=words, block=later.block, targets=(TARGET,))


CASES = {name: _gfx11(name, GFX9_CASES[name]) for name in seeded_gfx12.SHARED}
