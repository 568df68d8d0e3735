"""Opens a notebook's kernel to the JupyterLab extension, and closes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.history import recorder
from workbench.lab import comm, completer, inspector, warm

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.lab.service import ReadCell


def load(shell: InteractiveShell, read: ReadCell | None = None) -> None:
    """Opens the comm, adds completion and Shift+Tab in C++ cells, imports ahead of time what cells will need.

    Harmless where there is no extension, and where there is no notebook at all.

    Args:
        shell: of the notebook.
        read: a cell's text as C++ and how it is compiled; without it nothing is found while one types.
    """
    # Runs in plain IPython too: experiments there are worth recording as well.
    recorder.start()
    comm.register(shell, read)
    completer.install(shell)
    inspector.install(shell)
    warm.start(shell)


def unload(shell: InteractiveShell) -> None:
    """Takes comm and completion away again."""
    recorder.stop()
    comm.unregister(shell)
    completer.remove(shell)
    inspector.remove(shell)
