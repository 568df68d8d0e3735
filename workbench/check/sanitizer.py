"""Finds errors that hardware hides: missing waits, races, accesses out of bounds, uninitialised values.

It follows every instruction of a launch on the emulated device (emulator/sanitizer), and places each finding
on the source line that a person wrote, once per instruction.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from workbench.approximation import seeds_of
from workbench.check.exactness import CATEGORY, need
from workbench.check.repeated import Repeated
from workbench.codeobject import CodeObject, printer
from workbench.display import Presented
from workbench.errors import CodeObjectError, KernelFault, KernelTimeout, NothingSanitized, SanitizerError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module, recording
from workbench.kernel.code import DeviceCode, known_code
from workbench.launches import LaunchOptions, LaunchRecord, RawFinding
from workbench.operators import KernelSpec, Shape, shape_text
from workbench.operators.launch_target import Request, Target, resolve
from workbench.runtime import Device, reports, watching
from workbench.runtime.findings import (
    Cause,
    Finding,
    PlacedCode,
    causes,
    distinct,
    findings,
    is_bare_instruction,
    of_fault,
    tell,
)
from workbench.runtime.reports import ReportFile


@dataclass(frozen=True)
class SanitizeResult(Presented):
    """The sanitizer's findings in one launch.

    Attributes:
        name, device: names of the kernel or operator and of the device.
        shape: the problem's shape; empty without a spec.
        findings: findings by line, one for each instruction; `causes` groups them.
        notes: remarks that are no errors, such as a buffer resource that extends past its allocation.
        stopped: True if a fault ended the launch, so that the rest was not checked. Accesses out of bounds do
            not end it: the launch continues without them.
        seconds: wall time of the launches; None if one faulted.
        again: request that repeats the launch, to step from a finding; None if the launch cannot be repeated.
        launches: for each finding, the index of the operator's launch.
        code: `Module.digest` of the code that ran, combined for several modules; "" if unknown.
        process: name of another process that made the launch, such as "prog (process 4711)"; "" for this one.
    """

    name: str
    device: str
    shape: Shape
    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...] = ()
    stopped: bool = False
    seconds: float | None = field(default=None, compare=False)
    again: Request | None = field(default=None, repr=False, compare=False)
    launches: tuple[int, ...] = field(default=(), repr=False, compare=False)
    code: str = field(default="", repr=False, compare=False)
    process: str = field(default="", compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The arguments stay on their devices.
        return {**self.__dict__, "again": None}

    @property
    def passed(self) -> bool:
        """True if nothing was found; notes do not count."""
        return not self.findings

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The findings, grouped by cause."""
        return causes(self.findings)

    def check(self) -> SanitizeResult:
        """This result, if nothing was found.

        Raises:
            SanitizerError: something was; the message lists it.
        """
        if not self.passed:
            raise SanitizerError(str(self))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        size = shape_text(self.shape)
        count = len(self.causes)
        verdict = "nothing found" if self.passed else f"{count} finding{'' if count == 1 else 's'}"
        where = f" of {self.process}" if self.process else ""
        lines = [f"sanitize {self.name}{f' ({size})' if size else ''}{where} on {self.device}: {verdict}"]
        lines += [f"  {cause}" for cause in self.causes]
        lines += [f"  note: {cause}" for cause in causes(self.notes)]
        if self.stopped:
            lines.append("  a fault ended the launch: the rest of it was not checked")
        return "\n".join(lines)

    __repr__ = __str__


