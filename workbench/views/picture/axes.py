"""One pair of plotly's axes as matplotlib's: where it is, its kind, range, ticks and grid."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.views.picture.values import array, at, colour, is_text, number, plain

GRID = "rgba(128,134,145,0.25)"


class Scale:
    """One axis of a figure.

    Args:
        given: the axis's entry in the layout.
        values: values of all traces on the axis, in order; on an axis of texts these are the categories.
    """

    def __init__(self, entry: Mapping[str, Any], values: Iterable[Sequence[Any]]) -> None:
        self.given = entry
        rows = [list(row) for row in values]
        kind = entry.get("type")
        self.is_category = kind in ("category", "multicategory") or (
            kind in (None, "-") and any(map(is_text, rows))
        )
        self.is_log = kind == "log"
        self.categories = list(
            dict.fromkeys([*array(entry.get("categoryarray")), *(v for row in rows for v in row)])
            if self.is_category
            else ()
        )

    def places(self, values: Sequence[Any]) -> list[float]:
        """Positions of values on the axis."""
        if self.is_category:
            index = {name: float(n) for n, name in enumerate(self.categories)}
            return [index.get(v, number(v)) for v in values]
        return [number(v) for v in values]

    def limits(self) -> tuple[float, float] | None:
        """The range that the figure sets; plotly gives that of a logarithmic axis in powers of ten."""
        bounds = array(self.given.get("range"))
        if len(bounds) != 2 or None in bounds:
            return None
        low, high = self.places(bounds)
        return (10**low, 10**high) if self.is_log else (low, high)

    def ticks(self) -> tuple[list[float], list[str]] | None:
        """Places and texts of ticks, where the figure says them."""
        if self.given.get("tickvals") is not None:
            values = array(self.given["tickvals"])
            return self.places(values), [str(t) for t in array(self.given.get("ticktext")) or values]
        if self.is_category:
            return [float(n) for n in range(len(self.categories))], [plain(name) for name in self.categories]
        return None


def dress(axes: Any, scale: Scale, side: str, ink: Any) -> None:
    """Applies the figure's settings to one axis ("x" or "y"). Called after the traces are drawn."""
    entry = scale.given
    axis = axes.xaxis if side == "x" else axes.yaxis
    if scale.is_log:
        from matplotlib.ticker import FuncFormatter

        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    low, high = (axes.get_xlim if side == "x" else axes.get_ylim)()
    if entry.get("rangemode") == "tozero" and not scale.is_log:
        low, high = min(low, 0), max(high, 0)
    if scale.is_category:
        low, high = -0.5, len(scale.categories) - 0.5
    if entry.get("autorange") == "reversed":
        low, high = max(low, high), min(low, high)
    (axes.set_xlim if side == "x" else axes.set_ylim)(*(scale.limits() or (low, high)))
    ticks = scale.ticks()
    if ticks is not None:
        axis.set_ticks(ticks[0], ticks[1])
        axis.set_ticks([], minor=True)
    elif entry.get("dtick") is not None and not scale.is_log and number(entry["dtick"]) > 0:
        from matplotlib.ticker import MultipleLocator

        axis.set_major_locator(MultipleLocator(number(entry["dtick"])))
    if entry.get("ticksuffix") and ticks is None:
        axis.set_major_formatter("{x:.4g}" + str(entry["ticksuffix"]))
    elif entry.get("tickformat") and ticks is None:
        _as_asked(axis, str(entry["tickformat"]))
    elif ticks is None and not scale.is_log:
        _with_letters(axis)
    axis.set_label_text(plain(at(entry, "title.text", "")), color=ink, size=at(entry, "title.font.size", 13))
    axis.set_tick_params(which="both", length=0, labelcolor=ink, labelsize=at(entry, "tickfont.size", 11))
    if side == "x" and scale.is_category and ticks is not None:
        _turned(axes, ticks[1], at(entry, "tickfont.size", 11))
    if entry.get("showticklabels") is False:
        axis.set_tick_params(which="both", labelleft=False, labelbottom=False)
    if entry.get("showgrid") is not False and not scale.is_category:
        axis.grid(True, color=colour(entry.get("gridcolor"), "#8086913f"), linewidth=1)
    if entry.get("visible") is False:
        axis.set_visible(False)


def _turned(axes: Any, labels: Sequence[str], size: float) -> None:
    """Turns labels that would meet, as far as plotly does: by 30 degrees, or upright."""
    wide = axes.get_position().width * axes.figure.get_size_inches()[0] * 72
    room = wide / max(1, len(labels))
    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    if 0.6 * size * longest <= room:
        return
    turned = -30 if room / 2 > 1.2 * size else -90
    for label in axes.get_xticklabels():
        label.set(rotation=turned, rotation_mode="anchor", ha="left", va="center" if turned == -90 else "top")


_LETTERS = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
"""Thresholds from which plotly abbreviates an axis's numbers, with the divisor and the letter."""


def short(value: float) -> str:
    """A number on a logarithmic axis as plotly writes it: 0.1, 10, 100k, 1M."""
    return _with_letter(value, abs(value))


def _with_letter(value: float, largest: float) -> str:
    unit, letter = next((row[1:] for row in _LETTERS if largest >= row[0]), (1, ""))
    return f"{value / unit:g}{letter}"


def _as_asked(axis: Any, form: str) -> None:
    """Numbers as d3's formats have them, of which Python knows those of digits and shares, such as ".0%"."""
    from matplotlib.ticker import FuncFormatter

    # Whole numbers are a format of floats there.
    form = ".0f" if form == "d" else form
    with contextlib.suppress(ValueError):
        format(0.5, form)
        axis.set_major_formatter(FuncFormatter(lambda value, _: format(value, form)))


def whole(axis: Any) -> None:
    """Writes a power of ten with each small number; matplotlib's at the axis' end would be hidden."""
    from matplotlib.ticker import FuncFormatter

    if 0 < max(map(abs, axis.get_view_interval())) < 1e-3:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))


def _with_letters(axis: Any) -> None:
    """Gives large numbers of a linear axis the letter of the largest: matplotlib has 1e6 at the axis' end."""
    from matplotlib.ticker import FuncFormatter

    whole(axis)
    largest = max(map(abs, axis.get_view_interval()))
    if largest >= _LETTERS[-1][0]:
        axis.set_major_formatter(
            FuncFormatter(lambda value, _: _with_letter(value, largest) if value else "0")
        )


def anchored(axes: Any, reference: str, side: str) -> bool:
    """True if a reference of a shape or annotation is in data units ("x2"), not in shares ("y domain")."""
    return reference.startswith(side) and not reference.endswith("domain")
