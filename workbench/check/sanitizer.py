"""What hardware hides: missing waits, races, accesses out of bounds, uninitialised values.

One launch on the emulated device with every instruction followed (emulator/sanitizer); what is found is put
on the source lines that a person wrote, each instruction once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from workbench.approximation import seeds_of
from workbench.check.exactness import CATEGORY, need
from workbench.check.repeated import Repeated
from workbench.codeobject import CodeObject, printer
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode_one
from workbench.display import Presented
from workbench.errors import CodeObjectError, KernelFault, KernelTimeout, SanitizerError
from workbench.events import hub
from workbench.kernel import Kernel, Launcher, Module
from workbench.kernel.code import DeviceCode
from workbench.launches import AFTER_RACE, LaunchOptions, LaunchRecord, RawFinding
from workbench.operators import KernelSpec, Shape, shape_text
from workbench.operators.subject import Request, Target, resolve
from workbench.runtime import Device, watching


@dataclass(frozen=True)
class Finding:
    """One instruction that does what it must not.

    Attributes:
        category: "missing wait", "race", "uninitialised", "out of bounds", "misaligned", "hazard",
            "missed barrier" or "fault"; "note" for what is no error by itself.
        message: what is wrong and what to do about it.
        file, line, column: the source line that a person wrote which the instruction comes from; "" and 0
            without debug info.
        is_own: whether the file is the module's own source, such as the cell.
        instruction: its text.
        pc: its address in the code object.
        workgroup, wave, lane: who did it first; None where it is not known or the whole wave is meant.
        address: device address, or byte offset in shared memory; None where it has no meaning.
        count: how often it was seen, by lane or register.
        related: (file, line) of the instruction on the other side: the load, the other access.
        kind: as `RawFinding.kind`.
    """

    category: str
    message: str
    file: str
    line: int
    column: int
    is_own: bool
    instruction: str
    pc: int
    workgroup: tuple[int, int, int] | None
    wave: int | None
    lane: int | None
    address: int | None
    count: int = 1
    related: tuple[str, int] | None = None
    kind: str = ""

    @property
    def who(self) -> str:
        """Such as "work-group (0, 0, 0), wave 1, lane 5, address 0x40"."""
        parts = [f"work-group {self.workgroup}"] if self.workgroup is not None else []
        parts += [f"wave {self.wave}"] if self.wave is not None else []
        parts += [f"lane {self.lane}"] if self.lane is not None else []
        parts += [f"address {self.address:#x}"] if self.address is not None else []
        return ", ".join(parts)

    @property
    def place(self) -> str:
        """Such as "scale.hip:12"; the code address without debug info."""
        return f"{self.file}:{self.line}" if self.line else f"code address {self.pc:#x}"

    def __str__(self) -> str:
        times = f", {self.count:,} times" if self.count > 1 else ""
        return f"{self.place}: {self.message} [`{self.instruction}`; {self.who}{times}]"


@dataclass(frozen=True)
class Cause:
    """Findings of one kind between the same source lines, as one slip makes in unrolled or inlined code.

    Attributes:
        findings: of each instruction, in the code's order.
    """

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def count(self) -> int:
        """How often they were seen together."""
        return sum(finding.count for finding in self.findings)

    @property
    def more(self) -> str:
        """What to add to the first, as "and 14 more instructions between these lines, 120 times in all"."""
        others = len(self.findings) - 1
        if not others:
            return ""
        where = "of this line" if self.first.related in (None, self._place) else "between these lines"
        return (
            f"and {others} more instruction{'' if others == 1 else 's'} {where}, {self.count:,} times in all"
        )

    @property
    def _place(self) -> tuple[str, int]:
        return self.first.file, self.first.line

    def by_line(self) -> tuple[Finding, ...]:
        """The first finding on each line that has one."""
        return tuple({(f.file, f.line): f for f in reversed(self.findings)}.values())[::-1]

    def __str__(self) -> str:
        return f"{self.first}; {self.more}" if self.more else str(self.first)


def causes(findings: Iterable[Finding]) -> tuple[Cause, ...]:
    """Findings grouped by kind and pair of source lines, in their order; without lines each is alone.

    Which side of a race comes second is chance, so the pair has no order; and what a race leaves
    uninitialised is of its cause.
    """
    groups: dict[tuple[str, str, frozenset[object]], list[Finding]] = {}
    after: list[Finding] = []
    for finding in findings:
        if finding.kind == AFTER_RACE and finding.line:
            after.append(finding)
        else:
            groups.setdefault(_key(finding), []).append(finding)
    for finding in after:
        origin = finding.related or (finding.file, finding.line)
        races = (key for key in groups if key[0] in ("race", "missing wait") and origin in key[2])
        groups.setdefault(next(races, _key(finding)), []).append(finding)
    return tuple(Cause(tuple(group)) for group in groups.values())


def _key(finding: Finding) -> tuple[str, str, frozenset[object]]:
    """Equal for findings of one cause."""
    place = (finding.file, finding.line)
    pair = {place, finding.related or place} if finding.line else {finding.pc}
    return finding.category, finding.kind, frozenset(pair)


@dataclass(frozen=True)
class SanitizeResult(Presented):
    """What the sanitizer found in one launch.

    Attributes:
        name, device: what ran where.
        shape: the problem; empty where no spec says it.
        findings: by line, each instruction once; `causes` groups them.
        notes: what is no error by itself, such as a buffer resource that reaches past its allocation.
        stopped: whether a fault ended the launch, so that what comes after it was not looked at. Accesses
            out of bounds do not: the launch goes on without them.
        seconds: wall time of the launches; None where one faulted.
        again: what was launched, to step from a finding; None where nobody can launch it again.
        launches: of each finding, in which of an operator's launches it is.
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

    def __getstate__(self) -> dict[str, Any]:
        # Arguments stay where they are.
        return {**self.__dict__, "again": None}

    @property
    def passed(self) -> bool:
        """Nothing was found; notes do not count."""
        return not self.findings

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The findings, those of one cause together."""
        return causes(self.findings)

    def check(self) -> SanitizeResult:
        """Itself where nothing was found.

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
        lines = [f"sanitize {self.name}{f' ({size})' if size else ''} on {self.device}: {verdict}"]
        lines += [f"  {cause}" for cause in self.causes]
        lines += [f"  note: {cause}" for cause in causes(self.notes)]
        if self.stopped:
            lines.append("  a fault ended the launch: what comes after it was not looked at")
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
    """Runs a launch once and looks for what hardware hides; arguments as for `time`.

    It finds registers and shared memory that are used before the s_waitcnt that completes their load; shared
    memory that passes a barrier before its writer waited, or is overwritten before an access is over; races
    between waves in shared and in global memory; accesses out of bounds; misaligned 8- and 16-byte accesses
    of shared memory; uninitialised values that are stored to global memory, decide a branch or become an
    address; and pairs of instructions with too few s_nop in between (docs/sanitizer.md).

    Args:
        approximate: launch again with errors that hardware's v_rcp, v_exp and the like may make
            (`workbench.approximation`), with a seed or, where it is True, a few; an instruction by whose
            errors an integer changes, or half of a float's digits, is a finding.

    Raises:
        DeviceError: the device is a GPU; only an emulated device can watch a launch.
        UsageError: `target` cannot be launched; `approximate` is no seed.
        KernelTimeout: the launch ran past its time limit.
    """
    seeds = seeds_of(approximate, "approximate")
    options = {"spec": spec, "shape": shape, "seed": seed, "device": device}
    found = sanitize_target(resolve(target, args, kwargs, **options), seeds)  # type: ignore[arg-type]
    return found if found.passed else replace(found, again=Request(target, args, kwargs, options))


