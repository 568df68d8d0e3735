"""Traces of plotly drawn on matplotlib axes: bars, scatter, heat maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.theme import INK, readable
from workbench.views.picture.axes import Scale, whole
from workbench.views.picture.values import (
    DASHES,
    HATCHES,
    SYMBOLS,
    array,
    at,
    colour,
    colour_map,
    label,
    number,
    plain,
    spread,
)

CELL_TEXTS = 1024
"""Maximum number of cells in a heat map with texts; in larger ones they would be unreadable."""


@dataclass
class Place:
    """Axes that traces are drawn on.

    Attributes:
        axes: matplotlib's Axes.
        x, y: scales of the axes.
        layout: layout of the figure.
        ink: colour of text.
        bars: bar traces on these axes, to be grouped or stacked.
        painted: colours of the cells so far, by the shape of the grid, since heat maps may overlap.
    """

    axes: Any
    x: Scale
    y: Scale
    layout: Mapping[str, Any]
    ink: Any
    bars: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)
    painted: dict[tuple[int, ...], Any] = field(default_factory=dict)


def values_of(trace: Mapping[str, Any], side: str) -> list[Any]:
    """A trace's values along an axis; without values, plotly counts from `x0` by `dx`."""
    if trace.get(side) is not None:
        return array(trace[side])
    z = array(trace.get("z"))
    other = array(trace.get("y" if side == "x" else "x"))
    count = (len(z[0]) if side == "x" else len(z)) if z and hasattr(z[0], "__len__") else len(other)
    start, step = number(trace.get(f"{side}0") or 0), number(trace.get(f"d{side}") or 1)
    return [start + step * n for n in range(count)]


def scatter(place: Place, trace: Mapping[str, Any], default: str) -> None:
    """Lines, markers, texts and error bars."""
    x, y = place.x.places(values_of(trace, "x")), place.y.places(values_of(trace, "y"))
    mode = trace.get("mode") or ("lines+markers" if len(x) < 20 else "lines")
    main = at(trace, "line.color") or at(trace, "marker.color")
    main = main if isinstance(main, str) else default
    if "lines" in mode:
        line = {"linestyle": DASHES.get(at(trace, "line.dash", "solid"), "-"), "color": colour(main)}
        shape = {"hv": "steps-post", "vh": "steps-pre", "hvh": "steps-mid"}
        style = shape.get(at(trace, "line.shape", ""), "default")
        place.axes.plot(x, y, linewidth=at(trace, "line.width", 2), drawstyle=style, **line)
    if str(trace.get("fill", "none")).startswith("tozero"):
        place.axes.fill_between(x, y, color=colour(trace.get("fillcolor"), main), alpha=0.4, linewidth=0)
    for side in ("x", "y"):
        _errors(place, trace, side, x, y, main)
    if "markers" in mode:
        _markers(place, trace, x, y, main)
    if "text" in mode:
        _texts(place, trace, x, y)


def _errors(
    place: Place, trace: Mapping[str, Any], side: str, x: list[float], y: list[float], main: str
) -> None:
    error = trace.get(f"error_{side}")
    if not error or error.get("visible") is False or error.get("array") is None:
        return
    above = [number(v) for v in array(error["array"])]
    below = above if error.get("arrayminus") is None else [number(v) for v in array(error["arrayminus"])]
    place.axes.errorbar(
        x, y, **{f"{side}err": [below, above]}, fmt="none", ecolor=colour(main), capsize=3, linewidth=1.5
    )


