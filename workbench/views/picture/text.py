"""A figure as text, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.views.picture.values import array, at, label, plain

ROWS = 12
"""Values of a trace in a text."""


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
        # A diagram says what it has in words beside its lines.
        notes = [plain(each.get("text") or "") for each in layout.get("annotations") or ()]
        lines += [f"  {' '.join(note.split())}" for note in notes if note][:ROWS]
    return "\n".join(lines)


def _is_drawing(trace: Mapping[str, Any], layout: Mapping[str, Any]) -> bool:
    """Lines that no legend names: of a diagram, which annotations explain, or a limit."""
    diagram = layout.get("showlegend") is False and bool(layout.get("annotations"))
    unseen = trace.get("showlegend") is False or diagram
    return "lines" in (trace.get("mode") or "") and not trace.get("name") and unseen
