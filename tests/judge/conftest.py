"""Makes `submissions` importable, and starts the judge's processes once for all tests of this folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.judge.judging import Options, Processes

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="package")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    """A judge's processes, which take some seconds to load PyTorch."""
    shared = Processes(tmp_path_factory.mktemp("processes"), Options("MI300X"))
    yield shared
    shared.close()


@pytest.fixture
def shared_processes(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    """`judge` uses the shared processes, and leaves them running."""

    class Shared:
        fork_server = processes.fork_server
        replayed = processes.replayed

        def __init__(self, folder: Path, options: Options) -> None:
            pass

        def close(self) -> None:
            pass

    monkeypatch.setattr("workbench.judge.judging.Processes", Shared)
