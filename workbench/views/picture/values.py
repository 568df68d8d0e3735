"""Conversion of plotly attribute values for matplotlib: arrays, colours, dashes, symbols, texts."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

import numpy as np

COLOURWAY = ("#636efa", "#EF553B", "#00cc96", "#ab63fa", "#FFA15A", "#19d3f3", "#FF6692", "#B6E880")
"""Plotly's first colours, for traces without a colour."""

DASHES: Mapping[str, Any] = {
    "dot": (0, (1, 2)),
    "dash": (0, (5, 3)),
    "longdash": (0, (8, 3)),
    "dashdot": (0, (5, 2, 1, 2)),
    "longdashdot": (0, (8, 2, 1, 2)),
}

SYMBOLS: Mapping[str, str] = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "P",
    "x": "X",
    "triangle-up": "^",
    "triangle-down": "v",
    "triangle-left": "<",
    "triangle-right": ">",
    "star": "*",
    "hexagon": "h",
    "pentagon": "p",
    "line-ns": "|",
    "line-ew": "_",
}

HATCHES: Mapping[str, str] = {
    "/": "///",
    "\\": "\\\\\\",
    "x": "xxx",
    "-": "---",
    "|": "|||",
    "+": "+++",
    # Lines in place of dots, of which one colour's would take 150 KB of an SVG.
    ".": "\\\\\\",
}

_NUMBERS = re.compile(r"rgba?\(([^)]*)\)")


def array(value: Any) -> list[Any]:
    """A list of an attribute that may be a list, an array, plotly's packed form of one, or missing."""
    if value is None:
        return []
    if isinstance(value, Mapping) and "bdata" in value:
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
        shape = [int(n) for n in str(value.get("shape", flat.size)).split(",")]
        return list(flat.reshape(shape).tolist())
    if isinstance(value, np.ndarray):
        return list(value.tolist())
    return list(value)


def spread(value: Any, count: int) -> list[Any]:
    """`count` values of an attribute that has one value for all, or one for each."""
    if isinstance(value, str | int | float) or value is None:
        return [value] * count
    values = array(value)
    return [*values, *[None] * (count - len(values))][:count]


def number(value: Any) -> float:
    """A number, NaN if there is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def colour(value: Any, default: str = "#636efa") -> tuple[float, float, float, float]:
    """A CSS colour as red, green, blue and opacity from 0 to 1."""
    from matplotlib.colors import to_rgba

    text = value if isinstance(value, str) else default
    parts = _NUMBERS.fullmatch(text.replace(" ", ""))
    if parts:
        r, g, b, *a = (float(n) for n in parts[1].split(","))
        return r / 255, g / 255, b / 255, a[0] if a else 1.0
    try:
        red, green, blue, opacity = to_rgba(text)
    except ValueError:
        red, green, blue, opacity = to_rgba(default)
    return red, green, blue, opacity


def colour_map(scale: Any, *, reverse: bool = False) -> Any:
    """A matplotlib colour map of a plotly scale: its name, or stops of a position and a colour."""
    from matplotlib.colors import LinearSegmentedColormap
    from plotly.colors import get_colorscale

    stops = get_colorscale(scale or "Plasma") if scale is None or isinstance(scale, str) else array(scale)
    pairs = [(float(at), colour(value)) for at, value in stops]
    if reverse:
        pairs = [(1 - at, value) for at, value in reversed(pairs)]
    return LinearSegmentedColormap.from_list("plotly", pairs, N=512).with_extremes(bad=(0, 0, 0, 0))


# As in plotly, anything but its own tags is text, such as the arguments of a template.
_TAGS = re.compile(r"</?(b|i|u|s|em|strong|sub|sup|span|a)\b[^>]*>", re.IGNORECASE)


def plain(text: Any) -> str:
    """The text without its markup; breaks are new lines."""
    return unescape(_TAGS.sub("", re.sub(r"<br\s*/?>", "\n", str(text or ""))))


def label(value: Any) -> str:
    """A value as plotly writes it beside an axis or in a cell."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def at(tree: Mapping[str, Any], path: str, default: Any = None) -> Any:
    """The attribute at a path such as `title.font.size`."""
    value: Any = tree
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return default
        value = value.get(part)
    return default if value is None else value


def is_text(values: Sequence[Any]) -> bool:
    """True if plotly treats the values as categories."""
    present = [v for v in values if v is not None]
    return bool(present) and any(isinstance(v, str) and np.isnan(number(v)) for v in present)