def sanitize(
    target: KernelSpec | Launcher | Kernel | Module | Callable[..., Any] | str,
    *args: Any,
    spec: KernelSpec | str | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: Device | str | None = None,
    approximate: bool | int = False,
    **kwargs: Any,
) -> SanitizeResult:
    """Runs a launch once and looks for faults that hardware hides; arguments as for `time`.

    It finds registers and shared memory that are used before the s_waitcnt that completes their load; shared
    memory that passes a barrier before its writer waited, or is overwritten before an access is over; races
    between waves in shared and in global memory; accesses out of bounds; misaligned 8- and 16-byte accesses
    of shared memory; uninitialised values that are stored to global memory, decide a branch or become an
    address; and pairs of instructions with too few s_nop in between (docs/sanitizer.md).

    A function is called once, and each of its launches is checked, including launches of host modules and of
    child processes, as with `sanitizing`.

    Args:
        approximate: launch again with errors that hardware's v_rcp, v_exp and similar instructions may make
            (`workbench.approximation`): a seed, or True for a few seeds. An instruction whose errors change
            an integer, or half of a float's digits, is a finding.

    Raises:
        DeviceError: the device is a GPU; only an emulated device can watch a launch.
        UsageError: `target` cannot be launched; `approximate` is not a seed.
        NothingSanitized: the function launched nothing.
        KernelTimeout: the launch ran past its time limit.
    """
    seeds = seeds_of(approximate, "approximate")
    options = {"spec": spec, "shape": shape, "seed": seed, "device": device}
    if callable(target) and not isinstance(target, (KernelSpec, Launcher, Kernel)) and not seeds:
        return _sanitized_call(target, args, kwargs)
    result = sanitize_target(resolve(target, args, kwargs, **options), seeds)  # type: ignore[arg-type]
    return result if result.passed else replace(result, again=Request(target, args, kwargs, options))


