"""The JupyterLab extension: Python provides facts (`payload`, `comm`, `index`), TypeScript shows them.

Everything here is optional: in a front end without the extension the magics show the same results as HTML.
"""

from __future__ import annotations

EXTENSION = "hipkittens-workbench"


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Tells `jupyter labextension develop` where the built front end is."""
    return [{"src": "labextension", "dest": EXTENSION}]
