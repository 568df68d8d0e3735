"""The layout explorer's figure: a tile and its memory by lane, with a slider over accesses and phases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from workbench.display import plots
from workbench.errors import UsageError
from workbench.tiles import LayoutResult
from workbench.views.badge import style
from workbench.views.layout.controls import menu, play, slider
from workbench.views.layout.panels import MODES, TEXT_ROWS, Mode, Panel, differs, panels_of
from workbench.views.layout.steps import Step, conflict_text, steps_of
from workbench.views.layout.traces import base, frame, veil
from workbench.views.markup import figure_text

MAX_STEPS = 256
"""Positions of the slider."""

MAX_CELLS = 2_000_000
"""Maximum cells in all positions together, each a byte of the figure.

A longer layout shows the first ones and says so.
"""

CELL, BETWEEN = 13, 88
"""Pixels of a cell, and between two panels."""

NARROW = 32
"""Columns whose numbers half a window shows; a figure with more has a width, and a narrow page scrolls it."""

NUMBERED, PLAIN = 10 * TEXT_ROWS, 480
"""Pixels that the cells of a panel may have with numbers in them, which want ten a row, and without."""


@plots(LayoutResult)
def layout_figure(
    result: LayoutResult, colour: str | None = None, access: int | None = None, phase: int | None = None
) -> Any:
    """The tile above, memory below; menus select the quantity of the colours and the highlighted access and
    phase.

    Args:
        colour: quantity that the colours show first; None for the first that differs between cells.
        access, phase: access and phase to highlight first; None for all.

    Returns:
        a plotly Figure. It needs no Python behind it: the slider and the menu work in an exported page.

    Raises:
        UsageError: there is no such colour, access or phase; the message lists the available ones.
    """
    from plotly.subplots import make_subplots

    panels = panels_of(result)
    limits = [NUMBERED if panel.is_small else PLAIN for panel in panels]
    heights = [
        max(110, min(limit, panel.shape[0] * CELL)) for limit, panel in zip(limits, panels, strict=True)
    ]
    height = sum(heights) + BETWEEN * (len(panels) - 1)
    figure = make_subplots(
        rows=len(panels),
        cols=1,
        row_heights=heights,
        vertical_spacing=BETWEEN / height,
        subplot_titles=[figure_text(panel.title) for panel in panels],
    )
    modes = [mode for mode in MODES if differs(panels[0].grid(mode.value))] or [MODES[-1]]
    mode = next((mode for mode in modes if colour in (None, mode.name)), None)
    if mode is None:
        raise UsageError(f"colour={colour!r}; here there are {', '.join(repr(mode.name) for mode in modes)}")
    steps = steps_of(result)
    cells = sum(panel.shape[0] * panel.shape[1] for panel in panels)
    drawn = steps[: max(2, min(MAX_STEPS, MAX_CELLS // cells))]
    active = next((n for n, step in enumerate(drawn) if (step.access, step.phase) == (access, phase)), None)
    if active is None:
        raise UsageError(
            f"access={access!r}, phase={phase!r}; {result.name} has accesses from 0 to "
            f"{len(result.accesses) - 1}, with the phases that its table shows, and the first "
            f"{len(drawn) - 1} of {len(steps) - 1} positions can be drawn"
        )
    _draw(figure, panels, mode, drawn[active], bool(result.accesses))
    # A title breaks between types, not within one.
    title = re.sub(", (?=[^<(]*[>)])", ",\N{NO-BREAK SPACE}", result.name) + f", {result.arch}"
    if any(a.phases for a in result.accesses):
        title += f": {conflict_text(result.conflicts)}"
    style(figure, [result.origin], title, below=52)
    menus = [menu(panels, modes, modes.index(mode))]
    if len(drawn) > 1:
        figure.frames = [frame(panels, step, str(n), bool(result.accesses)) for n, step in enumerate(drawn)]
        figure.update_layout(sliders=[slider([step.label for step in drawn], active)])
        menus.append(play())
        height += 110
    figure.update_layout(updatemenus=menus, height=height + 150, margin={"b": 60}, showlegend=False)
    columns = max((panel.shape[1] for panel in panels if panel.is_small), default=0)
    if columns > NARROW:
        # Plotly shrinks numbers with their cells, to 3 pixels beside a sidebar.
        margin = figure.layout.margin
        figure.update_layout(width=figure.layout.template.layout.margin.l + columns * CELL + margin.r)
    if len(drawn) < len(steps):
        figure.add_annotation(
            text=f"the slider has the first {len(drawn)} of {len(steps)} positions; .rows has all",
            xref="paper",
            yref="paper",
            x=0,
            y=0,
            yshift=-150,
            xanchor="left",
            showarrow=False,
        )
    return figure


def _draw(figure: Any, panels: Sequence[Panel], mode: Mode, step: Step, lanes_labelled: bool) -> None:
    """Cells, then the veil over them with the lanes' numbers, which a frame replaces."""
    for number, panel in enumerate(panels, 1):
        numbers = number == 1 and not lanes_labelled and panel.is_small
        figure.add_trace(base(panel, mode, number == 1, numbers), row=number, col=1)
    for number, panel in enumerate(panels, 1):
        figure.add_trace(veil(panel, step.rows, lanes_labelled), row=number, col=1)
        top, left = panel.start
        bottom, right = top + panel.shape[0], left + panel.shape[1]
        plain = {"row": number, "col": 1, "showgrid": False, "zeroline": False, "tickformat": "d"}
        figure.update_xaxes(title=panel.x, range=[left - 0.5, right - 0.5], **plain)
        figure.update_yaxes(title=panel.y, range=[bottom - 0.5, top - 0.5], **plain)
