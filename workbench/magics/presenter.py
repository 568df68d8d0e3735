"""Displays a cell's results: the only connection between results, their views and the editor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from IPython.display import DisplayHandle, display

from workbench.errors import CompileError, KernelFault
from workbench.lab.cell import cell_bundle, failure_bundle
from workbench.magics import marks
from workbench.toolchain import Diagnostic
from workbench.views.cell import CellFailure, CellResult


def show(result: CellResult, cell: str) -> None:
    """Displays a cell's result with its figures."""
    bundle = cell_bundle(result, cell)
    marks.remember(result, bundle, _display(bundle))
    for figure in result.figures():
        display(figure)  # type: ignore[no-untyped-call]


def show_beside(result: CellResult, cell: str) -> None:
    """Displays the editor's data for results that the cell shows itself."""
    bundle = cell_bundle(result, cell)
    bare = replace(result, results=())
    bundle["text/html"], bundle["text/plain"] = bare._repr_html_(), str(bare)
    marks.remember(result, bundle, _display(bundle))


def show_failure(name: str, cell: str, error: CompileError) -> None:
    """Displays that a cell does not compile; the exception shows the message."""
    _display(failure_bundle(CellFailure.of_compilation(name, error), cell))


def show_findings(name: str, cell: str, findings: Sequence[Diagnostic]) -> None:
    """Displays another compiler's diagnostics of a cell; the last one is where it stopped."""
    error = findings[-1].message.partition("\n")[0]
    _display(failure_bundle(CellFailure.of_compiler(name, error, findings), cell))


def show_fault(name: str, cell: str, fault: KernelFault, own_file: str) -> None:
    """Displays that one of the cell's own launches was stopped."""
    _display(failure_bundle(CellFailure.of_fault(name, fault, own_file), cell))


def _display(bundle: dict[str, Any]) -> DisplayHandle | None:
    """Displays a bundle that can be changed later; None if nothing can display."""
    handle: DisplayHandle | None = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
    return handle