def _markers(place: Place, trace: Mapping[str, Any], x: list[float], y: list[float], main: str) -> None:
    look = at(trace, "marker", {})
    sizes = [number(s if s is not None else 6) for s in spread(look.get("size", 6), len(x))]
    raw = spread(look.get("color", main), len(x))
    if raw and all(isinstance(c, int | float) for c in raw):
        scale = colour_map(look.get("colorscale"), reverse=bool(look.get("reversescale")))
        low, high = look.get("cmin", min(raw)), look.get("cmax", max(raw))
        colours = [scale((c - low) / ((high - low) or 1)) for c in raw]
    else:
        colours = [colour(c, main) for c in raw]
    for symbol in dict.fromkeys(spread(look.get("symbol", "circle"), len(x))):
        name = str(symbol or "circle")
        members = [n for n, s in enumerate(spread(look.get("symbol", "circle"), len(x))) if s == symbol]
        hollow = name.endswith("-open")
        place.axes.scatter(
            [x[n] for n in members],
            [y[n] for n in members],
            s=[sizes[n] ** 2 for n in members],
            marker=SYMBOLS.get(name.removesuffix("-open").removesuffix("-dot"), "o"),
            facecolors="none" if hollow else [colours[n] for n in members],
            edgecolors=[colours[n] for n in members],
            linewidths=2 if hollow else at(look, "line.width", 0),
            alpha=look.get("opacity") if isinstance(look.get("opacity"), int | float) else None,
            zorder=3,
        )


def _texts(
    place: Place, trace: Mapping[str, Any], x: Sequence[float], y: Sequence[float], name: str | None = None
) -> None:
    vertical = {"top": "bottom", "bottom": "top", "middle": "center"}
    horizontal = {"left": "right", "right": "left", "center": "center"}
    count = len(x)
    colours = spread(at(trace, "textfont.color"), count)
    positions = spread(trace.get("textposition", "middle center"), count)
    for n, text in enumerate(spread(trace.get("text"), count)):
        if count > CELL_TEXTS or text in (None, "") or not np.isfinite([x[n], y[n]]).all():
            continue
        row, _, column = str(positions[n] or "middle center").partition(" ")
        drawn = place.axes.annotate(
            plain(text),
            (x[n], y[n]),
            xytext=(
                {"left": -6, "right": 6}.get(column, 0),
                {"top": 5, "bottom": -5}.get(row, 0),
            ),
            textcoords="offset points",
            ha=horizontal.get(column, "center"),
            va=vertical.get(row, "center"),
            color=colour(colours[n]) if colours[n] else place.ink,
            size=at(trace, "textfont.size", 11),
            rotation=-number(trace.get("textangle") or 0),
            gid=name,
            annotation_clip=False,
        )
        # Texts in cells do not widen the page.
        drawn.set_in_layout(name != IN_CELL)


IN_CELL = "wb-cell"
"""The name of a text in a cell."""


def draw_bars(place: Place) -> None:
    """All bars of the axes, beside or on one another."""
    stacked = place.layout.get("barmode", "group") in ("stack", "relative")
    overlaid = place.layout.get("barmode") == "overlay"
    gap = number(place.layout.get("bargap", 0.2))
    tops: dict[tuple[float, bool], float] = {}
    count = len(place.bars)
    for n, (trace, default) in enumerate(place.bars):
        lies = trace.get("orientation") == "h"
        along, across = (place.y, place.x) if lies else (place.x, place.y)
        centres = along.places(values_of(trace, "y" if lies else "x"))
        lengths = across.places(values_of(trace, "x" if lies else "y"))
        steps = np.diff(sorted(set(centres)))
        room = (float(steps.min()) if len(steps) else 1.0) * (1 - gap)
        width = room if stacked or overlaid else room / count
        shift = 0.0 if stacked or overlaid else (n - (count - 1) / 2) * width
        starts = [
            0.0 if trace.get("base") is None else number(b) for b in spread(trace.get("base"), len(centres))
        ]
        if stacked:
            for i, (centre, length) in enumerate(zip(centres, lengths, strict=True)):
                if np.isfinite(length):
                    key = (centre, length < 0)
                    starts[i] = tops.get(key, 0.0)
                    tops[key] = starts[i] + length
        _bar(place, trace, default, lies, [c + shift for c in centres], lengths, starts, width)


