"""Opens a notebook's kernel to the JupyterLab extension, and closes it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.history import recorder
from workbench.lab import comm, completer, inspector, warm

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from workbench.lab.service import ReadCell


def load(shell: InteractiveShell, read: ReadCell | None = None) -> None:
    """Opens the comm, adds completion and Shift+Tab in C++ cells, and imports in advance what cells will
    need.

    Harmless without the extension, and outside notebooks.

    Args:
        shell: shell of the notebook.
        read: returns a cell's C++ text and its compile options; without it there are no diagnostics while
            typing.
    """
    # Runs in plain IPython too: experiments there are worth recording as well.
    recorder.start()
    comm.register(shell, read)
    completer.install(shell)
    inspector.install(shell)
    warm.start(shell)


def unload(shell: InteractiveShell) -> None:
    """Removes comm and completion again."""
    recorder.stop()
    comm.unregister(shell)
    completer.remove(shell)
    inspector.remove(shell)
