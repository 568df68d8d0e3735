"""`python -m workbench hardware`: an AMD GPU compared with the emulated device in every way that we know.

Each case runs twice, on the examined device and on the emulated one of the same target, each in its own
process. If you examine an emulated device, everything runs without a GPU; its figures then say "modelled".
"""

from __future__ import annotations

import os
import sys
import tempfile
import time as clock
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from workbench import targets
from workbench.errors import DeviceError, UsageError
from workbench.hardware.process import Side, Unanswered
from workbench.hardware.report import Report, anonymous
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.hardware.sections import SECTIONS
from workbench.numerics import EXACT
from workbench.runtime import device as device_named

__all__ = ["SECTIONS", "Report", "examine"]

MINUTES = {False: 20.0, True: 5.0}
"""Time limit of a full and of a quick examination, in minutes, by `quick`."""

_LONGEST, _SHORTEST = 300.0, 60.0
"""Seconds for a case: the remaining time, within these bounds; a started case gets at least the shorter."""
_ROUND = 2
"""Cases per process of the emulated device that wait for each other if nothing may run at the same time."""
_SIDES = 8
"""Maximum number of processes of the emulated device."""


def examine(
    device: str | None = None,
    path: str | Path = "hardware.json",
    *,
    quick: bool = False,
    minutes: float | None = None,
    operators: Sequence[str] = (),
    sections: Sequence[str] = (),
    log: Callable[[str], None] = lambda line: None,
) -> Report:
    """Compares a device with the emulated one; continues an earlier call with the same path that was stopped.

    Args:
        device: device to examine; None for the first GPU.
        path: file of the report, written after every case.
        quick: run the short form.
        minutes: time limit, by default 20 (5 if quick); cases that do not fit are "not run", and run next
            time.
        operators: names of operators; all if empty.
        sections: names from SECTIONS; all if empty.
        log: called with one line for each case.

    Raises:
        DeviceError: there is no such device, or no GPU and none named.
        UsageError: there is no such section, or `path` has a report of another device or target.
        UnknownKernel: there is no such operator.
    """
    selected = _sections(sections)
    subject = device_named(device) if device is not None else _gpu()
    plan = Plan(subject.arch, quick, tuple(operators))
    plan.specs()
    reference = _reference(subject)
    path = Path(path)
    report = _begun(path, subject.name, reference, plan)
    for name, section in SECTIONS.items():
        if name not in report.sections:
            report.nothing[name] = _LATER if section in selected else report.nothing.get(name, _UNASKED)
    end = clock.monotonic() + 60 * (MINUTES[quick] if minutes is None else minutes)
    with ExitStack() as stack:
        examined = Side(subject.name)
        stack.callback(examined.close)
        emulated = stack.enter_context(_sides(reference))
        for n, section in enumerate(selected):
            left = end - clock.monotonic()
            share = section.share / sum(later.share for later in selected[n:])
            work = _Work(section, report, path, examined, emulated, clock.monotonic() + left * share, log)
            work.run(section.cases(plan))
    return report


