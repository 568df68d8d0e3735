"""Tests of launches as data."""

from __future__ import annotations

from workbench.launches import LaunchRecord
from workbench.views.board import Progress


def test_a_launch_prints_as_a_table() -> None:
    record = LaunchRecord("scale", (4, 1, 1), (64, 1, 1), 0, "emulated:gfx950", 0.25)
    assert (
        repr(record) == "scale on emulated:gfx950: grid 4 x 1 x 1, block 64 x 1 x 1, 0.25 s of this computer"
    )
    page = record._repr_html_()
    assert "<table>" in page
    assert "4 x 1 x 1" in page
    assert "LaunchRecord(" not in page


def test_the_time_left_follows_from_the_pace() -> None:
    assert Progress("k", 10, 100, 5.0, 10, 5.0).left is None
    assert Progress("k", 40, 100, 5.0, 10, 8.0).left == 6.0
