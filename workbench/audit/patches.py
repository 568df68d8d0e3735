"""Repairs of a missing wait or barrier: inserted in a copy, built, run, and only then offered.

A repair is certified if the patched source builds, its results are right, and the sanitizer finds no race and
no missing wait in it any more. Anything else is not offered.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.audit.certainty import ORDER
from workbench.audit.trial import Trial
from workbench.runtime.findings import Cause

MOST = 8
"""Builds that a search for a repair may take."""

MOST_IN_FLIGHT = 64
"""Loads that a wave may have in flight, and one more: counts of vmcnt are below."""

_BARRIERS = 3
"""Barriers before a line that a wait is tried before."""

_FENCE = "__builtin_amdgcn_sched_barrier(0);"
_OWN_ORDER = re.compile(r"waitcnt|sched_barrier")
_WAIT_LDS = 'asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");'
_WAIT_ALL = 'asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" ::: "memory");'
_ANY_BARRIER = ("s_barrier(", '"s_barrier', "__syncthreads")
_BARRIER = "__builtin_amdgcn_s_barrier();"


def _wait_memory(count: int) -> str:
    """A wait until at most so many loads are in flight."""
    return f'asm volatile("s_waitcnt vmcnt({count})" ::: "memory");'


_WAIT_MEMORY = _wait_memory(0)


@dataclass(frozen=True)
class Insertion:
    """Statements that go in front of a line.

    Attributes:
        line: number of the line, from 1.
        statements: in order.
    """

    line: int
    statements: tuple[str, ...]

    @property
    def waits_for_memory(self) -> bool:
        """Whether it waits for all loads of the wave, and for nothing else."""
        return _WAIT_MEMORY in self.statements

    def __str__(self) -> str:
        names = {_WAIT_LDS: "a wait for lgkmcnt(0)", _WAIT_MEMORY: "a wait for vmcnt(0)"}
        names |= {_WAIT_ALL: "a wait for vmcnt(0) and lgkmcnt(0)"}
        names |= {_BARRIER: "a barrier", "__syncthreads();": "__syncthreads()"}
        names |= {_wait_memory(count): f"a wait for vmcnt({count})" for count in range(1, MOST_IN_FLIGHT)}
        parts = [names[statement] for statement in self.statements if statement in names]
        return f"{' and '.join(parts)} before line {self.line}"


def relaxed(insertion: Insertion, count: int) -> Insertion:
    """An insertion whose wait for all loads lets some stay in flight."""
    statements = (_wait_memory(count) if s == _WAIT_MEMORY else s for s in insertion.statements)
    return Insertion(insertion.line, tuple(statements))


def applied(text: str, insertions: Sequence[Insertion]) -> str:
    """A source with the insertions, indented as the lines that they precede."""
    lines = text.splitlines(keepends=True)
    for insertion in sorted(insertions, key=lambda each: each.line, reverse=True):
        line = lines[insertion.line - 1]
        indent = line[: len(line) - len(line.lstrip())]
        lines[insertion.line - 1 : insertion.line - 1] = [f"{indent}{s}\n" for s in insertion.statements]
    return "".join(lines)


def unified(name: str, text: str, insertions: Sequence[Insertion]) -> str:
    """The insertions as a patch for the original source."""
    lines = text.splitlines(keepends=True)
    patched = applied(text, insertions).splitlines(keepends=True)
    return "".join(difflib.unified_diff(lines, patched, f"a/{name}", f"b/{name}"))


def starts_statement(text: str, line: int) -> bool:
    """Whether a line begins a statement, so that others can go in front of it."""
    lines = text.splitlines()
    if not 1 < line <= len(lines):
        return False
    before = [re.sub(r"//.*", "", part).strip() for part in lines[: line - 1]]
    code = [part for part in before if part and not part.startswith(("#", "/*", "*"))]
    here = lines[line - 1].strip()
    return bool(code) and code[-1].endswith((";", "{", "}")) and not here.startswith(("#", "}", "else"))


def barriers_before(text: str, line: int) -> list[int]:
    """Lines of the last barriers before a line of a source, the nearest first."""
    lines = text.splitlines()[: max(0, line - 1)]
    code = (part.partition("//")[0] for part in lines)
    found = [
        n
        for n, part in enumerate(code, 1)
        if any(call in part for call in _ANY_BARRIER) and starts_statement(text, n)
    ]
    return found[: -_BARRIERS - 1 : -1]


def original_line(line: int, insertions: Sequence[Insertion]) -> int:
    """The line of a source that is this one with the insertions."""
    for insertion in sorted(insertions, key=lambda each: each.line):
        if line >= insertion.line + len(insertion.statements):
            line -= len(insertion.statements)
    return line


def places(cause: Cause, insertions: Sequence[Insertion]) -> frozenset[tuple[str, int]]:
    """Files and lines of both sides of a cause, in the source without the insertions."""
    first = cause.first
    sides = {(first.file, first.line), first.related or (first.file, first.line)}
    return frozenset((file, original_line(line, insertions)) for file, line in sides)


def candidates(
    cause: Cause, text: str, file: str, insertions: Sequence[Insertion] = ()
) -> Iterator[Insertion]:
    """Insertions that may repair a cause, the cheapest first.

    Args:
        text: the source.
        file: path of the source, as findings have it.
        insertions: those that the source had when the cause was found.
    """
    first = cause.first
    if first.category not in ORDER:
        return
    own_lines = {line for path, line in places(cause, insertions) if path == file}
    # The access that comes second in the source is the one that has to wait; inside a loop either may.
    lines = [line for line in sorted(own_lines, reverse=True) if starts_statement(text, line)]
    # A source that orders its instructions itself gets the instructions, any other HIP's function.
    is_plain = not _OWN_ORDER.search(text)
    barrier = ("__syncthreads();",) if is_plain else (_FENCE, _WAIT_LDS, _BARRIER, _FENCE)
    if first.category == "missing wait":
        wait = _WAIT_MEMORY if "vmcnt" in first.message else _WAIT_LDS
        alone = (_FENCE, wait, _FENCE)
        used = original_line(first.line, insertions) if first.file == file else 0
        yield from (Insertion(line, alone) for line in lines if line == used)
        # Of other waves' accesses only a barrier tells, and only if they wait before it. Where half the
        # waves are a barrier behind, it is one of the barriers before the last.
        yield from (Insertion(line, alone) for line in barriers_before(text, used))
        yield from (Insertion(line, alone) for line in lines if line != used)
    yield from (Insertion(line, barrier) for line in lines)
    full = ("__syncthreads();",) if is_plain else (_FENCE, _WAIT_ALL, _BARRIER, _FENCE)
    if full != barrier:
        yield from (Insertion(line, full) for line in lines)


def remaining(trial: Trial) -> list[Cause]:
    """Causes of a run that a wait or a barrier can repair."""
    return [cause for cause in trial.causes if cause.first.category in ORDER]


__all__ = [
    "MOST",
    "MOST_IN_FLIGHT",
    "Insertion",
    "applied",
    "barriers_before",
    "candidates",
    "original_line",
    "places",
    "relaxed",
    "remaining",
    "starts_statement",
    "unified",
]