@dataclass
class Watch:
    """What the sanitizer has found in launches that were watched together.

    Attributes:
        results: one for each launch with findings or notes, in order.
        launches: how many were watched.
    """

    results: list[SanitizeResult] = field(default_factory=list)
    launches: int = 0

    @property
    def passed(self) -> bool:
        """Nothing was found."""
        return all(result.passed for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Of all launches."""
        return tuple(finding for result in self.results for finding in result.findings)

    def check(self) -> Watch:
        """Itself where nothing was found.

        Raises:
            SanitizerError: something was; the message lists it.
        """
        if not self.passed:
            raise SanitizerError(str(self))
        return self

    def __str__(self) -> str:
        count = f"{self.launches} launch{'' if self.launches == 1 else 'es'}"
        found = sum(not result.passed for result in self.results)
        verdict = f"findings in {found}" if found else "nothing found"
        return "\n".join((f"sanitize {count}: {verdict}", *map(str, self.results)))


@contextmanager
def sanitizing() -> Iterator[Watch]:
    """Sanitizes every launch of this process on emulated devices, no matter what code makes it.

    Use it for launches that you cannot pass to `sanitize` one by one: those of a library's tests, of a module
    with host code, of HIP graphs, or several that share memory from hipMalloc. Results and counters stay the
    same; a launch takes up to 20 times as long, and runs on one thread.

    with wb.sanitizing() as watch:
        run_everything()
    watch.check()
    """
    watch = Watch()

    @functools.cache
    def places(code: CodeObject) -> _Code:
        return _Code.of_code_object(code)

    def watcher(record: LaunchRecord, code: CodeObject, fault: KernelFault | None) -> None:
        watch.launches += 1
        if record.findings or fault is not None:
            name = code.kernels[record.kernel].short_name
            watch.results.append(_result(name, record.device, {}, places(code), record.findings, fault, None))

    with watching(watcher):
        yield watch


def sanitize_target(target: Target, seeds: Sequence[int] = ()) -> SanitizeResult:
    """What the sanitizer finds in a prepared launch.

    Args:
        seeds: of errors of transcendental instructions, with which it is made again.
    """
    target.device.check_observes("what happens inside")
    repeated = Repeated(target) if seeds else None
    told = {"shape": target.shape, "device": target.device.name}
    results: list[SanitizeResult] = []
    with hub.failures("sanitize", target.name, **told):
        for each in target.each():
            results.append(_sanitized(each))
            if results[-1].stopped:
                break
        if repeated is not None and not results[-1].stopped:
            with hub.muted():
                results[-1] = _with_exactness(results[-1], repeated, seeds)
    times = [result.seconds for result in results if result.seconds is not None]
    found = replace(
        results[-1],
        name=target.name,
        findings=tuple(finding for result in results for finding in result.findings),
        notes=tuple(note for result in results for note in result.notes),
        seconds=sum(times) if len(times) == len(results) else None,
        launches=tuple(number for number, result in enumerate(results) for _ in result.findings),
    )
    first = found.findings[0].message.partition("\n")[0] if found.findings else ""
    hub.publish("sanitize", found.name, {"findings": len(found.causes), "first": first})
    return found


def _with_exactness(result: SanitizeResult, repeated: Repeated, seeds: Sequence[int]) -> SanitizeResult:
    """The result with a finding for each instruction by whose errors a launch's results change grossly."""
    effect, sites, seed = repeated.depends(seeds)
    found = [finding_at(k.module, CATEGORY, need((k, pc), seed, effect), pc) for k, pc in sites]
    if effect and not sites:
        code = repeated.target.parts[-1].kernel
        text = f"{effect}; no single instruction is the cause"
        found.append(finding_at(code.module, "note", text, code.info.entry))
    return replace(
        result,
        findings=(*result.findings, *(f for f in found if f.category != "note")),
        notes=(*result.notes, *(f for f in found if f.category == "note")),
    )


def finding_at(module: DeviceCode, category: str, message: str, pc: int) -> Finding:
    """A finding about an instruction, whoever ran it."""
    raw = RawFinding(category, message, pc, None, (0, 0, 0), 0, None, None, 1)
    return replace(_finding(_Code.of_module(module), raw), workgroup=None, wave=None)


def _sanitized(target: Target) -> SanitizeResult:
    """What the sanitizer finds in one launch."""
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
    code = _Code.of_module(target.kernel.module)
    return _result(target.name, target.device.name, target.shape, code, raw, fault, seconds)


def finding_of(fault: KernelFault, own_file: str, module: DeviceCode | None = None) -> Finding:
    """A fault of a launch without the sanitizer, as a finding at the line that a person wrote.

    Args:
        own_file: name of the file that is the source itself rather than a header.
        module: what ran; without it the finding has no instruction.
    """
    if module is not None:
        return _of_fault(_Code.of_module(module), fault)
    code = _Code(lambda _: fault.source, lambda file: Path(file).name == own_file, lambda _: "")
    return _of_fault(code, fault)


@dataclass(frozen=True)
class _Code:
    """A code object's source lines and instructions, from whoever holds it.

    Attributes:
        place: (file, line, column) of a code address; None without debug info.
        is_own: whether a file is the source itself rather than a header.
        text: an instruction's text by its code address.
    """

    place: Callable[[int], tuple[str, int, int] | None]
    is_own: Callable[[str], bool]
    text: Callable[[int], str]

    @classmethod
    def of_module(cls, module: DeviceCode) -> _Code:
        def place(address: int) -> tuple[str, int, int] | None:
            return module.debug.place_of(address) if module.debug is not None else None

        return cls(place, module.is_own_source, lambda address: printer.text(module.instruction(address)))

    @classmethod
    def of_code_object(cls, code: CodeObject) -> _Code:
        debug = DebugInfo(code)

        def place(address: int) -> tuple[str, int, int] | None:
            try:
                return debug.place_of(address)
            except CodeObjectError:
                return None

        def text(address: int) -> str:
            instruction = decode_one(code.text.data, address - code.text.address, address, code.target)
            return printer.text(instruction)

        return cls(place, lambda _: False, text)


def _result(
    name: str,
    device: str,
    shape: Shape,
    code: _Code,
    raw: Iterable[RawFinding],
    fault: KernelFault | None,
    seconds: float | None,
) -> SanitizeResult:
    findings = [_finding(code, each) for each in raw]
    # An access out of bounds is among the findings, and the launch went on.
    stopped = fault is not None and all(f.pc != fault.address or f.category not in _GOES_ON for f in findings)
    if fault is not None and stopped:
        findings.append(_of_fault(code, fault))
    findings.sort(key=lambda f: (not f.is_own, f.file, f.line, f.pc))
    return SanitizeResult(
        name,
        device,
        shape,
        findings=tuple(f for f in findings if f.category != "note"),
        notes=tuple(f for f in findings if f.category == "note"),
        stopped=stopped,
        seconds=seconds,
    )


def _finding(code: _Code, raw: RawFinding) -> Finding:
    file, line, column = code.place(raw.pc) or ("", 0, 0)
    other = code.place(raw.other_pc) or ("", 0, 0) if raw.other_pc is not None else None
    return Finding(
        category=raw.category,
        message=raw.message,
        file=file,
        line=line,
        column=column,
        is_own=code.is_own(file),
        instruction=code.text(raw.pc).strip(),
        pc=raw.pc,
        workgroup=raw.workgroup,
        wave=raw.wave,
        lane=raw.lane,
        address=raw.address,
        count=raw.count,
        related=other[:2] if other is not None else None,
        kind=raw.kind,
    )


_GOES_ON = ("out of bounds", "misaligned")
"""Categories of accesses that end a plain launch and not a sanitized one."""

_OUT_OF_BOUNDS = ("AddressFault", "SharedMemoryFault", "ScratchFault")


def _of_fault(code: _Code, fault: KernelFault) -> Finding:
    address = fault.address
    file, line, column = (code.place(address) if address is not None else None) or ("", 0, 0)
    return Finding(
        category="out of bounds" if type(fault).__name__ in _OUT_OF_BOUNDS else "fault",
        message=str(fault),
        file=file,
        line=line,
        column=column,
        is_own=code.is_own(file),
        instruction=code.text(address).strip() if address is not None else "",
        pc=address or 0,
        workgroup=fault.workgroup,
        wave=fault.wave,
        lane=fault.lane,
        address=None,
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
