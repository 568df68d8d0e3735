"""A damaged file of runs: a HistoryError, or the runs that were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codeobject.conftest import compiled
from tests.damage import damaged
from tests.history.test_store import RUN, SESSION
from workbench.errors import HistoryError
from workbench.history import results
from workbench.history.store import Store, packed
from workbench.kernel import Module

CORRUPTIONS = 60
CODE = {"name": "k", "arch": "gfx950", "compiler": "", "options": ""}


def test_one_unreadable_row_hides_no_other(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    store.insert("session", SESSION)
    for wrong in ({}, {"shape": "{"}, {"origin": "guessed"}, {}):
        store.insert("run", {**RUN, **wrong})
    store.insert("run", RUN)
    store.write("UPDATE run SET kernel = CAST(x'ff' AS TEXT) WHERE number = 5")
    store.close()
    with pytest.warns(
        UserWarning, match=r"3 runs cannot be read .*left out: #2, #3, #5; the others are whole"
    ):
        runs = list(results.history(path=store.path))
    assert [run.number for run in runs] == [1, 4]


def test_machine_code_is_the_stored_one_or_an_error(tmp_path: Path) -> None:
    elf = compiled("gfx950")
    digest = Module(elf).digest
    files = []
    for name, error in (("one", "x"), ("other", "y" * 3000)):
        path = tmp_path / f"{name}.sqlite"
        store = Store(path)
        store.insert("session", SESSION)
        store.insert("code", {**CODE, "digest": digest, "elf": packed(elf)})
        store.insert("run", {**RUN, "shape": '{"m": 64}', "code": digest, "error": error})
        store.write("PRAGMA wal_checkpoint(TRUNCATE)")
        store.close()
        files.append(path.read_bytes())
    refused = 0
    for number in range(CORRUPTIONS):
        path = tmp_path / f"{number}.sqlite"
        path.write_bytes(damaged(*files))
        try:
            runs = list(results.history(path=path))
            assert all(module.code == elf for run in runs for module in run.modules)
        except HistoryError:
            refused += 1
    assert refused > CORRUPTIONS / 10
