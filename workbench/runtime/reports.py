"""Launches that other processes sanitized: each appends its findings to a file that its environment names.

A line of the file is one launch, written by one call when the launch ends, so processes that run in parallel
do not mix their lines, and one that is killed has reported all its launches until then.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from workbench.codeobject import CodeObject
from workbench.errors import KernelFault
from workbench.launches import LaunchRecord
from workbench.runtime.findings import Finding, PlacedCode, causes, findings, from_data

VARIABLE = "HIPKITTENS_SANITIZE"
"""Environment variable: files to append to, with `os.pathsep` between them, or `PRINT`."""

PRINT = "1"
"""Instead of a file: findings are printed on standard error."""

_OFF = ("", "0")
_CODES = 64
"""Number of code objects whose source lines are cached."""


@dataclass(frozen=True)
class LaunchReport:
    """A launch that another process sanitized.

    Attributes:
        process: process id.
        program: file name of the program.
        kernel, device: names of the kernel and the device.
        findings: findings by line, including notes.
        stopped: True if a fault ended the launch.
    """

    process: int
    program: str
    kernel: str
    device: str
    findings: tuple[Finding, ...] = ()
    stopped: bool = False

    @property
    def where(self) -> str:
        """Text such as "prog (process 4711)"."""
        return f"{self.program} (process {self.process})"

    def line(self) -> bytes:
        """The report as a line of the file."""
        # A process that was killed while it wrote has left a partial line: this one starts a new line.
        return f"\n{json.dumps(asdict(self))}\n".encode()

    @classmethod
    def of_line(cls, line: bytes) -> LaunchReport | None:
        """The report in a line; None for a part of one."""
        try:
            data = json.loads(line)
            return cls(**{**data, "findings": tuple(map(from_data, data["findings"]))})
        except (ValueError, TypeError, KeyError):
            return None


class ReportFile:
    """A file to which other processes append and which this one reads, while their environment names it.

    Attributes:
        path: path of the file, in its own folder; reports after `close` are lost.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="hipkittens-sanitize-"))
        self.path = str(self._folder / "launches.jsonl")
        self._process = os.getpid()
        self._end = 0

    def new(self) -> list[LaunchReport]:
        """Reports that were written to the file since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._end)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        self._end += len(whole)
        return [report for line in whole.splitlines() if (report := LaunchReport.of_line(line)) is not None]

    def close(self) -> None:
        """Deletes the file; a forked process leaves it to the one that made it."""
        if os.getpid() == self._process:
            shutil.rmtree(self._folder, ignore_errors=True)


_read_here: set[str] = set()
"""Files whose reader is this process, or one that it was forked from."""


def _paths(environment: str) -> list[str]:
    return [part for part in environment.split(os.pathsep) if part not in _OFF]


def _added(environment: str, file: ReportFile) -> str:
    """A value of `VARIABLE` with one more file; the others stay."""
    return os.pathsep.join([*_paths(environment), file.path])


@contextlib.contextmanager
def of_children() -> Iterator[ReportFile]:
    """In this context, child processes sanitize their launches and append to the file.

    This holds for children that inherit this process's environment.
    """
    file = ReportFile()
    _read_here.add(file.path)
    os.environ[VARIABLE] = _added(os.environ.get(VARIABLE, ""), file)
    try:
        yield file
    finally:
        # Another thread may have added its file in the meantime.
        left = [path for path in _paths(os.environ.get(VARIABLE, "")) if path != file.path]
        os.environ[VARIABLE] = os.pathsep.join(left)
        if not left:
            del os.environ[VARIABLE]
        _read_here.discard(file.path)
        file.close()


@contextlib.contextmanager
def of_process(environment: dict[str, str]) -> Iterator[ReportFile]:
    """Reports of a process that is started with its own environment, to which the file is added."""
    file = ReportFile()
    environment[VARIABLE] = _added(environment.get(VARIABLE, ""), file)
    try:
        yield file
    finally:
        file.close()


@lru_cache(maxsize=_CODES)
def _placed(code: CodeObject) -> PlacedCode:
    return PlacedCode.of_code_object(code)


def report_of(record: LaunchRecord, code: CodeObject, fault: KernelFault | None) -> LaunchReport:
    """The report of a launch of this process."""
    seen, stopped = findings(_placed(code), record.findings, fault)
    kernel = code.kernels[record.kernel].short_name
    return LaunchReport(os.getpid(), program(), kernel, record.device, seen, stopped)


def program() -> str:
    """The file name of the running program."""
    return Path(sys.argv[0] or "python").name


class Reporter:
    """Watches the launches of this process for the readers in `VARIABLE`.

    Args:
        paths: files to append to; `PRINT` among them prints.
    """

    def __init__(self, paths: list[str]) -> None:
        self._files = [path for path in paths if path != PRINT]
        self._prints = PRINT in paths
        self._printed: set[tuple[str, str, int]] = set()
        self._failed: set[str] = set()
        self._begun = False

    def __call__(self, record: LaunchRecord, code: CodeObject, fault: KernelFault | None) -> None:
        report = report_of(record, code, fault)
        for path in self._files:
            self._append(path, report.line())
        if self._prints:
            self._print(report)

    def _append(self, path: str, line: bytes) -> None:
        try:
            append(path, line)
        except FileNotFoundError:
            pass  # Nobody reads it any more.
        except OSError as error:
            if path not in self._failed:
                self._failed.add(path)
                _say(f"{VARIABLE}={path}: the sanitizer's findings cannot be written ({error.strerror})")

    def _print(self, report: LaunchReport) -> None:
        if not self._begun:
            self._begun = True
            _say(f"launches of {report.where} are sanitized, as {VARIABLE} asks")
        for cause in causes(report.findings):
            # A kernel that is launched a thousand times repeats its fault a thousand times.
            key = report.kernel, cause.first.category, cause.first.pc
            if key not in self._printed:
                self._printed.add(key)
                note = "note: " if cause.first.category == "note" else ""
                _say(f"sanitize {report.kernel} on {report.device}: {note}{cause}")


def append(path: str, line: bytes) -> None:
    """Adds a line to a file that other processes add theirs to.

    Raises:
        OSError: it cannot be written; FileNotFoundError if its folder is gone.
    """
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(file, line)
    finally:
        os.close(file)


def _say(text: str) -> None:
    # Unbuffered: the process may not live to flush buffers.
    os.write(2, f"hipkittens: {text}\n".encode("utf-8", "replace"))


def reporter() -> Reporter | None:
    """The reporter that `VARIABLE` requests, apart from the process's own `with` blocks; None for none."""
    paths = [path for path in _paths(os.environ.get(VARIABLE, "")) if path not in _read_here]
    return Reporter(paths) if paths else None


__all__ = [
    "PRINT",
    "VARIABLE",
    "LaunchReport",
    "ReportFile",
    "Reporter",
    "append",
    "of_children",
    "of_process",
    "program",
    "report_of",
    "reporter",
]
