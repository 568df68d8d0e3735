"""Fixtures of the tile library's tests; `tile_cases` beside this file has what they share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tile_cases import Batch

from workbench.targets import TILE_TARGETS


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def batch() -> Batch:
    return Batch()
