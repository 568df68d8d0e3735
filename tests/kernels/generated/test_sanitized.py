"""The sanitizer finds nothing in the kernels of the generated cases.

A run checks every fifth batch, different ones with each seed; HIPKITTENS_TEST_SANITIZE=all checks all.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

import pytest
from tile_batches import FAMILIES, Batch, batch_id, share

from workbench.targets import TILE_TARGETS

for path in sorted(Path(__file__).parent.glob("test_*.py")):
    if path.name not in (Path(__file__).name, "test_coverage.py", "test_table.py"):
        # Under a separate name, since pytest uses another one for the same file.
        importlib.import_module(path.stem)

EVERY = 1 if os.environ.get("HIPKITTENS_TEST_SANITIZE") == "all" else 5
BATCHES = share(
    [batch for family in FAMILIES.values() for batch in family.batches if batch.arch in TILE_TARGETS], EVERY
)


@pytest.mark.parametrize("batch", BATCHES, ids=batch_id)
def test_nothing_found(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.sanitize(subtests)
