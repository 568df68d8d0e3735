"""Fixtures of the tile library's tests; `tile_cases` beside this file has what they share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from clangs import compilers

sys.path.insert(0, str(Path(__file__).parent))

from tile_cases import Batch

from workbench.errors import CompilerNotFound
from workbench.targets import TILE_TARGETS
from workbench.toolchain import find_compiler


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def batch() -> Batch:
    return Batch()


@pytest.fixture(params=compilers(), ids=lambda path: Path(path).parent.parent.name or "compiler")
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    if request.param:
        monkeypatch.setenv("HIPKITTENS_COMPILER", request.param)
        try:
            find_compiler(arch)
        except CompilerNotFound as error:
            pytest.skip(str(error))