class Watch:
    """The sanitizer's findings in launches that were watched together.

    They include launches of other processes, once these have ended.
    """

    def __init__(self, children: ReportFile) -> None:
        self._children = children
        self._lock = threading.RLock()
        self._results: list[SanitizeResult] = []
        self._launches = 0
        self._own_launches = 0
        self._seconds = 0.0
        # Findings by kernel name, device and code.
        self._kernels: dict[tuple[str, str, str], list[SanitizeResult]] = {}

    def _take(self, result: SanitizeResult, seconds: float) -> None:
        """Takes a launch of this process."""
        with self._lock:
            self._seconds += seconds
            self._add(replace(result, launches=(self._own_launches,) * len(result.findings)))
            self._own_launches += 1

    def _read(self) -> None:
        """Reads the reports of other processes."""
        for report in self._children.new():
            result = _result(report.kernel, report.device, report.findings, report.stopped)
            self._add(replace(result, process=report.where))

    def _add(self, result: SanitizeResult) -> None:
        self._launches += 1
        same = self._kernels.setdefault((result.name, result.device, result.code), [])
        if result.findings or result.notes:
            self._results.append(result)
            same.append(result)

    @property
    def results(self) -> list[SanitizeResult]:
        """One report for each launch with findings or notes, in order."""
        with self._lock:
            self._read()
            return list(self._results)

    @property
    def launches(self) -> int:
        """Number of launches that were watched."""
        with self._lock:
            self._read()
            return self._launches

    @property
    def passed(self) -> bool:
        """True if there were launches, and nothing was found in them."""
        return bool(self.launches) and all(result.passed for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of all launches."""
        return tuple(finding for result in self.results for finding in result.findings)

    def check(self) -> Watch:
        """This object, if launches were watched and nothing was found.

        Raises:
            SanitizerError: something was; the message lists it.
            NothingSanitized: no launch was watched, so nothing is known.
        """
        if not self.launches:
            raise NothingSanitized(str(self))
        if not self.passed:
            raise SanitizerError(str(self))
        return self

    def __str__(self) -> str:
        results, launches = self.results, self.launches
        if not launches:
            return f"sanitize 0 launches: {_NOTHING}"
        count = f"{launches} launch{'' if launches == 1 else 'es'}"
        number = sum(not result.passed for result in results)
        verdict = f"findings in {number}" if number else "nothing found"
        # A kernel that is launched a thousand times repeats its fault a thousand times.
        alike: dict[Any, list[SanitizeResult]] = {}
        for result in results:
            places = tuple((f.category, f.pc) for f in (*result.findings, *result.notes))
            alike.setdefault((result.name, result.device, result.process, places), []).append(result)
        lines = [f"{same[0]}{_and_more(len(same) - 1)}" for same in alike.values()]
        return "\n".join((f"sanitize {count}: {verdict}", *lines))

    __repr__ = __str__


_NOTHING = (
    "no launch was sanitized. Only launches on emulated devices are, by this process and by its children "
    f"that inherit the environment variable {reports.VARIABLE}"
)


def _and_more(count: int) -> str:
    return f"\n  and the same in {count} more launch{'' if count == 1 else 'es'}" if count else ""


@contextmanager
def sanitizing() -> Iterator[Watch]:
    """Sanitizes every launch on emulated devices, no matter what code makes it, here or in other processes.

    Use it for launches that you cannot pass to `sanitize` one by one: those of a library's tests, of a module
    with host code, of HIP graphs, of programs, or several that share memory from hipMalloc. Processes that
    are started inside the block (`run_program`, `subprocess`, `multiprocessing`) sanitize their own launches
    and report to this one, including what they found before a crash; they are told by their environment
    (HIPKITTENS_SANITIZE). Results and counters stay the same; a launch takes up to 20 times as long, and runs
    on one thread.

    with wb.sanitizing() as watch:
        run_everything()
    watch.check()
    """
    with _watched() as watch:
        try:
            yield watch
        finally:
            _ = watch.launches
            for (name, device, code), results in watch._kernels.items():
                seen = distinct(f for result in results for f in (*result.findings, *result.notes))
                tell(name, device, seen, code=code)


@contextmanager
def _watched() -> Iterator[Watch]:
    with reports.of_children() as file:
        watch = Watch(file)
        process = os.getpid()
        placed = cache(_placed)

        def watcher(record: LaunchRecord, code: CodeObject, fault: KernelFault | None) -> None:
            if os.getpid() != process:
                # In a forked process the block belongs to the parent, which reads the file.
                reports.append(file.path, reports.report_of(record, code, fault).line())
                return
            seen, stopped = findings(placed(code), record.findings, fault)
            result = _result(code.kernels[record.kernel].short_name, record.device, seen, stopped)
            watch._take(replace(result, code=code.digest), record.wall_seconds)

        with watching(watcher):
            try:
                yield watch
            finally:
                # The file is removed at the end of the block.
                _ = watch.launches


def _placed(code: CodeObject) -> PlacedCode:
    """Code of a loaded module, with the lines of its source, such as a cell."""
    module = known_code(code.digest)
    return _of_module(module) if module is not None else PlacedCode.of_code_object(code)


def _sanitized_call(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> SanitizeResult:
    """Sanitizes the launches of one call."""
    called = getattr(function, "__name__", type(function).__name__)
    fault: KernelFault | None = None
    with hub.failures("sanitize", called), _watched() as watch, recording() as recorded:
        try:
            with hub.muted():
                function(*args, **kwargs)
        except KernelTimeout:
            raise
        except KernelFault as error:
            fault = error
            if not watch.findings:
                raise
    for _, last in recorded:
        last.device.check_observes("what happens inside")
    if not watch.launches:
        raise NothingSanitized(f"{called} launched nothing: {_NOTHING}")
    results = watch.results
    launched = [*watch._kernels]
    all_recorded = watch.launches == watch._own_launches == len(recorded)
    name, device, _ = launched[0]
    result = SanitizeResult(
        name if watch.launches == 1 else called,
        device,
        {},
        findings=tuple(finding for result in results for finding in result.findings),
        notes=distinct(note for result in results for note in result.notes),
        stopped=fault is not None or any(result.stopped for result in results),
        seconds=watch._seconds if fault is None and watch.launches == watch._own_launches else None,
        # Only recorded launches can be found again by number.
        again=Request(function, args, kwargs) if all_recorded and not watch.passed else None,
        launches=tuple(number for result in results for number in result.launches),
        code="+".join(dict.fromkeys(code for _, _, code in launched if code)),
        process=", ".join(dict.fromkeys(result.process for result in results if result.process)),
    )
    _tell(result)
    return result


def sanitize_target(target: Target, seeds: Sequence[int] = ()) -> SanitizeResult:
    """Sanitizes a prepared launch.

    Args:
        seeds: seeds of errors in transcendental instructions; the launch is repeated with each.
    """
    target.device.check_observes("what happens inside")
    repeated = Repeated(target) if seeds else None
    details = {"shape": target.shape, "device": target.device.name}
    results: list[SanitizeResult] = []
    with hub.failures("sanitize", target.name, **details):
        for launch in target.launches():
            results.append(_sanitized(launch))
            if results[-1].stopped:
                break
        if repeated is not None and not results[-1].stopped:
            with hub.muted():
                results[-1] = _with_exactness(results[-1], repeated, seeds)
    times = [result.seconds for result in results if result.seconds is not None]
    merged = replace(
        results[-1],
        name=target.name,
        findings=tuple(finding for result in results for finding in result.findings),
        notes=tuple(note for result in results for note in result.notes),
        seconds=sum(times) if len(times) == len(results) else None,
        launches=tuple(number for number, result in enumerate(results) for _ in result.findings),
        code=target.code,
    )
    _tell(merged)
    return merged


def _with_exactness(result: SanitizeResult, repeated: Repeated, seeds: Sequence[int]) -> SanitizeResult:
    """The result with a finding for each instruction whose errors change a launch's results grossly."""
    effect, sites, seed = repeated.depends(seeds)
    findings = [finding_at(k.module, CATEGORY, need((k, pc), seed, effect), pc) for k, pc in sites]
    if effect and not sites:
        code = repeated.target.parts[-1].kernel
        text = f"{effect}; no single instruction is the cause"
        findings.append(finding_at(code.module, "note", text, code.info.entry))
    return replace(
        result,
        findings=(*result.findings, *(f for f in findings if f.category != "note")),
        notes=(*result.notes, *(f for f in findings if f.category == "note")),
    )


def finding_at(module: DeviceCode, category: str, message: str, pc: int) -> Finding:
    """A finding about an instruction, whichever launch ran it."""
    raw = RawFinding(category, message, pc, None, (0, 0, 0), 0, None, None, 1)
    (finding,), _ = findings(_of_module(module), [raw], None)
    return replace(finding, workgroup=None, wave=None)


def _tell(result: SanitizeResult) -> None:
    tell(result.name, result.device, (*result.findings, *result.notes), result.shape, result.code)


def _sanitized(target: Target) -> SanitizeResult:
    """Sanitizes one launch of `target`."""
    fault: KernelFault | None = None
    seconds = None
    try:
        with hub.muted():
            record = target.run(LaunchOptions(sanitize=True))
        raw, seconds = record.findings, record.wall_seconds
    except KernelTimeout:
        raise
    except KernelFault as error:
        fault, raw = error, error.findings
    seen, stopped = findings(_of_module(target.kernel.module), raw, fault)
    return _result(target.name, target.device.name, seen, stopped, shape=target.shape, seconds=seconds)


def finding_of(fault: KernelFault, own_file: str, module: DeviceCode | None = None) -> Finding:
    """A fault of a launch without the sanitizer, as a finding at a line of the source.

    Args:
        own_file: name of the file that is the source itself rather than a header.
        module: code of the launch; without it the finding has no instruction.
    """
    code = _of_module(module) if module is not None else PlacedCode.of_fault(fault, own_file)
    return of_fault(code, fault)


def _of_module(module: DeviceCode) -> PlacedCode:
    def place(address: int) -> tuple[str, int, int] | None:
        return module.debug.place_of(address) if module.debug is not None else None

    def text(address: int) -> str:
        try:
            return printer.text(module.instruction(address))
        except CodeObjectError:
            return ""

    def is_bare(address: int) -> bool:
        return module.debug is not None and is_bare_instruction(module.debug, address)

    return PlacedCode(place, module.is_own_source, text, is_bare)


def _result(
    name: str,
    device: str,
    seen: Iterable[Finding],
    stopped: bool,
    *,
    shape: Shape | None = None,
    seconds: float | None = None,
) -> SanitizeResult:
    """A launch's result, from its findings and notes."""
    both = list(seen)
    return SanitizeResult(
        name,
        device,
        shape or {},
        findings=tuple(f for f in both if f.category != "note"),
        notes=tuple(f for f in both if f.category == "note"),
        stopped=stopped,
        seconds=seconds,
    )


__all__ = [
    "Cause",
    "Finding",
    "SanitizeResult",
    "Watch",
    "causes",
    "sanitize",
    "sanitize_target",
    "sanitizing",
]
