"""Contents of errors about launches that go wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from workbench.emulator.node.faults import Scene


class Block:
    """Decodes its instructions at every access, as a translation's blocks do."""

    decoded = 0

    @property
    def instructions(self) -> list[Any]:
        self.decoded += 1
        return [SimpleNamespace(address=address) for address in (0, 4, 12)]


def test_a_kernel_is_decoded_once_however_much_is_asked() -> None:
    block, nothing = Block(), cast(Any, None)
    scene = Scene(nothing, [block], nothing, nothing, 0, 0, 0, nothing, nothing)
    instructions = [scene.instruction(address) for address in (4, 12, 8, 0)]
    assert [each and each.address for each in instructions] == [4, 12, None, 0]
    assert block.decoded == 1
