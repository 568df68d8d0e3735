"""Completion inside `%%hipkittens` cells by the kernel, in any front end.

IPython would complete C++ as if it were Python. This matcher answers in its place: options on the magic
line, below it what clangd knows of the place where one is installed, the tile library's names, and the words
of the cell itself.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import magic_options
from workbench.errors import WorkbenchError
from workbench.lab import clangd
from workbench.lab import index as names
from workbench.paths import hip_include_dir, include_dir
from workbench.targets import TILE_TARGETS

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell

_MAGIC = re.compile(r"%%hipkittens(?=\s|$)")
_WORD = re.compile(r"[A-Za-z_]\w*$")
_MEMBER = re.compile(r"(?:\.|->)\s*\w*$")
_ARCH = re.compile(r"\s--arch[=\s]\s*(gfx\w+)")
_OPTION = re.compile(r"(?:^|\s)(-{1,2}[\w-]*)$")


_INCLUDE = re.compile(r"^\s*#\s*include\s*[\"<]([\w./-]*)$")
_NAMED = re.compile(
    r"\b(?:verify|time|profile|sweep|tune|dashboard|panel|compare|sanitize|timeline|roofline|explain|fuzz)\s*\("
    r"(?:[^()'\"]|'[^'\n]*'|\"[^\"\n]*\"|\([^()]*\))*?['\"]([\w/.]*)$"
)
"""A text that is begun in a call which takes an operator's name."""

PATIENCE = 0.5
"""Seconds that a person who types waits for clangd; the index answers at once."""


def known(text: str, line: int, column: int, patience: float = PATIENCE) -> list[clangd.Candidate]:
    """clangd's completions at a place of a cell; empty where it is not installed, or not ready yet.

    Args:
        text: the whole cell, magic line included.
        line, column: the place, from 0; columns in UTF-16 code units.
        patience: seconds.
    """
    try:
        server = clangd.running(arch_of(text))
        return server.complete(text, line, column, patience) if server is not None else []
    except (TimeoutError, WorkbenchError, OSError):
        # Completion is optional: without it people type on.
        return []


def hover(text: str, line: int, column: int, patience: float = PATIENCE) -> clangd.Hover | None:
    """clangd's information on the name at a place, or None; arguments as for `known`."""
    try:
        server = clangd.running(arch_of(text))
        return server.hover(text, line, column, patience) if server is not None else None
    except (TimeoutError, WorkbenchError, OSError):
        return None


def arch_of(text: str) -> str:
    """The target that a cell is compiled for: its --arch, else that of the device in use."""
    named = _ARCH.search(text.partition("\n")[0])
    if named:
        return named[1]
    runtime = sys.modules.get("workbench.runtime")
    return str(runtime.device().arch) if runtime is not None else TILE_TARGETS[0]


def candidates(text: str, line: int, before: str) -> tuple[str, list[tuple[str, str]]] | None:
    """Completions at a place of a cell.

    Args:
        text: the whole cell.
        line: line of the cursor, from 0.
        before: that line's text before the cursor.

    Returns:
        the part that is already there, and (name, kind) for each candidate; None outside of C++ cells.
    """
    if not _MAGIC.match(text):
        return None
    if line == 0:
        option = _OPTION.search(before)
        start = option[1] if option else ""
        return start, [(flag, "flag") for flag in magic_options.FLAGS if start and flag.startswith(start)]
    header = _INCLUDE.search(before)
    if header:
        return header[1], [(name, "path") for name in headers() if name.startswith(header[1])]
    word = _WORD.search(before)
    start = word[0] if word else ""
    offered = {
        c.name: c.kind
        for c in known(text, line, len(before.encode("utf-16-le")) // 2)
        if c.name.startswith(start)
    }
    if _MEMBER.search(before):
        return start, list(offered.items())
    more = {e.name: e.kind for e in names.index().entries if e.name.startswith(start) and e.kind != "macro"}
    body = text.partition("\n")[2]
    for other in re.findall(r"[A-Za-z_]\w*", body):
        if other.startswith(start) and other != start:
            more.setdefault(other, "text")
    if not start and not before.rstrip().endswith("::"):
        return start, []
    return start, [*offered.items(), *sorted((n, kind) for n, kind in more.items() if n not in offered)]


@cache
def headers() -> tuple[str, ...]:
    """Headers that a cell can include: the tile library's, the one of all first, then HIP's."""

    def of(folder: Path, pattern: str) -> list[str]:
        paths = (path.relative_to(folder).as_posix() for path in folder.rglob(pattern))
        return sorted(paths, key=lambda name: (name.count("/"), name))

    hip = [name for name in of(hip_include_dir(), "*.h") if name.startswith(("hip/", "hipcub/", "hiprand/"))]
    return (*of(include_dir(), "*.cuh"), *(name for name in hip if name.count("/") == 1))


def operators(before: str) -> tuple[str, list[str]] | None:
    """Names of operators for a text begun in `wb.verify(..., "`, `wb.profile("` and their like.

    Args:
        before: the Python cell up to the cursor.

    Returns:
        the part that is already there, and the names that begin so; None anywhere else.
    """
    begun = _NAMED.search(before[-2000:])
    workbench = sys.modules.get("workbench")
    if not begun or workbench is None:
        return None
    return begun[1], [name for name in workbench.kernels if name.startswith(begun[1])]


def install(shell: InteractiveShell) -> None:
    """Adds the matchers to a shell."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    @context_matcher(identifier="hipkittens", priority=1000)  # type: ignore[untyped-decorator]
    def hipkittens_matcher(context: CompletionContext) -> dict[str, Any]:
        matches = candidates(
            context.full_text, context.cursor_line, context.line_with_cursor[: context.cursor_position]
        )
        if matches is None:
            return {"completions": []}
        start, names_and_kinds = matches
        return {
            "completions": [SimpleCompletion(text=name, type=kind) for name, kind in names_and_kinds],
            "matched_fragment": start,
            "suppress": True,
        }

    @context_matcher(identifier="hipkittens-operators", priority=900)  # type: ignore[untyped-decorator]
    def operator_matcher(context: CompletionContext) -> dict[str, Any]:
        lines = context.full_text.split("\n")[: context.cursor_line]
        line = context.line_with_cursor[: context.cursor_position]
        matches = None if _MAGIC.match(context.full_text) else operators("\n".join([*lines, line]))
        if matches is None:
            return {"completions": []}
        start, operator_names = matches
        return {
            "completions": [SimpleCompletion(text=name, type="text") for name in operator_names],
            "matched_fragment": start,
            "suppress": bool(operator_names),
        }

    remove(shell)
    completer = getattr(shell, "Completer", None)
    if completer is not None:
        completer.custom_matchers += [hipkittens_matcher, operator_matcher]


def remove(shell: InteractiveShell) -> None:
    """Takes the matchers away."""
    completer = getattr(shell, "Completer", None)
    if completer is not None:
        completer.custom_matchers[:] = [
            matcher
            for matcher in completer.custom_matchers
            if not getattr(matcher, "matcher_identifier", "").startswith("hipkittens")
        ]
