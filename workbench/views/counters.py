"""Figure of a profile: instructions by class, and the modelled time by unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.origin import Origin
from workbench.views.badge import COLOURS, style
from workbench.views.timing import breakdown_bars

if TYPE_CHECKING:
    from workbench.profile.profiler import ProfileResult

SHOWN = (
    "SQ_INSTS_VALU",
    "SQ_INSTS_MFMA",
    "SQ_INSTS_SALU",
    "SQ_INSTS_SMEM",
    "SQ_INSTS_LDS",
    "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR",
    "SQ_INSTS_BRANCH",
    "SQ_LDS_BANK_CONFLICT",
)
"""Counters drawn as bars; the table of the profile has all."""


def counters_figure(result: ProfileResult) -> Any:
    """Counters, on a logarithmic scale, above the modelled time by unit. A plotly Figure.

    One below the other: beside each other they have no room in a notebook that shares the page.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    origin = Origin.COUNTED if result.model is not None else Origin.MEASURED
    figure = make_subplots(
        cols=1,
        rows=2,
        vertical_spacing=0.16,
        row_heights=(len(SHOWN), 10),
    )
    names = [name for name in reversed(SHOWN) if name in result.counters]
    values = [result.counters[name].value for name in names]
    figure.add_trace(
        go.Bar(
            x=values,
            y=names,
            orientation="h",
            marker_color=COLOURS[origin],
            text=[f"{v:,.0f}" for v in values],
            hovertemplate="%{y}: %{x:,}<extra></extra>",
            showlegend=False,
        ),
        row=1,
        col=1,
    )
    units, busy = breakdown_bars(result.timing)
    figure.add_trace(
        go.Bar(
            x=busy,
            y=units,
            orientation="h",
            marker_color=COLOURS[Origin.MODELLED],
            hovertemplate="%{y}: %{x:.4g} us<extra>modelled</extra>",
            showlegend=False,
        ),
        row=2,
        col=1,
    )
    figure.update_xaxes(type="log", title=f"{origin}", row=1, col=1)
    figure.update_xaxes(title="busy, us (modelled)", row=2, col=1)
    figure.update_xaxes(title_standoff=4)
    figure.update_yaxes(automargin=True)
    title = f"{result.name} on {result.device}"
    figure = style(figure, [origin, Origin.MODELLED] if result.model is not None else [origin], title)
    figure.update_layout(height=520, margin={"l": 10, "r": 30, "t": 64, "b": 44})
    return figure
