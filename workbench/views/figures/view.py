"""One figure of the dashboard with its table, and the look that all of them share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from markupsafe import Markup

from workbench.origin import Figure, Origin
from workbench.profile.metrics import NOT_COLLECTED, NOTHING
from workbench.theme import GREY, INK, RIGHT
from workbench.views.badge import badges, dressed, legend_height, marker
from workbench.views.markup import block, details, tag
from workbench.views.table import Cell, Table

FAILED = "#c0392b"
"""Colour of failures, as in the tables."""

HEIGHT = 300
"""Pixels of a figure; a legend is added to that."""

BAR = 9
"""Minimum pixels of a bar."""

NOTHING_YET = "nothing to show yet"

TABLE_ROWS = 50
"""Number of rows of a table to show; the figure has all."""


@dataclass(frozen=True)
class View:
    """One figure of the dashboard.

    Attributes:
        key: short, stable name.
        title: title above the figure.
        tree: the plotly figure as a plain tree, which is all that a page needs.
        head, rows: the table below the figure; None marks a value that was not collected, `NOTHING` a rate
            without a denominator.
        origins: origins of the data.
        lasts: True if it is never stale (`Card.lasts`).
    """

    key: str
    title: str
    tree: Mapping[str, Any] = field(repr=False)
    head: Sequence[str]
    rows: Sequence[Sequence[Any]] = field(repr=False)
    origins: Sequence[Origin]
    lasts: bool = False

    @cached_property
    def figure(self) -> Any:
        """A plotly Figure, built on demand because that takes longer than everything else here."""
        import plotly.graph_objects as go

        return go.Figure(self.tree)

    @cached_property
    def json(self) -> str:
        """The figure in the form for a page."""
        from plotly.io.json import to_json_plotly

        return str(to_json_plotly(self.tree))

    @property
    def is_empty(self) -> bool:
        """True while there is no data to show."""
        return not self.tree["data"]

    @property
    def sentence(self) -> str:
        """A sentence made from the figure's data, for readers who cannot see it."""
        if self.is_empty or not self.rows:
            notes = self.tree["layout"].get("annotations", ())
            why = next((note["text"] for note in notes if note.get("name") == "nothing"), NOTHING_YET)
            return f"{self.title}: {why}"
        rows = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        count = f"{rows} of {', '.join(filter(None, self.head))}"
        column = self._numbers()
        if column is None:
            return f"{self.title}: {count}"
        numbered = [(row[column], row) for row in self.rows if _is_number(row[column])]
        (low, at_low), (high, at_high) = min(numbered, key=_first), max(numbered, key=_first)
        named = [f"{value:,.4g} ({_named(row, column)})" for value, row in ((low, at_low), (high, at_high))]
        span = f"{named[0]} to {named[1]}" if low != high else f"{low:,.4g} throughout"
        return f"{self.title}: {count}; {self.head[column] or 'value'} from {span}"

    def _numbers(self) -> int | None:
        """The first column of numbers other than numbers of runs; None if there is none."""
        columns = (n for n, name in enumerate(self.head) if name != "run")
        return next((n for n in columns if any(_is_number(row[n]) for row in self.rows)), None)

    @property
    def table(self) -> Markup:
        """The data as HTML."""
        parts: list[Any] = [Table(self.head, ([_cell(c) for c in row] for row in self.rows[-TABLE_ROWS:]))]
        if len(self.rows) > TABLE_ROWS:
            parts.insert(0, tag("div", f"the last {TABLE_ROWS} of {len(self.rows)} rows", kind="wb-dim"))
        title = Markup("{}: data {}").format(self.title, badges(self.origins))
        return block(details(title, *parts))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _named(row: Sequence[Any], column: int) -> str:
    """A row's name: its first text, or its first value."""
    texts = [value for n, value in enumerate(row) if n != column and isinstance(value, str) and value]
    return texts[0] if texts else str(row[0])


def _cell(value: Any) -> Any:
    return Cell(value or NOT_COLLECTED, "wb-dim") if value in (None, NOT_COLLECTED, NOTHING) else value


def difference(new: float | None, old: float | None) -> str:
    """Change from the baseline in words: "+12.5%", "same", or "" if one is missing."""
    if new is None or old is None:
        return ""
    if new == old:
        return "same"
    return f"{(new - old) / abs(old):+.1%}" if old else "new"


def ratio(percent: float) -> str:
    """A ratio that is usually below 1: "12.5 %", or "15.5 ×" from 100 % on, which reads better."""
    return f"{percent:.3g} %" if percent < 100 else f"{percent / 100:.3g} ×"


def finish(
    figure: Any,
    title: str,
    key: str,
    origins: Sequence[Figure | Origin],
    head: Sequence[str],
    rows: Sequence[Any],
    layout: Mapping[str, Any] | None = None,
    *,
    nothing: str = NOTHING_YET,
) -> View:
    """Gives a figure the dashboard's look and its table.

    Args:
        layout: attributes that override the dashboard's look.
        nothing: text instead of missing data.
    """
    badge_origins = list(
        dict.fromkeys(source.origin if isinstance(source, Figure) else source for source in origins)
    )
    below = legend_height(figure)
    layout_tree = dressed(figure, origins, title)
    defaults = {
        "height": HEIGHT + below + _rows_height(figure),
        "margin": {"l": 10, "r": RIGHT, "b": 40 + below},
        "legend": {"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        "barmode": "group",
        "bargroupgap": 0.1,
        # Plotly keeps a reader's zoom through updates.
        "uirevision": key,
    }
    axes = dict.fromkeys(["xaxis", "yaxis", *(name for name in layout_tree if name[1:5] == "axis")])
    for name in axes:
        defaults[name] = {"automargin": True, **({"title": {"standoff": 4}} if name[0] == "x" else {})}
    layout_tree = over(layout_tree, defaults)
    if not figure.data:
        layout_tree["annotations"].append(
            {
                "text": nothing,
                "name": "nothing",
                "xref": "paper",
                "yref": "paper",
                "x": 0.5,
                "y": 0.5,
                "showarrow": False,
            }
        )
        layout_tree = over(layout_tree, {name: {"visible": False} for name in axes})
    traces = [trace.to_plotly_json() for trace in figure.data]
    return View(
        key, title, {"data": traces, "layout": over(layout_tree, layout or {})}, head, rows, badge_origins
    )


def over(under: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merges a tree into another: dicts are merged recursively, any other entry is replaced."""
    merged = {
        name: over(under[name], value)
        if isinstance(value, Mapping) and isinstance(under.get(name), Mapping)
        else value
        for name, value in above.items()
    }
    return {**under, **merged}


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
    """Adds horizontal bars in order from the top, with the baseline's in grey next to them.

    Args:
        hue: colour of the kernel's bars.
        origins: origin of each bar's value.
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
