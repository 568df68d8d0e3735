"""The file of runs as tables, and the differences between two of them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from workbench.display import shows
from workbench.history.changes import Changes, CodeChange, Line
from workbench.history.results import History, RecordedRun
from workbench.operators import shape_text
from workbench.origin import Figure
from workbench.views.badge import badge
from workbench.views.markup import NOTHING, block, bold, code, details, tag
from workbench.views.table import Cell, Table, number

HEAD = ("run", "when", "shape", "device", "us", "", "verified", "git", "baseline")
DATE, TIME = "%Y-%m-%d", "%H:%M:%S"
"""Formats of every date and time: sortable, and the same for all readers."""

SHOWN = 50
"""Number of latest runs of a kernel and session to list."""

_SIGN = {"added": "+ ", "removed": "- ", "renamed": "~ ", "same": "  ", "skipped": "⋯ "}


def clock(seconds: float) -> str:
    """A moment in local time: only the time of day for today, with the date otherwise."""
    when = time.localtime(seconds)
    today = time.strftime(DATE, when) == time.strftime(DATE)
    return time.strftime(TIME if today else f"{DATE} {TIME}", when)


@shows(RecordedRun)
def run_html(run: RecordedRun) -> Markup:
    """One run: its line, and where it comes from."""
    facts = [(name, value) for name, value in run.side.facts.items() if value]
    parts = [Table(HEAD, [_row(run)], caption=run.kernel), details("facts", Table((), facts))]
    if run.source:
        parts.append(details("source", tag("pre", run.source)))
    return block(*parts)


@shows(History)
def history_html(history: History) -> Markup:
    """Runs by kernel, the latest first, and by session within it."""
    runs = list(history)
    if not runs:
        return block(tag("div", f"no runs yet in {history.path}", kind="wb-dim"))
    return runs_html(runs) + block(tag("div", str(history.path), kind="wb-dim"))


def runs_html(runs: Sequence[RecordedRun]) -> Markup:
    """Runs by kernel, the latest first, and by session within it.

    Args:
        runs: oldest first.
    """
    by_kernel: dict[str, dict[str, list[RecordedRun]]] = {}
    for run in reversed(runs):
        by_kernel.setdefault(run.kernel, {}).setdefault(run.session.id, []).append(run)
    parts = [
        details(
            Markup("{} · {} in {}").format(bold(kernel), _counted(by.values()), _sessions(len(by))),
            *(_session(session) for session in by.values()),
            opened=n == 0,
        )
        for n, (kernel, by) in enumerate(by_kernel.items())
    ]
    return block(*parts)


def _counted(sessions: Iterable[Sequence[RecordedRun]]) -> str:
    count = sum(map(len, sessions))
    return f"{count} run{'' if count == 1 else 's'}"


def _sessions(count: int) -> str:
    return f"{count} session{'' if count == 1 else 's'}"


def _session(runs: Sequence[RecordedRun]) -> Table:
    session = runs[0].session
    where = f" of {session.notebook}" if session.notebook else ""
    more = f", the latest {SHOWN} of {len(runs)}" if len(runs) > SHOWN else ""
    return Table(HEAD, map(_row, runs[:SHOWN]), caption=f"session of {clock(session.started)}{where}{more}")


def _row(run: RecordedRun) -> tuple[Any, ...]:
    verified = {True: Cell("✓", "wb-ok"), False: Cell("✗ wrong", "wb-bad"), None: ""}[run.verified]
    return (
        f"#{run.number}",
        clock(run.seconds),
        shape_text(run.shape),
        run.device,
        _outcome(run),
        badge(run.time) if run.time is not None else run.kind,
        verified,
        f"{run.revision}{' *' if run.modified else ''}",
        ", ".join(run.baselines),
    )


def _outcome(run: RecordedRun) -> Any:
    if run.finding_count is not None:
        first = run.findings[0].message if run.findings else ""
        return Cell(run.outcome, "wb-bad" if run.finding_count else "wb-ok", first)
    return number(run.time.value, ",.4g") if run.time is not None else Cell("failed", "wb-bad", run.error)


@shows(Changes)
def changes_html(changes: Changes) -> Markup:
    """The verdict, then facts, source, machine code and counters, each where it differs."""
    head = Markup("{} → {}: {}").format(changes.before, changes.after, bold(changes.verdict))
    parts: list[Any] = [tag("div", head)]
    rows = [("time", *map(_time, changes.times))]
    rows += [(name, old or "unknown", new or "unknown") for name, old, new in changes.facts]
    parts.append(Table(("", "before", "after"), rows))
    if changes.source:
        parts.append(details("source", _lines(changes.source), opened=True))
    parts += [_code(change) for change in changes.codes]
    if changes.counters:
        parts.append(
            details(
                f"counters: {len(changes.counters)} differ",
                Table(
                    ("counter", "before", "after", "times", "unit"),
                    [
                        (
                            c.name,
                            c.before,
                            c.after,
                            f"{c.ratio:.3g}" if c.ratio is not None else "new",
                            c.unit,
                        )
                        for c in changes.counters
                    ],
                ),
                opened=True,
            )
        )
    parts += [tag("div", text, kind="wb-dim") for text in changes.unknown]
    return block(*parts)


def _time(figure: Figure | None) -> Any:
    return Markup("{} us {}").format(f"{figure.value:.4g}", badge(figure)) if figure is not None else "none"


def _code(change: CodeChange) -> Markup:
    title = Markup("{}: {} instructions new, {} gone, {} only in other registers").format(
        code(change.kernel), change.added, change.removed, change.renamed
    )
    parts: list[Any] = []
    if change.resources:
        parts.append(Table(("", "before", "after"), change.resources))
    if change.added or change.removed:
        parts.append(_lines(change.lines))
    return details(title, *parts, opened=bool(change.resources))


def _lines(lines: Sequence[Line]) -> Markup:
    return tag(
        "pre",
        *(tag("span", _SIGN[line.edit], line.text, kind=f"wb-{line.edit}") for line in lines),
        NOTHING,
        kind="wb-diff",
    )
