"""Results of a benchmark, one row per case, in a file from which a later run continues."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from workbench.cache import digest
from workbench.errors import UsageError, headline
from workbench.operators import Shape, shape_text
from workbench.origin import Expected, Figure, Origin

OURS = "HipKittens workbench"
"""Name of our implementation beside the others'."""


@dataclass(frozen=True)
class Result:
    """One implementation's time on one problem, with everything needed to repeat it.

    Attributes:
        operator, shape: the problem: the operator's name, and every parameter.
        implementation: `OURS`, or the other one's name: "Triton (Liger-Kernel)", "PyTorch compiled".
        variant: the variant of our operator that ran, with its settings.
        device, product: names of the device and the product: "emulated:gfx950", "MI355X".
        us, low, high: median, 10% and 90% quantile in microseconds; equal if modelled; 0 if it failed.
        runs: number of measured launches; 0 if modelled.
        origin: "measured", "emulated" or "modelled".
        error: expected error of a modelled time: {"rows", "median", "low", "high", "kind"}.
        flops, bytes: operations and bytes of the problem; 0 if the operator does not specify them.
        bound: the limit of the time according to the model.
        clock_mhz: clock of the model, or of the GPU under load; 0 if unknown.
        verified: shape at which the same code was compared with the reference.
        failure: why there is no time; "" if there is one.
        code, source: digests of the machine code, and of all sources that it and the model depend on.
        setting: compiler, versions, git, this computer.
        when: time of the run, ISO 8601, UTC.
        seconds: duration of verification and timing.
    """

    operator: str
    shape: Shape
    implementation: str
    device: str
    product: str
    variant: str = ""
    us: float = 0.0
    low: float = 0.0
    high: float = 0.0
    runs: int = 0
    origin: str = ""
    error: Mapping[str, Any] = field(default_factory=dict)
    flops: int = 0
    bytes: int = 0
    bound: str = ""
    clock_mhz: float = 0.0
    verified: str = ""
    failure: str = ""
    code: str = ""
    source: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)
    when: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> str:
        """Key of the timed case: operator, problem, implementation and device."""
        return key_of(self.operator, self.shape, self.implementation, self.device)

    @property
    def figure(self) -> Figure:
        """The time with its origin and, if it is modelled, its expected error."""
        error = Expected(**self.error) if self.error else None
        return Figure(self.us, "us", Origin(self.origin or "modelled"), self.device, error)

    @property
    def problem(self) -> str:
        """Operator and shape as text."""
        return f"{self.operator} {shape_text(self.shape)}"


def failure_text(error: BaseException) -> str:
    """An error as a result's `failure`: its type and first line."""
    return f"{type(error).__name__}: {first_line(error)}"


def first_line(error: BaseException) -> str:
    """The first line of an error's message, 300 characters at most."""
    return headline(error)[:300]


def key_of(operator: str, shape: Shape, implementation: str, device: str) -> str:
    """See `Result.key`."""
    return json.dumps([operator, dict(shape), implementation, device], sort_keys=True)


_COLUMNS = tuple(column.name for column in fields(Result))
_QUOTED = ", ".join(f'"{name}"' for name in _COLUMNS)
_OBJECTS = ("shape", "error", "setting")


def _checksum(key: str, values: Sequence[Any]) -> str:
    return digest(key, *map(repr, values))


def _result(key: str, values: Sequence[Any], checksum: str | None) -> Result:
    """A row of the file; ValueError if it is damaged."""
    if checksum is not None and checksum != _checksum(key, values):
        raise ValueError(f"the result of {key} is not what was written")
    values_by_name = dict(zip(_COLUMNS, values, strict=True))
    return Result(**{**values_by_name, **{name: json.loads(values_by_name[name]) for name in _OBJECTS}})


class Store:
    """Results in an SQLite file: written one by one, so that a stopped run can continue.

    One row per case; a newer result of the same case replaces the older one. Each row has a checksum, since a
    later run trusts the results in the file.

    Args:
        path: the file; None keeps results in memory.

    Raises:
        UsageError: by every method, if the file is damaged or was written by another program.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        # The outcomes of a cluster arrive on the thread that waits for them.
        self._file = sqlite3.connect(self.path or ":memory:", check_same_thread=False)
        with self._explained(), self._file:
            self._file.execute(f"CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, {_QUOTED})")
            self._file.execute("CREATE TABLE IF NOT EXISTS checksums (key TEXT PRIMARY KEY, checksum TEXT)")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, TypeError) as error:
            raise UsageError(
                f"{self.path} holds no results, or is damaged: {error}; expected a file that bench wrote. "
                "Move it away to begin a new one"
            ) from None

    def add(self, result: Result) -> None:
        """Writes one result, at once."""
        row = asdict(result)
        values = [json.dumps(row[name]) if name in _OBJECTS else row[name] for name in _COLUMNS]
        marks = ", ".join("?" * (len(values) + 1))
        with self._explained(), self._file:
            self._file.execute(f"INSERT OR REPLACE INTO results VALUES ({marks})", [result.key, *values])
            checked = (result.key, _checksum(result.key, values))
            self._file.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?)", checked)

    def __iter__(self) -> Iterator[Result]:
        with self._explained():
            # Older files have no checksums.
            checksums = dict(self._file.execute("SELECT key, checksum FROM checksums"))
            rows = self._file.execute(f"SELECT key, {_QUOTED} FROM results ORDER BY rowid").fetchall()
            if not {key for key, *_ in rows} >= set(checksums):
                raise ValueError("a result is missing")
            results = [_result(key, values, checksums.get(key)) for key, *values in rows]
        yield from results

    def __len__(self) -> int:
        with self._explained():
            return int(self._file.execute("SELECT count(*) FROM results").fetchone()[0])

    def close(self) -> None:
        """Closes the file."""
        with contextlib.suppress(sqlite3.Error):
            self._file.close()


def read(path: str | Path) -> list[Result]:
    """The results of a file.

    Raises:
        UsageError: there is no such file, or it has no results.
    """
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}; expected results of an earlier `bench --out`")
    store = Store(path)
    try:
        return list(store)
    finally:
        store.close()


def to_json(results: Sequence[Result]) -> str:
    """The results as JSON, one object each."""
    return "[\n" + ",\n".join(json.dumps(asdict(result)) for result in results) + "\n]\n"
