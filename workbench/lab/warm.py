"""Imports slow modules, and builds the emulated device, while the user writes the first kernel.

PyTorch is needed by the first launch that makes inputs, and jsonschema by plotly's first figure (through
nbformat): its check of URL formats builds a grammar for more than a second. Both are leaves of the import
graph and wait for no package that a cell imports at the same time, so two threads never wait for each other.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from typing import TYPE_CHECKING, Any

from workbench.runtime import build_emulated_later

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

PACKAGES = ("torch", "jsonschema")


def start(shell: InteractiveShell) -> None:
    """Starts in a kernel, the imports once the running cell has ended; does nothing in a terminal."""
    if getattr(shell, "kernel", None) is None:
        return
    # The first kernel needs it, since its compiler is tried on it.
    build_emulated_later()

    def after_cell(*_: Any) -> None:
        shell.events.unregister("post_run_cell", after_cell)
        threading.Thread(target=load, name="workbench-imports", daemon=True).start()

    shell.events.register("post_run_cell", after_cell)


def load() -> None:
    """Imports the packages; a missing one is reported later, by the code that needs it."""
    for name in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
