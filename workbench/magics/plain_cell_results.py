"""The editor's data for plain cells with Triton kernels; `magics.plain_cells` requests it after each cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.check.sanitizer import SanitizeResult
from workbench.errors import KernelFault
from workbench.kernel import Kernel, Kernels
from workbench.lab import plain_cell_kernels
from workbench.magics.presenter import show_beside, show_fault
from workbench.profile.results import ProfileResult
from workbench.views.cell import CellResult

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult


def show(body: str, kernels: Sequence[Kernel], result: ExecutionResult) -> None:
    """Displays a cell's data for the editor: its fault, or its last line's results for its kernels.

    Args:
        body: the cell without its first line.
        kernels: the cell's kernels, which it launched.
    """
    fault = result.error_in_exec
    name = kernels[0].name
    if isinstance(fault, KernelFault):
        source_file = Path(fault.source[0]).name if fault.source is not None else None
        if source_file in {kernel.module.own_file for kernel in kernels}:
            show_fault(fault.kernel or name, body, fault, source_file)
        return
    value: Any = result.result
    names = {kernel.name for kernel in kernels}
    codes = {kernel.module.digest for kernel in kernels}
    results = [
        entry
        for entry in (value if isinstance(value, (list, tuple)) else (value,))
        if (isinstance(entry, ProfileResult) and entry.code in codes)
        or (isinstance(entry, SanitizeResult) and entry.name in names)
    ]
    last = kernels[0].last
    if not results or last is None:
        return
    held = plain_cell_kernels.KERNELS[name] = Kernels(name, list(kernels))
    show_beside(CellResult(name, held, last.device, results=results), body)
