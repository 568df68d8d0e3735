"""The badge of an origin, such as "measured" or "modelled", beside every figure, in tables and plots."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from workbench import theme
from workbench.origin import Expected, Figure, Origin
from workbench.views.markup import classed, figure_text

COLOURS: Mapping[Origin, str] = {
    Origin.MEASURED: "#1a7f4b",
    Origin.COUNTED: "#2563b0",
    Origin.EMULATED: "#8a3b12",
    Origin.MODELLED: "#b45f06",
    Origin.PUBLISHED: "#6b5b95",
}
"""One colour per origin, used only for its badge; white text on it is readable."""

PATTERNS: Mapping[Origin, str] = {
    Origin.MEASURED: "",
    Origin.COUNTED: "",
    Origin.EMULATED: "x",
    Origin.MODELLED: "/",
    Origin.PUBLISHED: ".",
}
"""Fill pattern of bars by origin; the hue distinguishes kernels, series or parts."""

TITLE_CHARACTERS = 58
"""Characters in a title's line, as many as fit a figure of 500 pixels."""

SCALE = 66
"""Pixels of a colour scale with its numbers and its title."""

HEIGHT = 420
"""Pixels of a figure that does not set its own; a legend is added to that."""

LEGEND_WIDTH, LEGEND_ROW = 380, 20
"""Pixels that a legend has in the narrowest figure, and of a row of it."""

LINE, ROW, ABOVE = 19, 27, 14
"""Pixels of a line of the title, of the badges under it, and above it."""

ERRORS = "../docs/model_error.md"
"""Page about errors of modelled times, relative to the notebooks: JupyterLab opens it beside them."""

MEANINGS: Mapping[Origin, str] = {
    Origin.MEASURED: "read from a clock or a hardware counter",
    Origin.COUNTED: "counted exactly by the emulated device",
    Origin.EMULATED: "read from the clock of software that plays a GPU; no GPU's speed",
    Origin.MODELLED: "computed from a machine model; never seen on hardware",
    Origin.PUBLISHED: "taken from a publication",
}


def badge(of: Figure | Origin, *, brief: bool = False) -> Markup:
    """The badge as HTML; its tool tip says what the origin means, and a figure's source.

    A modelled figure's badge is followed by its expected error, unless `brief` says that the error is nearby.
    An unknown error is written once per page, by `unknown`; here only the tool tip mentions it.
    """
    origin = of.origin if isinstance(of, Figure) else of
    tip = MEANINGS[origin]
    if isinstance(of, Figure) and of.source:
        tip += f": {of.source}"
    if isinstance(of, Figure) and of.error is not None and not of.error.rows:
        tip += f"; {of.error.text}"
    look = classed("wb-badge", f"background:{COLOURS[origin]}")
    markup = Markup('<span{} title="{}">{}</span>').format(look, tip, str(origin))
    if isinstance(of, Figure) and of.error is not None and of.error.rows and not brief:
        look = classed("wb-dim")
        markup += Markup(' <span{} title="{}">{}</span>').format(look, of.error.text, of.error.short)
    return markup


def unknown(of: Iterable[Figure | None]) -> Markup:
    """A link to the page on errors if the error of a modelled figure is unknown, or nothing."""
    errors = [figure.error for figure in of if figure is not None and figure.error is not None]
    if all(error.rows for error in errors):
        return Markup("")
    never = next(error for error in errors if not error.rows)
    look = classed("wb-dim")
    return Markup('<a{} href="{}" title="{}">{}</a>').format(look, ERRORS, never.text, never.short)


def badges(of: Iterable[Figure | Origin]) -> Markup:
    """One badge for each different origin."""
    origins = dict.fromkeys(f.origin if isinstance(f, Figure) else f for f in of)
    return Markup(" ").join(badge(origin) for origin in origins)


def marker(hue: str | Sequence[str], origins: Sequence[Origin]) -> dict[str, Any]:
    """Look of bars: the hue stands for the series, the pattern for the origin."""
    shapes = [PATTERNS[origin] for origin in origins]
    if not any(shapes):
        return {"color": hue}
    # Plotly validates each entry of a sequence, so equal ones are passed once.
    shape = shapes[0] if len(set(shapes)) == 1 else shapes
    pattern = {"shape": shape, "fillmode": "overlay", "size": 6, "solidity": 0.2}
    return {"color": hue, "pattern": {**pattern, "fgcolor": "#ffffff", "fgopacity": 0.45}}


