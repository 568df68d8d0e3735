"""Differences between two runs: facts, source, machine code, counters."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.codeobject import printer
from workbench.codeobject.difference import Edit, difference
from workbench.display import Shown
from workbench.kernel import Kernel, Module
from workbench.kernel.resources import HEADINGS
from workbench.origin import Figure
from workbench.toolchain.precompiled import PLAIN_TOP, precompiled_top

_PRECOMPILED = re.compile(re.escape(" ".join(precompiled_top(Path("/")))) + r"\S+")

AROUND = 3
"""Number of source lines or instructions to show around a change."""


@dataclass(frozen=True)
class Side:
    """One of the two runs of a comparison.

    Attributes:
        label: label, such as "#12 softmax (rows=64)".
        facts: facts by name; "" for an unknown one.
        source: source text; "" if there is none.
        modules: modules that ran.
        time: time of the run; None if it failed.
        counters: figures by name.
    """

    label: str
    facts: Mapping[str, str]
    source: str
    modules: Sequence[Module]
    time: Figure | None
    counters: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a difference.

    Attributes:
        edit: "same", "renamed" (machine code in other registers), "removed", "added", or "skipped": unchanged
            lines were left out here, and `text` says how many.
        text: the line; for "renamed", the new one.
    """

    edit: str
    text: str


@dataclass(frozen=True)
class CodeChange:
    """A kernel's machine code in both runs.

    Attributes:
        kernel: name of the kernel.
        lines: changed lines with their context.
        added, removed, renamed: instructions; `renamed` ones have only other registers.
        resources: facts such as ("VGPR", 64, 72) that differ.
    """

    kernel: str
    lines: tuple[Line, ...] = field(repr=False)
    added: int
    removed: int
    renamed: int
    resources: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True)
class CounterChange:
    """A counter that both runs have."""

    name: str
    unit: str
    before: float
    after: float

    @property
    def ratio(self) -> float | None:
        """After over before; None if there was nothing before."""
        return self.after / self.before if self.before else None


@dataclass(frozen=True)
class Changes(Shown):
    """Differences between two runs.

    Attributes:
        before, after: labels of the runs.
        times: times of both; None for a failed run.
        facts: (name, before, after) of facts that differ: device, compiler, git state, ...
        source: lines of the source's diff; empty if the sources are equal or unknown.
        codes: kernels whose machine code differs.
        counters: counters that differ, the largest change first.
        unknown: parts that could not be compared, in words.
    """

    before: str
    after: str
    times: tuple[Figure | None, Figure | None]
    facts: tuple[tuple[str, str, str], ...]
    source: tuple[Line, ...] = field(repr=False)
    codes: tuple[CodeChange, ...]
    counters: tuple[CounterChange, ...] = field(repr=False)
    unknown: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Time after over time before; below 1 it became faster."""
        before, after = self.times
        return (
            after.value / before.value if before is not None and after is not None and before.value else None
        )

    @property
    def verdict(self) -> str:
        """A line with the change of the time and the other things that changed."""
        if self.ratio is None:
            time = "one of the two has no time"
        elif self.ratio == 1:
            time = "as fast as before"
        else:
            percent = abs(self.ratio - 1)
            time = f"{percent:.1%} {'slower' if self.ratio > 1 else 'faster'}"
        parts = [
            *(["source"] if self.source else []),
            *(["machine code"] if self.codes else []),
            *(name for name, _, _ in self.facts if name not in ("code", "git", "options")),
        ]
        return f"{time}; {', '.join(parts) + ' changed' if parts else 'source and machine code are the same'}"

    def __str__(self) -> str:
        lines = [f"{self.before} → {self.after}: {self.verdict}"]
        lines += [f"  {name}: {old or 'unknown'} → {new or 'unknown'}" for name, old, new in self.facts]
        lines += [f"  {_SIGN[line.edit]}{line.text}" for line in self.source]
        for code in self.codes:
            lines.append(
                f"  {code.kernel}: {code.added} instructions new, {code.removed} gone, "
                f"{code.renamed} in other registers"
            )
        lines += [f"  {c.name}: {c.before:g} → {c.after:g} {c.unit}".rstrip() for c in self.counters]
        return "\n".join([*lines, *(f"  {text}" for text in self.unknown)])

    __repr__ = __str__


_SIGN = {"same": "  ", "renamed": "~ ", "removed": "- ", "added": "+ ", "skipped": "  "}


def changes(before: Side, after: Side) -> Changes:
    """Compares two runs."""
    facts = [(name, before.facts.get(name, ""), after.facts.get(name, "")) for name in after.facts]
    facts = [
        (name, *only_differing(old, new)) if name == "options" else (name, old, new)
        for name, old, new in facts
    ]
    unknown = []
    for subject, have in (
        ("source", [s.source for s in (before, after)]),
        ("machine code", [s.modules for s in (before, after)]),
    ):
        missing = [side.label for side, part in zip((before, after), have, strict=True) if not part]
        if missing:
            unknown.append(f"the {subject} of {' and '.join(missing)} is not known")
    return Changes(
        before.label,
        after.label,
        (before.time, after.time),
        tuple(fact for fact in facts if fact[1] != fact[2]),
        source_lines(before.source, after.source) if before.source and after.source else (),
        tuple(_codes(before.modules, after.modules)),
        _counters(before.counters, after.counters),
        tuple(unknown),
    )


def only_differing(before: str, after: str) -> tuple[str, str]:
    """Options of two command lines that the other one lacks.

    Paths of files do not affect the code, and neither does a precompiled header instead of the header itself.
    If one run's options are unknown, the other's do not count as a change: most are the workbench's own.
    """
    old, new = (_PRECOMPILED.sub(" ".join(PLAIN_TOP), command).split() for command in (before, after))
    if not old or not new:
        return "", ""
    return _only_in(old, new), _only_in(new, old)


def _only_in(words: Sequence[str], other: Sequence[str]) -> str:
    return " ".join(word for word in words if word not in other and not word.startswith("/"))


def source_lines(before: str, after: str) -> tuple[Line, ...]:
    """A difference of two texts with the lines around each change; empty if they are the same."""
    old, new = before.splitlines(), after.splitlines()
    if old == new:
        return ()
    lines: list[Line] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            lines += [Line("same", text) for text in new[c:d]]
        else:
            lines += [Line("removed", text) for text in old[a:b]]
            lines += [Line("added", text) for text in new[c:d]]
    return folded(lines)


def folded(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines without long runs of unchanged ones."""
    changed = [i for i, line in enumerate(lines) if line.edit in ("removed", "added")]
    near = {j for i in changed for j in range(i - AROUND, i + AROUND + 1)}
    shortened: list[Line] = []
    left_out = 0
    for i, line in enumerate([*lines, None]):
        if line is not None and i not in near:
            left_out += 1
            continue
        if left_out:
            shortened.append(Line("skipped", f"{left_out} {'line' if left_out == 1 else 'lines'} the same"))
            left_out = 0
        if line is not None:
            shortened.append(line)
    return tuple(shortened)


