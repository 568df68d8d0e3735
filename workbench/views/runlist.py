"""The list of runs, by kernel and session, with the baselines; its page is in runlist.js."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from workbench.operators import shape_text
from workbench.runtime.findings import findings_text
from workbench.views.board import Board, Run, Sanitized
from workbench.views.history import clock

OF_A_SESSION = 50
"""Runs of a kernel and session that are listed, the latest."""


def run_list() -> Any:
    """The widget, empty; `write` fills it."""
    return _list_class()()


def write(widget: Any, board: Board) -> None:
    """Lists what a board knows; only what is different from before is sent."""
    encoded = json.dumps(content_of(board))
    if widget.runs != encoded:
        widget.runs = encoded


def listen(widget: Any, does: Mapping[str, Callable[[Mapping[str, Any]], None]]) -> None:
    """Calls the function registered under an action's name when a person does it in the list."""

    def heard(_: Any, message: Mapping[str, Any], __: Any) -> None:
        if message.get("do") in does:
            does[message["do"]](message)
            # The page already shows the expected state.
            widget.send({"type": "done"})

    widget.on_msg(heard)


def content_of(board: Board) -> dict[str, Any]:
    """The page's data: kernels, the latest first, each with its sessions and their runs."""
    runs: list[Run | Sanitized] = [*board.past, *board.runs, *board.sanitized]
    # This session's are the last, whatever numbers others got in the meantime.
    runs.sort(key=lambda run: (not run.session, run.number))
    by_kernel: dict[str, dict[float, list[Run | Sanitized]]] = {}
    for run in reversed(runs):
        by_kernel.setdefault(run.name, {}).setdefault(run.session, []).append(run)
    current, pinned, baselines = board.shown, board.pinned, board.baselines
    names: dict[int, list[str]] = {}
    for baseline in baselines:
        names.setdefault(baseline.run.number, []).append(baseline.name)
    return {
        "kernels": [
            {
                "name": kernel,
                "sessions": [
                    {
                        "label": f"session of {clock(session)}" if session else "this session",
                        "count": len(entries),
                        "runs": [
                            _row(run, board, names.get(run.number, ())) for run in entries[:OF_A_SESSION]
                        ],
                    }
                    for session, entries in sessions.items()
                ],
            }
            for kernel, sessions in by_kernel.items()
        ],
        "failed": [
            {"number": f.number, "text": f"{f.name}, {f.kind}: {f.text}", "when": clock(f.seconds)}
            for f in board.failures[-5:]
        ],
        "baselines": [
            {"name": baseline.name, "text": f"{baseline.name}: {baseline.run.time.value:.4g} us"}
            for baseline in baselines
        ],
        "none": _none(board.launches),
        "shown": current.number if current is not None else 0,
        "compared": pinned.name if pinned is not None else "",
    }


def _none(launches: int) -> str:
    """The sentence in place of an empty list."""
    if not launches:
        return "nothing was timed, profiled or sanitized yet"
    count = f"{launches} launch{'' if launches == 1 else 'es'}"
    return (
        f"{count} in this session, none timed, profiled or sanitized: --time, --profile or --sanitize of a "
        "cell does, or wb.profile"
    )


def _row(run: Run | Sanitized, board: Board, names: Any) -> dict[str, Any]:
    if isinstance(run, Sanitized):
        return {
            "number": run.number,
            "when": clock(run.seconds),
            "shape": shape_text(run.shape),
            "device": run.device,
            "findings": run.findings,
            "text": findings_text(run.findings),
            "hint": run.first,
            "names": [],
        }
    return {
        "number": run.number,
        "when": clock(run.seconds),
        "shape": shape_text(run.timing.shape),
        "device": run.timing.device,
        "us": f"{run.time.value:.4g}",
        "origin": str(run.time.origin),
        "hint": run.time.provenance,
        "verified": run.verified,
        "stale": board.stale(run),
        "names": list(names),
    }


@cache
def _list_class() -> Any:
    import anywidget
    import traitlets

    files = resources.files("workbench.views")

    class RunList(anywidget.AnyWidget):
        _esm = files.joinpath("runlist.js").read_text()
        _css = files.joinpath("runlist.css").read_text()
        runs = traitlets.Unicode("").tag(sync=True)

    return RunList
