"""The sanitizer finds nothing in the kernels of the generated cases.

A run looks at every fifth batch, other ones with each seed; HIPKITTENS_TEST_SANITIZE=all at all of them.
"""

from __future__ import annotations

import importlib
import os
import zlib
from pathlib import Path

import pytest
from tile_batches import FAMILIES, Batch, seed

for path in sorted(Path(__file__).parent.glob("test_*.py")):
    if path.name not in (Path(__file__).name, "test_table.py"):
        # Under a name of its own, as pytest has another for the same file.
        importlib.import_module(path.stem)

EVERY = 1 if os.environ.get("HIPKITTENS_TEST_SANITIZE") == "all" else 5


def chosen() -> list[Batch]:
    batches = [batch for family in FAMILIES.values() for batch in family.batches]
    return batches[zlib.crc32(seed().encode()) % EVERY :: EVERY]


@pytest.mark.parametrize("batch", chosen(), ids=lambda b: f"{b.arch}-{b.family}-{b.index}".replace(" ", "_"))
def test_nothing_found(batch: Batch) -> None:
    found = batch.sanitize()
    assert not found, f"seed {seed()}\n" + "\n".join(found)