def _bar(
    place: Place,
    trace: Mapping[str, Any],
    default: str,
    lies: bool,
    centres: list[float],
    lengths: list[float],
    starts: list[float],
    width: float,
) -> None:
    from matplotlib.colors import to_hex

    count = len(centres)
    hatches = [HATCHES.get(str(s or ""), "") for s in spread(at(trace, "marker.pattern.shape"), count)]
    look: dict[str, Any] = {
        "color": [colour(c, default) for c in spread(at(trace, "marker.color"), count)],
        "alpha": trace.get("opacity"),
        "linewidth": 0,
        "zorder": 2,
    }
    if any(hatches):
        look |= {"hatch": hatches, "edgecolor": "white"}
    thick = [0.96 * width] * count
    if lies:
        place.axes.barh(centres, lengths, height=thick, left=starts, **look)
    else:
        place.axes.bar(centres, lengths, width=thick, bottom=starts, **look)
    ends = [s + v for s, v in zip(starts, lengths, strict=True)]
    x, y = (ends, centres) if lies else (centres, ends)
    for side in ("x", "y"):
        _errors(place, trace, side, x, y, INK)
    texts = spread(trace.get("text"), count)
    if trace.get("textposition") != "none" and any(t not in (None, "") for t in texts):
        outside = trace.get("textposition") == "outside"
        where = (
            ("middle right" if lies else "top center")
            if outside
            else ("middle left" if lies else "bottom center")
        )
        inside = {} if outside else {"color": [readable(to_hex(paint)) for paint in look["color"]]}
        font = {**inside, **(trace.get("textfont") or {})}
        look = {"textposition": where, "textfont": font, "textangle": trace.get("textangle")}
        _texts(place, {"text": texts, **look}, x, y)
        if outside:
            _with_room(place, lies, ends, centres, [plain(text) for text in texts if text is not None], look)


def _with_room(
    place: Place,
    lies: bool,
    ends: Sequence[float],
    centres: Sequence[float],
    texts: Sequence[str],
    look: Mapping[str, Any],
) -> None:
    """An axis without its own range extends beyond the bars, as in plotly, so that values have room."""
    across = place.x if lies else place.y
    longest = max(range(len(ends)), key=lambda n: ends[n] if np.isfinite(ends[n]) else -np.inf)
    if across.is_log or across.limits() is not None or not ends[longest] > 0:
        return
    size = number(at(look, "textfont.size", 11))
    along = lies != bool(number(look.get("textangle") or 0))
    letters = max((len(line) for text in texts for line in text.split("\n")), default=0)
    needed = 8 + size * (0.64 * letters if along else 1.4 * max(text.count("\n") + 1 for text in texts))
    share = min(0.6, needed / _size(place)[0 if lies else 1])
    end = (ends[longest] / (1 - share), centres[longest])
    place.axes.update_datalim([end if lies else end[::-1]])


def _size(place: Place) -> Any:
    """Pixels of the axes, across and up."""
    return place.axes.get_position().size * place.axes.figure.get_size_inches() * 72


