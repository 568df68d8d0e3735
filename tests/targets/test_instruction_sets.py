"""Targets by name, and code that asks them for facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from workbench import targets
from workbench.emulator.native import abi
from workbench.errors import UsageError


def test_targets_by_name() -> None:
    assert targets.target("gfx942:sramecc+:xnack-") is targets.GFX942
    with pytest.raises(UsageError, match=r"target 'gfx1030': expected one of gfx950, gfx942, gfx90a"):
        targets.target("gfx1030")


def test_addresses_in_lds_by_the_isa_guides() -> None:
    """Loads to LDS: M0[15:2] with 64 KiB (ISA guides, 'Memory buffer load to LDS'), M0[17:2] with 160 KiB."""
    masks = {target.name: target.lds_address_mask for target in targets.TARGETS}
    assert masks == {"gfx90a": 0xFFFC, "gfx942": 0xFFFC, "gfx950": 0x3FFFC}


def test_code_asks_targets_for_facts_and_not_for_their_names() -> None:
    package = Path(wb.__file__).parent
    by_name = re.compile(r"""[!=]= ["']gfx|["']gfx\w+["'] [!=]=|target [!=]= 0x""")
    sources = [path for suffix in ("py", "c", "h") for path in package.rglob(f"*.{suffix}")]
    assert len(sources) > 200
    places = [
        f"{path.relative_to(package)}:{number}"
        for path in sources
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if "node_modules" not in path.parts and by_name.search(line)
    ]
    assert places == []


def test_a_wave_has_one_size() -> None:
    """The layout that is fixed before the target is known (abi.h) has the targets' wave size."""
    assert {target.wave_size for target in targets.TARGETS} == {targets.WAVE, abi.MAX_LANES}
