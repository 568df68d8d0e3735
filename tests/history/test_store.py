"""The file of runs: created when needed, shared, and never damaged."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from workbench.errors import HistoryError, HistoryLocked
from workbench.history.store import APPLICATION, MIGRATIONS, Store, store_path

RUN = {
    "session": "s", "seconds": 1.0, "kind": "time", "kernel": "k", "shape": "{}", "device": "d", "code": "",
    "value": 1.0, "unit": "us", "origin": "modelled", "error": "", "revision": "", "branch": "",
}  # fmt: skip
SESSION = {"id": "s", "started": 0.0, "notebook": "", "host": "", "python": "", "workbench": ""}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".hipkittens" / "runs.sqlite"


def test_a_new_file_is_ours_and_kept_out_of_git(path: Path) -> None:
    store = Store(path)
    assert store.rows("PRAGMA application_id")[0][0] == APPLICATION
    assert store.rows("PRAGMA user_version")[0][0] == len(MIGRATIONS)
    assert store.rows("PRAGMA journal_mode")[0][0] == "wal"
    assert (path.parent / ".gitignore").read_text() == "*\n"
    store.keep_setting("cards", "[]")
    store.close()
    assert Store(path).setting("cards") == "[]"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no database, but some notes that somebody wants to keep. " * 40, "not a SQLite file"),
        (b"SQLite format 3\0" + b"\x07" * 4000, "damaged|cannot be used"),
    ],
)
def test_foreign_files_are_left_unchanged(path: Path, content: bytes, message: str) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(HistoryError, match=message):
        Store(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_truncated_file_is_reported_and_left_unchanged(path: Path) -> None:
    store = Store(path)
    store.insert("session", SESSION)
    for _ in range(400):
        store.insert("run", {**RUN, "error": "x" * 500})
    store.write("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(HistoryError, match=r"damaged.*nothing was written"):
        Store(path)
    assert path.read_bytes() == whole[: len(whole) // 2]


def test_another_programs_file_and_a_later_version_are_refused(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes(text TEXT)")
    with pytest.raises(HistoryError, match="another program"):
        Store(path)
    path.unlink()
    store = Store(path)
    store.write(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    store.close()
    with pytest.raises(HistoryError, match=r"later workbench.*HIPKITTENS_HISTORY"):
        Store(path)


def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="HIPKITTENS_HISTORY"):
        Store(tmp_path / "file" / "runs.sqlite")


def test_threads_and_processes_write_into_one_file(path: Path) -> None:
    store = Store(path)
    store.insert("session", SESSION)
    code = (
        "import sys; from pathlib import Path; from workbench.history.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        f"for _ in range(50): store.insert('run', {RUN!r})"
    )
    other = subprocess.Popen([sys.executable, "-c", code, str(path)])
    with ThreadPoolExecutor(4) as pool:
        numbers = list(pool.map(lambda _: store.insert("run", RUN), range(50)))
    assert other.wait(60) == 0
    assert len(set(numbers)) == 50
    assert store.rows("SELECT count(*) FROM run")[0][0] == 100


def test_a_locked_file_is_told_at_once(path: Path) -> None:
    store = Store(path)
    store.insert("session", SESSION)
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(HistoryLocked, match=r"another program has locked .*HIPKITTENS_HISTORY"):
            store.insert("run", RUN)
        assert store.rows("PRAGMA busy_timeout")[0][0] <= 1000, "it waits as long as SQLite's own default"
        assert len(store.rows("SELECT * FROM session")) == 1, "reading goes on"
        other.rollback()
    assert store.insert("run", RUN) == 1


def test_a_failed_migration_leaves_the_file_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(path).close()
    monkeypatch.setattr(
        sys.modules[Store.__module__],
        "MIGRATIONS",
        (*MIGRATIONS, "CREATE TABLE more(x INTEGER); CREATE NONSENSE"),
    )
    with pytest.raises(HistoryError):
        Store(path)
    monkeypatch.undo()
    store = Store(path)
    assert not store.rows("SELECT 1 FROM sqlite_master WHERE name = 'more'")


def test_the_variable_names_another_file_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIPKITTENS_HISTORY")
    assert store_path(tmp_path) == tmp_path / ".hipkittens" / "runs.sqlite"
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(tmp_path / "other.sqlite"))
    assert store_path(tmp_path) == tmp_path / "other.sqlite"
    monkeypatch.setenv("HIPKITTENS_HISTORY", "OFF")
    assert store_path(tmp_path) is None
