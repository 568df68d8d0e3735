"""One figure of the dashboard with its table, and the look that all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from workbench.origin import Figure, Origin
from workbench.profile.metrics import NOT_COLLECTED, NOTHING
from workbench.theme import GREY, INK, RIGHT
from workbench.views.badge import badges, legend_height, marker, style
from workbench.views.markup import block, details, tag
from workbench.views.table import Cell, Table

FAILED = "#c0392b"
"""Of what failed, as in the tables."""

HEIGHT = 300
"""Pixels of a figure; room for a legend comes on top."""

BAR = 9
"""Pixels of a bar, at least."""

TABLE_ROWS = 50
"""Rows of a table that are shown; the figure has all."""


@dataclass(frozen=True)
class View:
    """One figure of the dashboard.

    Attributes:
        key: short name, stable.
        title: as shown above it.
        figure: a plotly Figure.
        head, rows: the table under it; None is what was not collected, `NOTHING` a rate of nothing.
        origins: of the data.
        lasts: whether it is never stale (`Card.lasts`).
    """

    key: str
    title: str
    figure: Any = field(repr=False)
    head: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(repr=False)
    origins: Sequence[Origin]
    lasts: bool = False

    @property
    def table(self) -> Markup:
        """The data as HTML."""
        parts: list[Any] = [Table(self.head, ([_cell(c) for c in row] for row in self.rows[-TABLE_ROWS:]))]
        if len(self.rows) > TABLE_ROWS:
            parts.insert(0, tag("div", f"the last {TABLE_ROWS} of {len(self.rows)} rows", kind="wb-dim"))
        title = Markup("{}: data {}").format(self.title, badges(self.origins))
        return block(details(title, *parts))


def _cell(value: Any) -> Any:
    return Cell(value or NOT_COLLECTED, "wb-dim") if value in (None, NOT_COLLECTED, NOTHING) else value


def difference(new: float | None, old: float | None) -> str:
    """Change from the baseline in words: "+12.5%", "same", or "" where one is missing."""
    if new is None or old is None:
        return ""
    if new == old:
        return "same"
    return f"{(new - old) / abs(old):+.1%}" if old else "new"


def finish(
    figure: Any,
    title: str,
    key: str,
    origins: Sequence[Figure | Origin],
    head: Sequence[str],
    rows: Sequence[Any],
) -> View:
    """Gives a figure the dashboard's look and its table."""
    style(figure, origins, title)
    shown = list(dict.fromkeys(each.origin if isinstance(each, Figure) else each for each in origins))
    figure.update_layout(
        height=HEIGHT + legend_height(figure) + _rows_height(figure),
        margin={"l": 10, "r": RIGHT, "b": 40 + legend_height(figure)},
        legend={"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        barmode="group",
        bargroupgap=0.1,
        # Plotly keeps a reader's zoom through updates.
        uirevision=key,
    )
    figure.update_xaxes(automargin=True, title_standoff=4)
    figure.update_yaxes(automargin=True)
    if not figure.data:
        figure.add_annotation(
            text="nothing to show yet", xref="paper", yref="paper", x=0.5, y=0.5, showarrow=False
        )
        figure.update_xaxes(visible=False)
        figure.update_yaxes(visible=False)
    return View(key, title, figure, head, rows, shown)


def _rows_height(figure: Any) -> int:
    """Pixels that many horizontal bars take more than a few, those of the baseline among them."""
    bars = [len(trace.y) for trace in figure.data if trace.type == "bar" and trace.orientation == "h"]
    return max(0, BAR * sum(bars) - 150)


def room(text: Sequence[str]) -> float:
    """By how much an axis is longer than its longest bar, so that the value beside that has room too."""
    return 1 + 0.022 * max(map(len, text), default=0)


def bars(
    figure: Any,
    names: Sequence[str],
    values: Sequence[float | None],
    base: Sequence[float | None] | None,
    *,
    hue: str,
    origins: Sequence[Origin],
    text: Sequence[str],
    unit: str,
) -> None:
    """Adds horizontal bars from above, those of the baseline in grey beside them.

    Args:
        hue: of the kernel.
        origins: of each bar's value.
    """
    import plotly.graph_objects as go

    order = range(len(names) - 1, -1, -1)
    if base is not None:
        figure.add_trace(
            go.Bar(
                name="baseline",
                orientation="h",
                y=[names[i] for i in order],
                x=[base[i] for i in order],
                marker_color=GREY,
                hovertemplate="%{y}: %{x:.4g} " + unit + "<extra>baseline</extra>",
            )
        )
    figure.add_trace(
        go.Bar(
            name="shown",
            orientation="h",
            y=[names[i] for i in order],
            x=[values[i] for i in order],
            marker=marker(hue, [origins[i] for i in order]),
            text=[text[i] for i in order],
            textposition="outside",
            textfont={"size": 11, "color": INK},
            cliponaxis=False,
            constraintext="none",
            hovertemplate="%{y}: %{x:.4g} " + unit + "<extra></extra>",
        )
    )
    figure.update_layout(showlegend=base is not None)
    top = max([value for value in (*values, *(base or ())) if value is not None], default=0.0)
    figure.update_xaxes(range=[0, top * room(text) or 1])
