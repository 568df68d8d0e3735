"""Findings of the sanitizer, by the source lines that a person wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from workbench.codeobject import CodeObject, printer
from workbench.codeobject.debug import DebugInfo, is_library_header
from workbench.codeobject.decoder import decode_one
from workbench.errors import CodeObjectError, KernelFault
from workbench.events import hub
from workbench.launches import AFTER_RACE, RawFinding


@dataclass(frozen=True)
class Finding:
    """A fault of one instruction.

    Attributes:
        category: "missing wait", "race", "uninitialised", "out of bounds", "misaligned", "hazard", "missed
            barrier" or "fault"; "note" for remarks that are not errors.
        message: the fault and the remedy.
        file, line, column: position in the source that the instruction comes from; "" and 0 without debug
            info.
        is_own: True if the file is the module's own source, such as the cell.
        instruction: text of the instruction.
        pc: address of the instruction in the code object.
        workgroup, wave, lane: where it occurred first; None if unknown, or if it concerns the whole wave.
        address: device address, or byte offset in shared memory; None if there is none.
        count: number of occurrences, by lane or register.
        related: (file, line) of the instruction on the other side: the load, the other access.
        kind: see `RawFinding.kind`.
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
        """Text such as "work-group (0, 0, 0), wave 1, lane 5, address 0x40"."""
        parts = [f"work-group {self.workgroup}"] if self.workgroup is not None else []
        parts += [f"wave {self.wave}"] if self.wave is not None else []
        parts += [f"lane {self.lane}"] if self.lane is not None else []
        parts += [f"address {self.address:#x}"] if self.address is not None else []
        return ", ".join(parts)

    @property
    def place(self) -> str:
        """Text such as "scale.hip:12"; the code address without debug info."""
        return f"{self.file}:{self.line}" if self.line else f"code address {self.pc:#x}"

    def __str__(self) -> str:
        times = f", {self.count:,} times" if self.count > 1 else ""
        return f"{self.place}: {self.message} [`{self.instruction}`; {self.who}{times}]"


@dataclass(frozen=True)
class Cause:
    """Findings of one kind between the same source lines: one mistake in unrolled or inlined code.

    Attributes:
        findings: one for each instruction, in the order of the code.
    """

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        return self.findings[0]

    @property
    def count(self) -> int:
        """Number of occurrences of all findings in the group."""
        return sum(finding.count for finding in self.findings)

    @property
    def more(self) -> str:
        """Text to add to the first finding: "and 14 more instructions between these lines, 120 times in
        all"."""
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
    """Findings grouped by kind and pair of source lines, in order; without lines each is a group.

    Either side of a race may come second, so pairs have no order; uninitialised values that follow from a
    race belong to its group.
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
    """A key that is equal for findings with the same cause."""
    place = (finding.file, finding.line)
    pair = {place, finding.related or place} if finding.line else {finding.pc}
    return finding.category, finding.kind, frozenset(pair)


@dataclass(frozen=True)
class PlacedCode:
    """A code object's source lines and instructions.

    Attributes:
        place: (file, line, column) of a code address; None without debug info.
        is_own: returns True if a file is the source itself rather than a header.
        text: returns an instruction's text by its code address; "" if there is none.
        is_bare: returns True if an instruction comes from a builtin or assembly on the user's line, and not
            from a function of a header.
    """

    place: Callable[[int], tuple[str, int, int] | None]
    is_own: Callable[[str], bool]
    text: Callable[[int], str]
    is_bare: Callable[[int], bool] = lambda _: False

    @classmethod
    def of_code_object(cls, code: CodeObject) -> PlacedCode:
        """Code whose source is unknown: none of its files counts as the user's own."""

        @cache
        def debug() -> DebugInfo:
            return DebugInfo(code)

        def place(address: int) -> tuple[str, int, int] | None:
            try:
                return debug().place_of(address)
            except CodeObjectError:
                return None

        def text(address: int) -> str:
            try:
                start = address - code.text.address
                lanes = code.wave_size_at(address)
                return printer.text(decode_one(code.text.data, start, address, code.target, lanes))
            except CodeObjectError:
                return ""

        def is_bare(address: int) -> bool:
            try:
                return is_bare_instruction(debug(), address)
            except CodeObjectError:
                return False

        return cls(place, lambda _: False, text, is_bare)

    @classmethod
    def of_fault(cls, fault: KernelFault, own_file: str) -> PlacedCode:
        """The code of a single fault, which has only one place; its instruction has no text.

        Args:
            own_file: name of the file that is the source itself.
        """
        return cls(lambda _: fault.source, lambda file: Path(file).name == own_file, lambda _: "")


