"""The file of runs: SQLite in WAL mode, so that several notebooks of a folder write into one.

A file that is damaged, or from another program or a later version, is never written to.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.errors import CodeObjectError, HistoryError, HistoryLocked

APPLICATION = 0x48694B74
"""`PRAGMA application_id` of our files: "HiKt"."""

KEPT_RESULTS = 5000
"""Number of latest runs whose counters are kept; those of baselines are always kept."""

KEPT_CODES = 500
"""Number of latest codes whose machine code is kept; their sources are always kept."""

PATIENCE_SECONDS = 0.5
"""Seconds to wait for another writer, which needs milliseconds per row. A program that locks the file for
longer, such as a SQLite browser, must not hold up every cell; the recorder retries in the background."""

VARIABLE = "HIPKITTENS_HISTORY"
"""Environment variable: another file, or "off"."""

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE session(
        id TEXT PRIMARY KEY, started REAL NOT NULL, notebook TEXT NOT NULL, host TEXT NOT NULL,
        python TEXT NOT NULL, workbench TEXT NOT NULL);
    CREATE TABLE code(
        digest TEXT PRIMARY KEY, name TEXT NOT NULL, arch TEXT NOT NULL, compiler TEXT NOT NULL,
        options TEXT NOT NULL, source TEXT, elf BLOB);
    CREATE TABLE run(
        number INTEGER PRIMARY KEY AUTOINCREMENT, session TEXT NOT NULL REFERENCES session(id),
        seconds REAL NOT NULL, kind TEXT NOT NULL, kernel TEXT NOT NULL, shape TEXT NOT NULL,
        device TEXT NOT NULL, code TEXT NOT NULL, value REAL, unit TEXT NOT NULL, origin TEXT NOT NULL,
        verified INTEGER, error TEXT NOT NULL, revision TEXT NOT NULL, branch TEXT NOT NULL,
        modified INTEGER, result BLOB);
    CREATE INDEX run_of_kernel ON run(kernel, number);
    CREATE TABLE baseline(
        name TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES run(number), pinned REAL NOT NULL);
    CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL);
    """,
    "ALTER TABLE run ADD COLUMN findings INTEGER",
)
"""Statements that make each schema version from the one before; `PRAGMA user_version` counts them."""


def store_path(folder: Path) -> Path | None:
    """The file for notebooks of a folder; None if $HIPKITTENS_HISTORY is "off"."""
    setting = os.environ.get(VARIABLE, "")
    if setting.lower() == "off":
        return None
    return Path(setting) if setting else folder / ".hipkittens" / "runs.sqlite"


