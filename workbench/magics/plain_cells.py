"""Plain Python cells with kernels of Triton or FlyDSL: the last result is marked, as `%%triton` does.

A cell that defines a kernel, launches it and ends with `wb.profile(...)` has heat, and machine code linked
with its lines; one that ends with `wb.sanitize(...)`, or with a fault, has squiggles. A fault of another
cell's kernel has one in that cell.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import KernelFault

if TYPE_CHECKING:
    from IPython.core.interactiveshell import ExecutionResult, InteractiveShell


class PlainCells:
    """Inspects each cell after it has run.

    Args:
        shell: shell that runs the cells.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell = shell

    def load(self) -> None:
        self._shell.events.register("post_run_cell", self._after)

    def unload(self) -> None:
        self._shell.events.unregister("post_run_cell", self._after)

    def _after(self, result: ExecutionResult) -> None:
        fault = result.error_in_exec
        if isinstance(fault, KernelFault):
            from workbench.magics import marks

            marks.mark_fault(fault)
        by_file = sys.modules.get("workbench.kernel.by_file")
        cell = result.info.raw_cell if result.info is not None else ""
        # IPython strips empty lines at the start, so a magic does not get the whole cell.
        if by_file is None or not cell or cell[0].isspace() or cell.startswith("%%"):
            return
        text = self._shell.transform_cell(cell)  # type: ignore[no-untyped-call]
        name = self._shell.compile.get_code_name(cell, text, result.execution_count or 0)
        kernels = list(by_file.kernels_of(Path(name).name).values())
        if kernels:
            from workbench.magics import plain_cell_results

            plain_cell_results.show(cell.partition("\n")[2], kernels, result)
