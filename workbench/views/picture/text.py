"""A figure as text: for a terminal, and as a sentence for readers who cannot see it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.views.picture.values import array, at, label, plain

ROWS = 12
"""Maximum number of values of a trace in a text."""

TRACES = 6
"""Maximum number of traces in a sentence."""


def text_of(figure: Any) -> str:
    """The figure's title and the first values of each trace: what a terminal shows."""
    tree: Mapping[str, Any] = figure if isinstance(figure, Mapping) else figure.to_dict()
    layout = tree.get("layout") or {}
    lines = [plain(at(layout, "title.text", "")) or "figure"]
    for trace in tree.get("data") or ():
        x, y = array(trace.get("x")), array(trace.get("y"))
        if trace.get("type") == "heatmap" or not x or not y or _is_drawing(trace, layout):
            continue
        lines.append(f"  {plain(trace.get('name') or trace.get('type') or 'trace')}")
        pairs = list(zip(y, x, strict=False) if trace.get("orientation") == "h" else zip(x, y, strict=False))
        lines += [f"    {plain(label(at)):40} {label(value)}" for at, value in pairs[:ROWS]]
        if len(pairs) > ROWS:
            lines.append(f"    and {len(pairs) - ROWS} more")
    if len(lines) == 1:
        # A diagram's text is in its annotations.
        notes = [plain(note_entry.get("text") or "") for note_entry in layout.get("annotations") or ()]
        lines += [f"  {' '.join(note.split())}" for note in notes if note][:ROWS]
    return "\n".join(lines)


def title_of(figure: Any) -> str:
    """The figure's title in a line; "figure" for one that has none."""
    tree: Mapping[str, Any] = figure if isinstance(figure, Mapping) else figure.to_dict()
    return " ".join(plain(at(tree.get("layout") or {}, "title.text", "")).split()) or "figure"


def sentence_of(figure: Any) -> str:
    """A sentence made from the figure's data: count and range of each trace, up to `TRACES` of them."""
    tree: Mapping[str, Any] = figure if isinstance(figure, Mapping) else figure.to_dict()
    layout = tree.get("layout") or {}
    sentences = []
    for trace in tree.get("data") or ():
        if _is_drawing(trace, layout):
            continue
        name = plain(trace.get("name") or trace.get("type") or "trace")
        across = trace.get("orientation") == "h"
        kind = "z" if trace.get("z") is not None else "x" if across else "y"
        numbers = [value for value in _flat(array(trace.get(kind))) if math.isfinite(value)]
        if numbers:
            low, high = min(numbers), max(numbers)
            span = f"{low:,.4g} to {high:,.4g}" if low != high else f"{low:,.4g}"
            sentences.append(f"{name}: {len(numbers)} value{'' if len(numbers) == 1 else 's'}, {span}")
    more = [f"and {len(sentences) - TRACES} more"] if len(sentences) > TRACES else []
    names = {"across": "xaxis.title.text", "up": "yaxis.title.text"}
    axes = [f"{plain(text)} {way}" for way, key in names.items() if (text := at(layout, key, ""))]
    return (
        "; ".join([*axes, *sentences[:TRACES], *more]) + "."
        if axes or sentences
        else "A drawing without numbers."
    )


def _flat(values: Iterable[Any]) -> Iterator[float]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from _flat(value)
        elif isinstance(value, int | float):
            yield float(value)


def _is_drawing(trace: Mapping[str, Any], layout: Mapping[str, Any]) -> bool:
    """True for lines that no legend names: those of a diagram, which annotations explain, or a limit."""
    diagram = layout.get("showlegend") is False and bool(layout.get("annotations"))
    unseen = trace.get("showlegend") is False or diagram
    return "lines" in (trace.get("mode") or "") and not trace.get("name") and unseen
