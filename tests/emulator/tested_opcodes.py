"""Opcodes of later targets that tests execute and compare with an independent reference.

    python tests/emulator/tested_opcodes.py # runs the tests of FILES, writes tests/data/tested_opcodes.json

Recorded are the opcodes in the code of all kernels that these tests run, if all of them pass. Their
references are NumPy, PyTorch, exact rationals and what the ISA guides say.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from workbench.codeobject.decoder_gfx11 import decodes, halves
from workbench.codeobject.instruction import Instruction
from workbench.emulator.translate import emission, translator
from workbench.targets import PARTIAL

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "tested_opcodes.json"
FILES = (
    *("tests/emulator/test_gfx11_operations.py", "tests/emulator/test_gfx12_operations.py"),
    *("tests/emulator/test_gfx1201.py", "tests/emulator/test_gfx1250.py"),
    *("tests/emulator/test_gfx1250_operations.py", "tests/emulator/test_clusters.py"),
    *("tests/emulator/native/ops/test_wmma_gfx11.py", "tests/emulator/native/ops/test_wmma.py"),
    *("tests/emulator/native/ops/test_wmma_gfx1250.py", "tests/kernels/test_cdna5.py"),
    *("tests/emulator/semantics/test_later_targets.py", "tests/emulator/test_later_memory.py"),
)


class Recorder:
    """A plugin of pytest that collects the opcodes of translated kernels by target."""

    def __init__(self) -> None:
        self.opcodes: defaultdict[str, set[str]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Iterator[None]:
        translate, emit = translator.translate, emission.emit

        def translated(code_object: Any, *arguments: Any, **options: Any) -> translator.Translation:
            translation = translate(code_object, *arguments, **options)
            self._add(code_object.target, [block.instructions for block in translation.blocks])
            return translation

        def emitted(
            blocks: Sequence[Sequence[Instruction]], index_of: Any, options: Any, *others: Any
        ) -> Any:
            self._add(options.target, blocks)
            return emit(blocks, index_of, options, *others)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(translator, "translate", translated)
            # What the disk cache has is not emitted again, and tests of single instructions have no kernel.
            patch.setattr(emission, "emit", emitted)
            return (yield)

    def _add(self, target: str, blocks: Iterable[Iterable[Instruction]]) -> None:
        every = (instruction for block in blocks for instruction in block)
        if decodes(target):
            every = (half for instruction in every for half in halves(instruction))
        self.opcodes[target] |= {instruction.opcode for instruction in every}


def tested() -> Mapping[str, frozenset[str]]:
    """The recorded opcodes, by target."""
    return {name: frozenset(opcodes) for name, opcodes in json.loads(RECORDED.read_text()).items()}


def main() -> int:
    recorder = Recorder()
    status = pytest.main(["-q", "-n0", *(str(ROOT / file) for file in FILES)], plugins=[recorder])
    if status == 0:
        names = {target.name for target in PARTIAL} & recorder.opcodes.keys()
        found = {name: sorted(recorder.opcodes[name]) for name in sorted(names)}
        RECORDED.write_text(json.dumps(found, indent=0) + "\n")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
