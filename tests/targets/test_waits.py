"""Wait counters: fields of waits, and what another generation's record makes of them."""

from __future__ import annotations

import pytest

from workbench.targets import Request, WaitCounter, WaitCounters
from workbench.targets.waits import GFX9_WAITS, GFX12_WAITS

# Values from llvm-mc 22 for gfx950.
ASSEMBLED = {
    "vmcnt(0)": (0x0F70, {"vmcnt": 0}),
    "lgkmcnt(0)": (0xC07F, {"lgkmcnt": 0}),
    "vmcnt(31)": (0x4F7F, {"vmcnt": 31}),
    "expcnt(0)": (0xCF0F, {"expcnt": 0}),
    "vmcnt(0) expcnt(0) lgkmcnt(0)": (0x0000, {"vmcnt": 0, "expcnt": 0, "lgkmcnt": 0}),
    "nothing": (0xCF7F, {}),
}

# Two counters in one instruction, and each in its own, as in s_wait_loadcnt_dscnt of gfx12.
APART = WaitCounters(
    (
        WaitCounter(
            "loadcnt",
            frozenset({Request.LOAD}),
            {"s_wait_loadcnt": ((0, 6),), "s_wait_loadcnt_dscnt": ((8, 6),)},
        ),
        WaitCounter(
            "dscnt",
            frozenset({Request.LDS}),
            {"s_wait_dscnt": ((0, 6),), "s_wait_loadcnt_dscnt": ((0, 6),)},
        ),
    )
)


@pytest.mark.parametrize("text", ASSEMBLED)
def test_the_field_of_gfx9(text: str) -> None:
    field, left = ASSEMBLED[text]
    assert GFX9_WAITS.left("s_waitcnt", field) == left
    counts = {counter.name: counter.no_wait("s_waitcnt") for counter in GFX9_WAITS} | left
    assert sum(GFX9_WAITS[name].field("s_waitcnt", count) for name, count in counts.items()) == field


def test_counters_with_their_own_instructions() -> None:
    assert APART.left("s_wait_loadcnt", 3) == {"loadcnt": 3}
    assert APART.left("s_wait_loadcnt_dscnt", 2 << 8 | 5) == {"loadcnt": 2, "dscnt": 5}
    assert APART.left("s_wait_loadcnt_dscnt", 63 << 8) == {"dscnt": 0}
    assert APART.left("s_waitcnt", 0) == {}


def test_a_wait_for_everything_has_no_field() -> None:
    left = GFX12_WAITS.left("s_wait_idle", 0)
    assert set(left.values()) == {0}
    assert set(left) == {counter.name for counter in GFX12_WAITS}


def test_waits_in_words() -> None:
    lds, store = GFX9_WAITS.of(Request.LDS), APART.of(Request.STORE)
    assert lds is not None
    assert (lds.wait(), lds.wait(0)) == ("s_waitcnt lgkmcnt", "s_waitcnt lgkmcnt(0)")
    assert (APART["dscnt"].wait(), APART["dscnt"].wait(0)) == ("s_wait_dscnt", "s_wait_dscnt 0")
    assert store is None
