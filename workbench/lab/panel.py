"""The dashboard of the extension's panel: one per kernel; survives page reloads, ends with the panel."""

from __future__ import annotations

from workbench.events import hub
from workbench.views.live import Dashboard, dashboard
from workbench.views.waves import waves_widget
from workbench.views.what_if import WhatIf

_open: Dashboard | None = None


def show() -> None:
    """Displays the dashboard, without the copy that a notebook stores."""
    global _open
    from IPython.display import display

    if _open is None:
        _open = dashboard()
    else:
        _open.refresh()
    display(_open.box)  # type: ignore[no-untyped-call]


def timeline(kernel: str) -> None:
    """Displays the timeline of the latest profile of a kernel that still has one, and sliders of what-if."""
    from IPython.display import display

    for event in reversed(hub.history("profile")):
        profiled = event.data.kernel
        line = event.data.timeline if profiled is not None and profiled.name == kernel else None
        if line is not None:
            sliders = WhatIf()
            sliders.put(event.data)
            display(waves_widget([line]), sliders.box)  # type: ignore[no-untyped-call]
            return
    print(f"There is no profile of {kernel}: profile the cell (wb.profile, or --profile), then try again.")


def close() -> None:
    """Ends the dashboard, with all its widgets."""
    global _open
    dashboard, _open = _open, None
    if dashboard is not None:
        dashboard.close()
