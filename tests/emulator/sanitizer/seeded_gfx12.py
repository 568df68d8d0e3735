"""The seeded kernels in gfx12's assembly, for waves of 32 lanes, and some whose faults only gfx12 has.

Its assembler takes gfx9's names of loads and stores; waits and barriers are other instructions.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from tests import source_sections
from tests.emulator.sanitizer.seeded import CASES as GFX9_CASES
from tests.emulator.sanitizer.seeded import HEAD as GFX9_HEAD
from tests.emulator.sanitizer.seeded import LOADS_TO_LDS, Seeded

TARGET = "gfx1201"

_WAITS = {"vmcnt": ("loadcnt", "storecnt"), "lgkmcnt": ("dscnt", "kmcnt")}
_WORDS = {"vmcnt": "s_wait_loadcnt", "lgkmcnt": "s_wait_dscnt"}
_BARRIER = r"s_barrier_signal -1\n\ts_barrier_wait -1"

WITHOUT = {
    "accumulator_stored": "accumulation registers",
    "matrix_stored": "MFMA",
    "several_ends": "a buffer's offset of zero is written otherwise",
    "buffer_offset_wraps": "the same",
    "buffer_store_wraps": "the same",
    "swizzle_from_an_undefined_lane": "the value's line is another one",
    "store_after_an_own_atomic": "one die",
}
"""Cases of gfx9 alone, beside those with loads to LDS, and why."""

CHANGES_FOR_HALF_THE_LANES: dict[str, dict[str, str]] = {
    "scalar_load_between_groups": {},
    "global_flag_before_lds_is_written": {"x < 64": "x < 32", "x & 63": "x & 31", "^ 64": "^ 32"},
    "data_after_the_flag": {"x < 64": "x < 32", "^ 64": "^ 32"},
    "shuffle_from_a_lane_that_is_off": {"x < 32": "x < 16", "? 32": "? 16"},
}
"""Cases with a block of half as many items, since a wave has half the lanes, and changes of their text."""


def _translated(text: str) -> str:
    """Assembly in a source with gfx12's waits and barriers; one wait becomes one for each counter."""

    def waits(match: re.Match[str]) -> str:
        counts = re.findall(r"(\w+)\((\d+)\)", match[0])
        return r"\n\t".join(f"s_wait_{name} {n}" for counter, n in counts for name in _WAITS[counter])

    text = re.sub(r"s_waitcnt( \w+\(\d+\))+", waits, text)
    return re.sub(r"s_barrier\b", lambda _: _BARRIER, text)


def _gfx12(name: str, case: Seeded) -> Seeded:
    words, source, block = case.words, _translated(case.source), case.block
    for counter, wait in _WORDS.items():
        words = words.replace(counter, wait)
    if name in CHANGES_FOR_HALF_THE_LANES:
        block //= 2
        for before, after in CHANGES_FOR_HALF_THE_LANES[name].items():
            assert before in source, name
            source = source.replace(before, after)
    if name == "missed_barrier":
        words = words.replace("2 waves", "4 waves")
    return replace(case, source=source, words=words, block=block, targets=(TARGET,))


_HEAD, _SECTIONS = source_sections.read(Path(__file__).with_suffix(".hip"))
OWN = {name: Seeded(section.text, targets=(TARGET,), **section.record) for name, section in _SECTIONS.items()}
"""Faults that only gfx12 has."""

SHARED = {
    name: _gfx12(name, case)
    for name, case in GFX9_CASES.items()
    if name not in WITHOUT and case.targets != LOADS_TO_LDS
}
HEADS = {**dict.fromkeys(SHARED, GFX9_HEAD), **dict.fromkeys(OWN, _HEAD)}
CASES = {**SHARED, **OWN}