def legend_height(figure: Any) -> int:
    """Pixels that the legend takes below a narrow figure."""
    show_legend = figure.layout.showlegend
    named = [trace.name or "" for trace in figure.data if trace.showlegend is not False]
    if show_legend is False or (show_legend is None and len(named) < 2):
        return 0
    # Plotly puts entries of several rows into columns as wide as the widest.
    columns = max(1, LEGEND_WIDTH // (44 + 7 * max(map(len, named), default=0)))
    return LEGEND_ROW * -(-len(named) // columns)


def _scale_width(figure: Any) -> int:
    """Pixels of a colour scale: it is beside the tool bar, not under it."""
    has_scale = any(
        trace.type in ("heatmap", "contour") and trace.showscale is not False for trace in figure.data
    )
    return SCALE if has_scale else 0


def errors_text(errors: Sequence[Expected]) -> str:
    """Several expected errors in one line that fits a narrow figure."""
    if len(errors) == 1:
        return errors[0].short
    medians = sorted(error.median for error in errors if error.rows)
    span = (
        " to ".join(dict.fromkeys(f"{median:.0%}" for median in (medians[0], medians[-1]))) if medians else ""
    )
    parts = [f"typically {span} off"] if medians else []
    return ", ".join([*parts, *(["some never compared"] if len(medians) < len(errors) else [])])


def style(figure: Any, origins: Iterable[Figure | Origin], title: str, *, below: int = 0) -> Any:
    """Gives a plotly figure its title, its badges below it on the right, and the common look.

    Below the title of a figure with modelled times, left of the badges, is their expected error.

    Args:
        below: pixels to leave between the badges and the axes, such as for titles of parts.
    """
    # In one update: each of plotly's own validates and copies the whole layout.
    figure.layout = dressed(figure, origins, title, below=below)
    return figure


def dressed(figure: Any, origins: Iterable[Figure | Origin], title: str, *, below: int = 0) -> dict[str, Any]:
    """The figure's layout, as a plain tree, with the additions of `style`."""
    lines = textwrap.wrap(title, TITLE_CHARACTERS, break_long_words=False)
    sources = list(origins)
    badge_origins = list(
        dict.fromkeys(source.origin if isinstance(source, Figure) else source for source in sources)
    )
    errors = dict.fromkeys(source.error for source in sources if isinstance(source, Figure) and source.error)
    if not any(error.rows for error in errors):
        errors = {}  # The text that an error is unknown appears once beside the table or the verdict.
    layout: dict[str, Any] = figure.layout.to_plotly_json()
    pad = {"t": theme.PAD_SEVERAL if len(lines) > 1 else theme.PAD, "l": 10}
    layout.setdefault("height", HEIGHT + legend_height(figure))
    layout["template"] = theme.tree()
    layout["title"] = {"text": "<br>".join(map(figure_text, lines)), **theme.TITLE, "pad": pad}
    layout["margin"] = {
        **layout.get("margin", {}),
        "t": ABOVE + LINE * max(1, len(lines)) + ROW + below,
        "r": theme.RIGHT + _scale_width(figure),
    }
    layout["annotations"] = [*layout.get("annotations", ()), *_notes(badge_origins, list(errors), below)]
    return layout


def _notes(origins: Sequence[Origin], errors: Sequence[Expected], below: int) -> list[dict[str, Any]]:
    """Annotations under a title: expected errors of modelled times, and the badges."""
    above = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False}
    above["yshift"] = 6 + below
    # Beside a sidebar a figure has 340 pixels. The badge says that times are modelled, the tool tip all else.
    tip_lines = (line for error in errors for line in textwrap.wrap(error.text, TITLE_CHARACTERS))
    tip = "<br>".join(map(figure_text, tip_lines))
    error = {"name": "error", "x": 0, "xanchor": "left", "font": {"size": 11}, "hovertext": tip, **above}
    notes = [{"text": errors_text(errors), **error}] if errors else []
    for i, origin in enumerate(reversed(origins)):
        look = {"font": {"color": "white", "size": 11}, "bgcolor": COLOURS[origin], "borderpad": 2}
        place = {"x": 1, "xanchor": "right", "xshift": -72 * i, **above}
        label = {"text": str(origin), "name": "origin", "hovertext": MEANINGS[origin]}
        notes.append({**label, **place, **look})
    return notes
