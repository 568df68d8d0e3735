"""The dashboard of the extension's panel: one a kernel, kept through page reloads, ended with the panel."""

from __future__ import annotations

from workbench.views import Dashboard, dashboard

_open: Dashboard | None = None


def show() -> None:
    """Displays the dashboard, without the copy of it that a notebook keeps."""
    global _open
    from IPython.display import display

    if _open is None:
        _open = dashboard()
    else:
        _open.refresh()
    display(_open.box)  # type: ignore[no-untyped-call]


def close() -> None:
    """Ends it, with all its widgets."""
    global _open
    shown, _open = _open, None
    if shown is not None:
        shown.close()
