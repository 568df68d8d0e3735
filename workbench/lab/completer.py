"""Completion inside `%%hipkittens` cells, in any front end.

IPython would complete C++ as if it were Python. This matcher answers instead: options on the magic's line,
headers after `#include`, and everywhere else clangd's completions.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench import magic_options
from workbench.errors import WorkbenchError
from workbench.lab import clangd, library, sentences
from workbench.lab.clangd import Candidate

if TYPE_CHECKING:
    from IPython.core.completer import CompletionContext
    from IPython.core.interactiveshell import InteractiveShell

_MAGIC = re.compile(r"%%hipkittens(?=\s|$)")
_WORD = re.compile(r"[A-Za-z_]\w*$")
_MEMBER = re.compile(r"(?:\.|->|::)\s*\w*$")
_OPTION = re.compile(r"(?:^|\s)(-{1,2}[\w-]*)$")
_INCLUDE = re.compile(r"^\s*#\s*include\s*[\"<]([\w./-]*)$")
_NAMED = re.compile(
    r"\b(?:verify|time|profile|sweep|tune|dashboard|panel|compare|sanitize|timeline|roofline|explain|fuzz)\s*\("
    r"(?:[^()'\"]|'[^'\n]*'|\"[^\"\n]*\"|\([^()]*\))*?['\"]([\w/.]*)$"
)
"""An unfinished text in a call that takes an operator's name."""

PATIENCE = 1.0
"""Seconds that a shell waits for clangd, which needs longer to read a cell's headers the first time."""


def complete(text: str, line: int, column: int, timeout: float) -> tuple[str, list[Candidate]]:
    """Completions at a position of a cell: the prefix, and the candidates.

    Args:
        text: the whole cell.
        line, column: the place, from 0; columns in UTF-16 code units.
        timeout: seconds that clangd may take.

    Returns:
        the part of it that is already there, and the candidates, the likely ones first.

    Raises:
        TimeoutError: clangd is not ready yet.
        WorkbenchError: there is none, or it ended.
    """
    units = text.split("\n")[line].encode("utf-16-le", "surrogatepass")[: 2 * column]
    before = units.decode("utf-16-le", "surrogatepass")
    if line == 0:
        option = _OPTION.search(before)
        start = option[1] if option else ""
        flags = (Candidate(str(o.flag), "flag", str(o), o.help) for o in magic_options.OPTIONS)
        return start, [flag for flag in flags if start and flag.name.startswith(start)]
    include = _INCLUDE.search(before)
    if include:
        names = (name for name in library.headers() if name.startswith(include[1]))
        return include[1], [Candidate(name, "header", f'#include "{name}"') for name in names]
    word = _WORD.search(before)
    start = word[0] if word else ""
    member = _MEMBER.search(before)
    if not start and not member:
        return start, []
    candidates = [
        _described(candidate)
        for candidate in clangd.running().complete(text, line, column, timeout)
        if candidate.name.startswith(start)
    ]
    if start.startswith("_") and not member:
        there = {candidate.name for candidate in candidates}
        reserved = clangd.reserved_names(clangd.arch_of(text))
        candidates += [c for c in reserved if c.name.startswith(start) and c.name not in there]
    return start, candidates


def _described(candidate: Candidate) -> Candidate:
    """Adds the library's sentence about a name that clangd has no documentation for."""
    if candidate.header not in library.headers():
        return candidate
    return replace(candidate, doc=sentences.completed(candidate.name, candidate.doc))


def operators(before: str) -> tuple[str, list[str]] | None:
    """Names of operators for an unfinished text in `wb.verify(..., "`, `wb.profile("` and similar calls.

    Args:
        before: the Python cell up to the cursor.

    Returns:
        the part that is already typed, and the names that begin with it; None anywhere else.
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
        if not _MAGIC.match(context.full_text):
            return {"completions": []}
        line = context.line_with_cursor[: context.cursor_position]
        column = len(line.encode("utf-16-le", "surrogatepass")) // 2
        try:
            start, matches = complete(context.full_text, context.cursor_line, column, PATIENCE)
        except (TimeoutError, WorkbenchError):
            # A shell cannot show a message here; Shift+Tab shows it.
            start, matches = "", []
        return {
            "completions": [SimpleCompletion(text=match.name, type=match.kind) for match in matches],
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
    """Removes the matchers."""
    completer = getattr(shell, "Completer", None)
    if completer is not None:
        completer.custom_matchers[:] = [
            matcher
            for matcher in completer.custom_matchers
            if not getattr(matcher, "matcher_identifier", "").startswith("hipkittens")
        ]
