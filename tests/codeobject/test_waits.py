"""The counts of s_waitcnt, as LLVM assembles them."""

from __future__ import annotations

import pytest

from workbench.codeobject.waits import Waits, waits


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (0x0F70, Waits(0, None, None)),
        (0xC07F, Waits(None, None, 0)),
        (0x0F73, Waits(3, None, None)),
        (0x4F7F, Waits(31, None, None)),
        (0xC77F, Waits(None, None, 7)),
        (0xCF0F, Waits(None, 0, None)),
        (0x0000, Waits(0, 0, 0)),
        (0xCF7F, Waits(None, None, None)),
    ],
)
def test_fields_of_a_wait(field, expected):
    """Values from llvm-mc 22 for gfx950: `s_waitcnt vmcnt(31)` is 0x4f7f."""
    assert waits(field) == expected