def findings(
    code: PlacedCode, raw: Iterable[RawFinding], fault: KernelFault | None
) -> tuple[tuple[Finding, ...], bool]:
    """A launch's findings by line, including notes and the fault that ended it; and whether there was one."""
    placed = [_placed(code, finding) for finding in raw]
    # An access out of bounds is one of the findings, and the launch continued.
    stopped = fault is not None and all(f.pc != fault.address or f.category not in _GOES_ON for f in placed)
    if fault is not None and stopped:
        placed.append(of_fault(code, fault))
    placed.sort(key=lambda f: (not f.is_own, f.file, f.line, f.pc))
    return tuple(placed), stopped


def is_bare_instruction(debug: DebugInfo, address: int) -> bool:
    """True if an instruction comes from a builtin or assembly on the user's line."""
    frames = debug.frames_of(address)
    return bool(frames) and not is_library_header(frames[0][0])


def _category(code: PlacedCode, raw: RawFinding) -> str:
    """Category of a finding, which for a barrier depends on what the source calls."""
    if raw.category == "missed barrier" and code.is_bare(raw.pc):
        # s_barrier goes on without waves that have ended, and who writes it may rely on that.
        return "note"
    return raw.category


def _placed(code: PlacedCode, raw: RawFinding) -> Finding:
    file, line, column = code.place(raw.pc) or ("", 0, 0)
    other = code.place(raw.other_pc) or ("", 0, 0) if raw.other_pc is not None else None
    return Finding(
        category=_category(code, raw),
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
"""Categories of accesses that end a plain launch but not a sanitized one."""

_OUT_OF_BOUNDS = ("AddressFault", "SharedMemoryFault", "ScratchFault")


def of_fault(code: PlacedCode, fault: KernelFault) -> Finding:
    """A fault as a finding."""
    address = fault.address
    file, line, column = (code.place(address) if address is not None else None) or ("", 0, 0)
    return Finding(
        category="out of bounds" if type(fault).__name__ in _OUT_OF_BOUNDS else "fault",
        message=fault.cause or str(fault),
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


def distinct(seen: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of several launches: the first of each instruction and category."""
    first: dict[tuple[str, str, int, int], Finding] = {}
    for finding in seen:
        first.setdefault((finding.category, finding.file, finding.line, finding.pc), finding)
    return tuple(first.values())


def findings_text(count: int) -> str:
    """A number of findings as text for a list of runs."""
    return f"{count} finding{'' if count == 1 else 's'}" if count else "nothing found"


def tell(
    name: str,
    device: str,
    seen: Iterable[Finding],
    shape: Mapping[str, Any] | None = None,
    code: str = "",
) -> None:
    """Publishes the sanitizer's findings to lists of runs and to the cells with the lines.

    Args:
        name, device, shape: names of the kernel and the device, and the problem's shape.
        seen: findings by line, including notes.
        code: `Module.digest` of the code that ran; "" if unknown.
    """
    both = tuple(seen)
    wrong = [finding for finding in both if finding.category != "note"]
    facts = {
        "findings": len(causes(wrong)),
        "first": wrong[0].message.partition("\n")[0] if wrong else "",
        "shape": dict(shape or {}),
        "device": device,
        "code": code,
        "details": both,
    }
    hub.publish("sanitize", name, facts)


def from_data(data: dict[str, Any]) -> Finding:
    """A finding from its `dataclasses.asdict`, which may have been JSON in between.

    Raises:
        TypeError: the fields are not those of a finding.
    """
    pairs: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
    }
    return Finding(**pairs)


__all__ = [
    "Cause",
    "Finding",
    "PlacedCode",
    "causes",
    "distinct",
    "findings",
    "findings_text",
    "from_data",
    "of_fault",
    "tell",
]
