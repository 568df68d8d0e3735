"""The JupyterLab extension: Python hands it facts (`payload`, `comm`, `index`), TypeScript shows them.

Everything here is optional: in a front end without the extension the magics show the same results as HTML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

EXTENSION = "hipkittens-workbench"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tells `jupyter labextension develop` where the built front end is."""
    return [{"src": "labextension", "dest": EXTENSION}]


def load(shell: InteractiveShell) -> None:
    """Opens the notebook's kernel to the extension: its comm, completion in C++ cells, imports ahead of time.

    Harmless where there is no extension, and where there is no notebook at all.
    """
    from workbench.lab import comm, completer, warm

    comm.register(shell)
    completer.install(shell)
    warm.start(shell)


def unload(shell: InteractiveShell) -> None:
    """Takes both away again."""
    from workbench.lab import comm, completer

    comm.unregister(shell)
    completer.remove(shell)