def heatmap(place: Place, trace: Mapping[str, Any], default: str) -> None:
    """Cells in colours, their texts, and the colour bar."""
    cells = np.array([[number(v) for v in array(row)] for row in array(trace.get("z"))], dtype=float)
    if not cells.size:
        return
    edges = [
        _edges(scale.places(values_of(trace, side)), cells.shape[1 if side == "x" else 0])
        for side, scale in (("x", place.x), ("y", place.y))
    ]
    finite = cells[np.isfinite(cells)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    drawn = place.axes.pcolormesh(
        *edges,
        np.ma.masked_invalid(cells),
        cmap=colour_map(
            trace.get("colorscale") or at(place.layout, "template.layout.colorscale.sequential"),
            reverse=bool(trace.get("reversescale")),
        ),
        vmin=trace.get("zmin", low),
        vmax=trace.get("zmax", high),
        # One image instead of a path a cell.
        rasterized=True,
    )
    behind = place.painted.get(cells.shape, np.ones((*cells.shape, 3)))
    look = drawn.cmap(drawn.norm(np.ma.masked_invalid(cells)))
    place.painted[cells.shape] = behind + look[..., 3:] * (look[..., :3] - behind)
    if trace.get("showscale") is not False:
        bar = place.axes.figure.colorbar(drawn, ax=place.axes, fraction=0.03, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(length=0, labelcolor=place.ink, labelsize=10)
        bar.set_label(plain(at(trace, "colorbar.title.text", "")), color=place.ink, size=11)
        if at(trace, "colorbar.tickvals") is not None:
            values = array(at(trace, "colorbar.tickvals"))
            bar.set_ticks(values, labels=[str(t) for t in array(at(trace, "colorbar.ticktext")) or values])
        else:
            whole(bar.ax.yaxis)
    # After the colour bar, which takes its space from the cells.
    _cell_texts(place, trace, cells, edges)


def _edges(centres: list[float], cells: int) -> list[float]:
    """Edges of cells of which centres or edges are given."""
    if len(centres) == cells + 1:
        return centres
    between = [(a + b) / 2 for a, b in pairwise(centres)]
    first, last = (between[0] - centres[0], centres[-1] - between[-1]) if between else (0.5, 0.5)
    return [centres[0] - first, *between, centres[-1] + last]


def _cell_texts(place: Place, trace: Mapping[str, Any], cells: Any, edges: Sequence[Sequence[float]]) -> None:
    from matplotlib.colors import to_hex

    behind = place.painted[cells.shape]
    template = trace.get("texttemplate")
    if not template or cells.size > CELL_TEXTS:
        return
    texts = [array(row) for row in array(trace.get("text"))]
    x, y = ([(a + b) / 2 for a, b in pairwise(e)] for e in edges)
    labels: dict[tuple[int, int], str] = {}
    for row, column in np.argwhere(np.isfinite(cells)):
        # As plotly takes it: rows need not be as long as the cells'.
        entry = texts[row][column] if row < len(texts) and column < len(texts[row]) else None
        text = label(float(cells[row, column])) if "z" in template else str("" if entry is None else entry)
        if text.strip():
            labels[row, column] = text
    longest = max(map(len, labels.values()), default=0)
    # Half a letter apart: adjacent numbers would read as one.
    wide, high = _size(place)
    fitting = min(9.0, wide / cells.shape[1] / (0.64 * (longest + 0.5)), high / cells.shape[0] / 1.3)
    for (row, column), text in labels.items():
        font = {"size": fitting, **(trace.get("textfont") or {})}
        if "color" not in font:
            font["color"] = readable(to_hex(behind[row, column]))
        _texts(place, {"text": [text], "textfont": font}, [x[column]], [y[row]], IN_CELL)


def legend_mark(trace: Mapping[str, Any], default: str) -> Any:
    """A trace's legend handle."""
    from matplotlib.lines import Line2D

    paints = at(trace, "line.color") or spread(at(trace, "marker.color"), 1)[0]
    paint = colour(paints if isinstance(paints, str) else default, default)
    mode = "markers" if trace.get("type") == "bar" else str(trace.get("mode") or "lines")
    symbol = (
        "square" if trace.get("type") == "bar" else str(spread(at(trace, "marker.symbol", "circle"), 1)[0])
    )
    return Line2D(
        [],
        [],
        color=paint,
        linestyle=DASHES.get(at(trace, "line.dash", "solid"), "-") if "lines" in mode else "none",
        marker=SYMBOLS.get(symbol.removesuffix("-open"), "o") if "markers" in mode else None,
        markerfacecolor="none" if symbol.endswith("-open") else paint,
        markersize=9,
        label=plain(trace["name"]),
    )


def bar(place: Place, trace: Mapping[str, Any], default: str) -> None:
    """Defers a bar trace until all of them are known, because they share the space."""
    place.bars.append((trace, default))


DRAWERS: Mapping[str, Callable[[Place, Mapping[str, Any], str], None]] = {
    "scatter": scatter,
    "scattergl": scatter,
    "bar": bar,
    "heatmap": heatmap,
}
"""Drawing function by type of trace."""