class _Work:
    """Runs the cases of one section and puts their answers into the report."""

    def __init__(
        self,
        section: Section,
        report: Report,
        path: Path,
        examined: Side,
        emulated: _Pool,
        end: float,
        notify: Callable[[str], None],
    ) -> None:
        self.section, self.report, self.path = section, report, path
        self.examined, self.emulated = examined, emulated
        self.end, self.notify = end, notify
        self.late = 0

    def run(self, cases: Sequence[Case]) -> None:
        name = self.section.name
        if not cases and name not in self.report.sections:
            self.report.nothing[name] = self.section.nothing
            self.report.write(self.path)
            self.notify(f"     {name}: nothing to run: {self.section.nothing}")
        open_ = [case for case in cases if not self.report.done(name, case.name)]
        # If nothing may run beside the examined device, it waits for the emulated one, for a few cases at a
        # time, so that the cases which both have answered are not lost when time runs out.
        count = _ROUND * self.emulated.size if self.section.alone else max(1, len(open_))
        for start in range(0, len(open_), count):
            self._round(open_[start : start + count])
        # Cases that never began, perhaps hundreds, are written and reported at once.
        if self.late:
            self.report.write(self.path)
            waiting = "1 case waits" if self.late == 1 else f"{self.late} cases wait"
            self.notify(f"     {self.section.name}: {waiting}: {_LATE}")

    def _round(self, cases: Sequence[Case]) -> None:
        with tempfile.TemporaryDirectory() as root:
            references = {}
            if self.section.compare is not None:
                for case in cases:
                    references[case.name] = self.emulated.submit(self._ask, case, Path(root))
                if self.section.alone:
                    for future in references.values():
                        future.exception()
            try:
                for case in cases:
                    self._finish(case, references.get(case.name), Path(root))
            finally:
                for future in references.values():
                    future.cancel()

    def _folder(self, root: Path, side: str, case: Case) -> Path:
        folder = root / side / case.name.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _seconds(self, *, owed: bool = False) -> float:
        """Time limit of a case that starts now, in seconds; an owed case starts even after the time is up.

        Raises:
            Unanswered: the time is up.
        """
        left = self.end - clock.monotonic()
        if left < 0 and not owed:
            raise Unanswered(_LATE)
        return min(_LONGEST, max(_SHORTEST, left))

    def _ask(self, side: Side, case: Case, root: Path) -> Answer:
        seconds = self._seconds()
        # A case's environment is for the examined side; the emulated side runs with the default.
        usual = replace(case, environment={})
        return side.answer(self.section.name, usual, self._folder(root, "emulated", case), seconds)

    def _finish(self, case: Case, reference: Future[Answer] | None, root: Path) -> None:
        result: dict[str, Any]
        try:
            other = reference.result() if reference is not None else None
            folder = self._folder(root, "examined", case)
            # Otherwise a round whose emulated half takes all of the section's time would never end, however
            # often it is restarted.
            owed = self.section.alone and other is not None
            mine = self.examined.answer(self.section.name, case, folder, self._seconds(owed=owed))
            if self.section.compare is None or other is None:
                result = {"subject": mine, "agrees": mine.get("passed"), "text": mine.get("text", "")}
            else:
                agrees, text = self._compared(mine, other, folder, self._folder(root, "emulated", case))
                result = {"subject": mine, "reference": other, "agrees": agrees, "text": text}
        except Unanswered as error:
            result = {"not run": str(error)}
        self.report.nothing.pop(self.section.name, None)
        self.report.sections.setdefault(self.section.name, {})[case.name] = anonymous(result)
        if result.get("not run") == _LATE:
            self.late += 1
            return
        self.report.write(self.path)
        mark = {True: "ok  ", False: "LOOK", None: "    "}[result.get("agrees")]
        text = result.get("text") or f"not run: {result['not run']}"
        self.notify(f"{mark} {self.section.name}: {case.name}: {text}")

    def _compared(self, mine: Answer, other: Answer, folder: Path, other_folder: Path) -> Compared:
        assert self.section.compare is not None
        try:
            return self.section.compare(mine, other, folder, other_folder)
        # A bug of ours in one comparison costs the owner of the GPU one case, not the whole run.
        except Exception as error:
            raise Unanswered(
                f"both answered, but could not be compared ({type(error).__name__}: {error})"
            ) from error


_LATE = "time limit reached; the same command continues here"
_LATER = "the examination was stopped before it; the same command continues here"
_UNASKED = "not asked for; the command without --sections runs it"


class _Pool:
    """Processes of the emulated device, each with a thread.

    Attributes:
        size: number of processes.
    """

    def __init__(self, sides: Sequence[Side]) -> None:
        self.size = len(sides)
        self._free: SimpleQueue[Side] = SimpleQueue()
        for side in sides:
            self._free.put(side)
        self._threads = ThreadPoolExecutor(len(sides))

    def submit(self, ask: Callable[[Side, Case, Path], Answer], case: Case, root: Path) -> Future[Answer]:
        def run() -> Answer:
            side = self._free.get()
            try:
                return ask(side, case, root)
            finally:
                self._free.put(side)

        return self._threads.submit(run)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)


@contextmanager
def _sides(reference: str) -> Iterator[_Pool]:
    processors = len(os.sched_getaffinity(0))
    count = max(1, min(_SIDES, processors // 4))
    threads = {"HIPKITTENS_THREADS": str(max(1, processors // count))}
    sides = [Side(reference, threads) for _ in range(count)]
    pool = _Pool(sides)
    try:
        yield pool
    finally:
        pool.close()
        for side in sides:
            side.close()


def _sections(names: Sequence[str]) -> list[Section]:
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise UsageError(f"hardware: no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    return [section for name, section in SECTIONS.items() if name in names or not names]


def _gpu() -> Any:
    try:
        return device_named("gpu")
    except DeviceError as error:
        raise DeviceError(
            f"{error} `python -m workbench doctor` says what is missing; `--device emulated:gfx942` tries "
            "the examination on the emulated device"
        ) from error


def _reference(subject: Any) -> str:
    """The emulated device of the same product, with the arithmetic of a matrix core if that is known."""
    name = f"emulated:{subject.product or subject.arch}"
    exact = f",numerics={EXACT}" if targets.target(subject.arch).matrix_arithmetic else ""
    return f"{name}{exact}"


def _begun(path: Path, subject: str, reference: str, plan: Plan) -> Report:
    # The package has been imported before its parts.
    version = sys.modules["workbench"].__version__
    head = {"subject": subject, "reference": reference, "arch": plan.arch, "version": version}
    if path.exists():
        report = Report.read(path)
        other = [
            f"{key} {report.head.get(key)}" for key, value in head.items() if report.head.get(key) != value
        ]
        if other:
            raise UsageError(
                f"{path} has a report of {', '.join(other)}, not of {subject}; give another file with --out"
            )
        return report
    return Report({**head, "quick": plan.quick, "started": datetime.now(UTC).isoformat(timespec="minutes")})