def _codes(before: Sequence[Module], after: Sequence[Module]) -> list[CodeChange]:
    old = {kernel.name: kernel for module in before for kernel in module.kernels.values()}
    new = {kernel.name: kernel for module in after for kernel in module.kernels.values()}
    if len(old) == len(new) == 1 and not old.keys() & new.keys():
        pairs = [(next(iter(old.values())), next(iter(new.values())))]  # renamed
    else:
        pairs = [(old[name], kernel) for name, kernel in new.items() if name in old]
    compared = [code_change(a, b) for a, b in pairs]
    return [
        change for change in compared if change.added or change.removed or change.renamed or change.resources
    ]


def code_change(before: Kernel, after: Kernel) -> CodeChange:
    """Differences between two kernels' machine code."""
    old, new = list(before.instructions), list(after.instructions)
    rows = difference(old, new)
    lines = []
    for row in rows:
        instruction = new[row.after] if row.after is not None else old[row.before or 0]
        lines.append(Line(str(row.edit), printer.text(instruction)))
    count = {edit: sum(row.edit is edit for row in rows) for edit in Edit}
    held, holds = before.resources, after.resources
    both = [(name, getattr(held, key), getattr(holds, key)) for key, name in HEADINGS.items()]
    return CodeChange(
        after.name,
        folded(lines),
        count[Edit.ADDED],
        count[Edit.REMOVED],
        count[Edit.RENAMED],
        tuple(fact for fact in both if fact[1] != fact[2]),
    )


def _counters(before: Mapping[str, Figure], after: Mapping[str, Figure]) -> tuple[CounterChange, ...]:
    differing = [
        CounterChange(name, figure.unit, before[name].value, figure.value)
        for name, figure in after.items()
        if name in before and before[name].value != figure.value
    ]

    def size(change: CounterChange) -> float:
        larger, smaller = max(change.before, change.after), min(change.before, change.after)
        return larger / smaller if smaller > 0 else float("inf")

    return tuple(sorted(differing, key=size, reverse=True))
