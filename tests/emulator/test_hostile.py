"""Kernels whose descriptors ask for what no device has: refused before they run, as the fuzzers found."""

from __future__ import annotations

import struct

import pytest

from tests.fuzz.streams import S_ENDPGM
from tests.fuzz.template import template
from workbench import errors
from workbench.emulator.device import Geometry, node


def launch(**words: int) -> None:
    """Run an empty kernel whose descriptor has dwords changed, `at52=3` the one at byte 52."""
    device = node().devices[0]
    changes = {int(name.removeprefix("at")): value for name, value in words.items()}
    loaded = device.load(template(device.facts.arch).filled(S_ENDPGM, changes))
    try:
        device.launch(loaded, "fuzz", Geometry.of_blocks((1, 1, 1), (64, 1, 1)), 0, bytes(32))
    finally:
        device.unload(loaded)


def test_an_empty_kernel_runs() -> None:
    launch()


@pytest.mark.parametrize("size", [1 << 18, 1 << 28, (1 << 32) - 1])
def test_private_memory_without_bound(size: int) -> None:
    with pytest.raises(errors.LaunchError, match=rf"{size} bytes of private memory a work-item"):
        launch(at4=size)


def test_more_user_sgprs_than_there_are() -> None:
    template_word = template(node().devices[0].facts.arch).word(52)
    properties = struct.unpack("<I", struct.pack("<HH", 0x7F, 100))[0]
    with pytest.raises(errors.CodeObjectError, match="user SGPRs"):
        launch(at52=template_word & ~0x3E, at56=properties)