class Store:
    """An open file. Safe to call from any thread.

    Args:
        path: path of the file; it is created, with its folder, if missing.

    Raises:
        HistoryError: it cannot be opened or made, is damaged, or is from another program or a later version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        with self._explained():
            _make_folder(path.parent)
            self._connection = sqlite3.connect(path, timeout=PATIENCE_SECONDS, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._connection.text_factory = _text
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        run = self._connection.execute
        version = run("PRAGMA user_version").fetchone()[0]
        application = run("PRAGMA application_id").fetchone()[0]
        is_new = not version and not application and not run("SELECT * FROM sqlite_master").fetchall()
        if not is_new and application != APPLICATION:
            raise HistoryError(
                f"{self.path} is a SQLite file of another program; nothing was written to it. Move it away, "
                f"or name another file in {VARIABLE}"
            )
        if version > len(MIGRATIONS):
            raise HistoryError(
                f"{self.path} was written by a later workbench (schema {version}; this one knows "
                f"{len(MIGRATIONS)}); nothing was written to it. Update this one, or name another file in "
                f"{VARIABLE}"
            )
        if not is_new:
            verdict = run("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
        run("PRAGMA journal_mode = WAL")
        # A commit does not wait for the disk; if the machine crashes, the last runs may be lost.
        run("PRAGMA synchronous = NORMAL")
        run("PRAGMA foreign_keys = ON")
        if version < len(MIGRATIONS):
            self._migrate()

    def _migrate(self) -> None:
        """Upgrades the file to this version in one step, while no other process does."""
        run = self._connection.execute
        with self._connection:
            run("BEGIN EXCLUSIVE")
            version = run("PRAGMA user_version").fetchone()[0]
            for script in MIGRATIONS[version:]:
                for statement in filter(str.strip, script.split(";")):
                    run(statement)
            run(f"PRAGMA application_id = {APPLICATION}")
            run(f"PRAGMA user_version = {len(MIGRATIONS)}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            # The low byte is the kind; Python's own errors have no code.
            if getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise HistoryLocked(
                    f"{self.path}: another program has locked the history of runs ({error}). Close it there, "
                    f"or name another file in {VARIABLE}"
                ) from None
            raise HistoryError(
                f"{self.path}: the history of runs cannot be used ({error}). Name another file in "
                f'{VARIABLE}, or "off" to keep none'
            ) from None
        except (sqlite3.DatabaseError, UnicodeDecodeError, OverflowError) as error:
            raise HistoryError(
                f"{self.path} is damaged, or not a SQLite file ({error}); nothing was written to it. "
                f"`sqlite3 {self.path} .recover` may save what is in it; move it away to begin a new one, or "
                f"name another in {VARIABLE}"
            ) from None
        except OSError as error:
            raise HistoryError(
                f"{self.path}: the history of runs cannot be made ({error.strerror}). Name another file in "
                f'{VARIABLE}, or "off" to keep none'
            ) from None

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raises HistoryError if code in the block finds content that cannot have been written like this."""
        try:
            yield
        except (ValueError, KeyError, TypeError, zlib.error, CodeObjectError) as error:
            raise HistoryError(
                f"{self.path} is damaged ({type(error).__name__}: {error}); nothing was written to it. "
                f"Move it away to begin a new one, or name another in {VARIABLE}"
            ) from None

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def write(self, statement: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> int:
        """Executes a statement in its own transaction; returns the id of the inserted row.

        Raises:
            HistoryError: the file cannot be written.
        """
        with self._lock, self._explained(), self._connection:
            return int(self._connection.execute(statement, values).lastrowid or 0)

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Rows of a query.

        Raises:
            HistoryError: the file cannot be read.
        """
        with self._lock, self._explained():
            return self._connection.execute(query, values).fetchall()

    def insert(self, table: str, values: Mapping[str, Any], *, unless_there: bool = False) -> int:
        """Adds a row; returns its id."""
        names = ", ".join(values)
        marks = ", ".join("?" * len(values))
        verb = "INSERT OR IGNORE" if unless_there else "INSERT"
        return self.write(f"{verb} INTO {table}({names}) VALUES ({marks})", tuple(values.values()))

    def setting(self, key: str) -> str | None:
        """The setting stored under a key; None if there is none."""
        rows = self.rows("SELECT value FROM setting WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else None

    def keep_setting(self, key: str, value: str) -> None:
        self.write("INSERT OR REPLACE INTO setting(key, value) VALUES (?, ?)", (key, value))

    def thin(self) -> None:
        """Drops counters and machine code of old runs; times, sources and baselines stay."""
        self.write(
            "UPDATE run SET result = NULL WHERE result IS NOT NULL AND number NOT IN "
            "(SELECT run FROM baseline) AND number <= (SELECT max(number) FROM run) - ?",
            (KEPT_RESULTS,),
        )
        self.write(
            "UPDATE code SET elf = NULL WHERE elf IS NOT NULL AND digest NOT IN (SELECT code FROM run JOIN "
            "baseline ON baseline.run = run.number) AND rowid <= (SELECT max(rowid) FROM code) - ?",
            (KEPT_CODES,),
        )


def _make_folder(folder: Path) -> None:
    if folder.is_dir():
        return
    folder.mkdir(parents=True)
    # Runs belong to a machine and a person; delete this file to share them.
    (folder / ".gitignore").write_text("*\n")


def _text(data: bytes) -> str | bytes:
    """Decoded text; damaged text stays bytes, so that only its row cannot be read."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def packed(text: str | bytes) -> bytes:
    """Compresses data, as for columns with long values."""
    return zlib.compress(text.encode() if isinstance(text, str) else text, 6)


def unpacked(data: bytes) -> bytes:
    return zlib.decompress(data)
