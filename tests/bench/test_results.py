"""Files of benchmark results: a damaged one is an error, or still has the results written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.damage import damaged
from workbench.bench.results import OURS, Result, Store, read
from workbench.errors import UsageError

CORRUPTIONS = 60


def result(m: int, us: float) -> Result:
    return Result("gemm/bf16", {"m": m}, OURS, "emulated:gfx950", "MI355X", us=us, low=us, high=us)


def written(path: Path, count: int) -> list[Result]:
    results = [result(m, 10.0 + m / 7) for m in range(count)]
    store = Store(path)
    for row in results:
        store.add(row)
    store.close()
    return results


def test_damage_is_never_a_result(tmp_path: Path) -> None:
    results = written(tmp_path / "one", 12)
    others = written(tmp_path / "other", 3)
    files = [(tmp_path / name).read_bytes() for name in ("one", "other")]
    refused = 0
    for number in range(CORRUPTIONS):
        path = tmp_path / f"{number}"
        path.write_bytes(damaged(*files))
        try:
            stored = read(path)
        except UsageError:
            refused += 1
        else:
            assert stored in (results, others, [])
    # A third are truncated or replaced, which is always noticed; every seed has at least a tenth.
    assert refused > CORRUPTIONS / 10


def test_a_changed_figure_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    written(path, 2)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE results SET us = 1.0 WHERE rowid = 2")
    with pytest.raises(UsageError, match=r"is not what was written.*Move it away"):
        read(path)


def test_a_file_without_checksums_is_read(tmp_path: Path) -> None:
    path = tmp_path / "results.sqlite"
    results = written(path, 2)
    with sqlite3.connect(path) as file:
        file.execute("DROP TABLE checksums")
    assert read(path) == results
