"""What the emulated back end does around a launch."""

from __future__ import annotations

from workbench.runtime.emulated import merged


def test_overlapping_buffers_are_joined() -> None:
    assert merged([(100, 50), (120, 10), (149, 11), (160, 5), (0, 0), (300, 1)]) == [
        (100, 60),
        (160, 5),
        (300, 1),
    ]
