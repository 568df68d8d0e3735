"""IPython magics: `%%hipkittens` compiles a cell, `%%triton` runs one, `%hipkittens` answers questions.

They are thin on purpose: everything that they do is a function of `workbench` that works without IPython.
"""

from __future__ import annotations

import sys
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.lab import extension
from workbench.magics.cell import CELL_HELP, hipkittens_cell, written
from workbench.magics.plain_cells import PlainCells
from workbench.magics.questions import LINE_HELP, hipkittens_line
from workbench.magics.triton import TRITON_HELP, triton_cell
from workbench.views.renderer import add_pictures

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers the magics."""

    def cell_magic(line: str, cell: str) -> Any:
        return hipkittens_cell(shell, line, cell)

    def line_magic(line: str) -> Any:
        return hipkittens_line(line)

    def triton_magic(line: str, cell: str) -> Any:
        return triton_cell(shell, line, cell)

    cell_magic.__doc__, line_magic.__doc__, triton_magic.__doc__ = CELL_HELP, LINE_HELP, TRITON_HELP
    shell.register_magic_function(cell_magic, "cell", "hipkittens")  # type: ignore[arg-type]
    shell.register_magic_function(line_magic, "line", "hipkittens")  # type: ignore[arg-type]
    shell.register_magic_function(triton_magic, "cell", "triton")  # type: ignore[arg-type]
    add_pictures()
    unload_plain_cells(shell)
    _plain[shell] = PlainCells(shell)
    _plain[shell].load()
    extension.load(shell, partial(written, shell))
    if "google.colab" in sys.modules:
        print(_COLAB)


_COLAB = (
    "Colab is not JupyterLab: magics, figures and tables work; highlighting and completion of C++, findings "
    "under the line, the machine code beside the cell and the sidebar are missing."
)
_plain: weakref.WeakKeyDictionary[InteractiveShell, PlainCells] = weakref.WeakKeyDictionary()


def unload_plain_cells(shell: InteractiveShell) -> None:
    """Ends the observation of plain cells, if it is active."""
    cells = _plain.pop(shell, None)
    if cells is not None:
        cells.unload()


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext workbench`: removes the magics."""
    for kind, name in (("cell", "hipkittens"), ("line", "hipkittens"), ("cell", "triton")):
        shell.magics_manager.magics[kind].pop(name, None)
    unload_plain_cells(shell)
    extension.unload(shell)
