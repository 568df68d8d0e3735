"""IPython magics: `%%hipkittens` compiles a cell, `%hipkittens` answers questions.

Thin on purpose: everything that they do is a function of `workbench` that works without IPython.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.display import add_pictures
from workbench.lab import extension
from workbench.magics.cell import CELL_HELP, hipkittens_cell
from workbench.magics.questions import LINE_HELP, hipkittens_line

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext workbench`: registers both magics."""

    def cell_magic(line: str, cell: str) -> Any:
        return hipkittens_cell(shell, line, cell)

    def line_magic(line: str) -> Any:
        return hipkittens_line(line)

    cell_magic.__doc__, line_magic.__doc__ = CELL_HELP, LINE_HELP
    shell.register_magic_function(cell_magic, "cell", "hipkittens")  # type: ignore[arg-type]
    shell.register_magic_function(line_magic, "line", "hipkittens")  # type: ignore[arg-type]
    add_pictures()
    extension.load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext workbench`: takes the magics away."""
    for kind in ("cell", "line"):
        shell.magics_manager.magics[kind].pop("hipkittens", None)
    extension.unload(shell)
