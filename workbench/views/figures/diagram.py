"""The memory hierarchy as a diagram: bytes and load of every path, hit rates in the boxes between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.origin import Figure
from workbench.profile.results import ProfileResult
from workbench.theme import INK, SERIES
from workbench.views.figures.memory import shown_bytes, traffic_by_level
from workbench.views.figures.view import View, difference, finish, ratio

HEIGHT = 430
"""Pixels of the figure: five boxes with their paths between them."""


@dataclass(frozen=True)
class Box:
    """A memory in the diagram.

    Attributes:
        name: usual name.
        left, right, top, size: in units of the diagram, which is 10 wide and 10 high.
        rate, word: the metric to show in it, and the noun for the rate.
    """

    name: str
    left: float
    right: float
    top: float
    rate: str = ""
    word: str = "hits"
    size: float = 1.15

    @property
    def bottom(self) -> float:
        return self.top - self.size


@dataclass(frozen=True)
class Path:
    """Traffic between two boxes.

    Attributes:
        name: names of both boxes.
        read, written: labels of `figures.memory`'s levels.
        load: metric whose share of its peak is the load of the path.
        x: horizontal position.
        upper, lower: names of the upper and the lower box.
    """

    name: str
    read: str
    written: str
    load: str
    x: float
    upper: str
    lower: str


BOXES = (
    Box("registers", 0.1, 9.9, 10.0),
    Box("LDS", 0.1, 4.3, 7.8, "LDS conflict rate", "conflicts"),
    Box("L1", 5.0, 9.9, 7.8, "L1 hit rate"),
    Box("L2", 5.0, 9.9, 5.6, "L2 hit rate"),
    Box("Infinity Cache", 5.0, 9.9, 3.4, "Infinity Cache hit rate"),
    Box("HBM", 5.0, 9.9, 1.2),
)
PATHS = (
    Path("registers, LDS", "LDS, read", "LDS, written", "LDS bandwidth", 0.5, "registers", "LDS"),
    Path("registers, L1", "lanes, read", "lanes, written", "L1 bandwidth", 5.4, "registers", "L1"),
    Path("L1, L2", "L2, read", "L2, written", "L2 bandwidth", 5.4, "L1", "L2"),
    Path(
        "L2, Infinity Cache",
        "Infinity Fabric, read",
        "Infinity Fabric, written",
        "Infinity Fabric bandwidth",
        5.4,
        "L2",
        "Infinity Cache",
    ),
    Path(
        "Infinity Cache, HBM", "HBM, read", "HBM, written", "memory bandwidth", 5.4, "Infinity Cache", "HBM"
    ),
)


def diagram(now: ProfileResult | None, base: ProfileResult | None, hue: str = SERIES[0]) -> View:
    """Bytes along every memory path and their share of its bandwidth; hit rates of the caches."""
    import plotly.graph_objects as go

    figure = go.Figure()
    head = ("path", "read", "written", "of what it can carry, %", "read, to baseline", "origin")
    rows: list[tuple[Any, ...]] = []
    origins: list[Figure] = []
    notes: list[dict[str, Any]] = []
    if now is not None:
        traffic, old = traffic_by_level(now), traffic_by_level(base)
        boxes = {box.name: box for box in BOXES}
        for path in PATHS:
            read, written = traffic.get(path.read), traffic.get(path.written)
            if read is None and written is None:
                continue
            share = _share(now, path)
            label = _told(read, written, share, _share(base, path))
            notes.append(_draw_path(figure, path, boxes, label, share, hue))
            origins += [amount for amount in (read, written) if amount is not None]
            rows.append(
                (
                    path.name,
                    read.value if read is not None else None,
                    written.value if written is not None else None,
                    100 * share if share is not None else None,
                    difference(
                        read.value if read else None, old[path.read].value if path.read in old else None
                    ),
                    str((read or written or origins[-1]).origin),
                )
            )
        notes += _draw_direct(figure, now, boxes, hue)
        for box in BOXES:
            rate = _rate(now, box)
            notes.append(_words(box, rate))
            if rate is not None:
                rows.append((f"{box.name}: {box.rate}, %", rate.value, "", None, "", str(rate.origin)))
                origins.append(rate)
        # All at once: plotly copies every existing annotation whenever one is added.
        figure.update_layout(annotations=notes, shapes=[_shape(box) for box in BOXES])
    look = {
        "height": HEIGHT,
        "showlegend": False,
        "margin": {"l": 10, "b": 10},
        "xaxis": {"visible": False, "range": [0, 10], "fixedrange": True},
        "yaxis": {"visible": False, "range": [0, 10.1], "fixedrange": True},
    }
    return finish(figure, "Memory", "memory", origins, head, rows, look if figure.data else None)


def _share(now: ProfileResult | None, path: Path) -> float | None:
    """Share of a path's peak bandwidth; for the Infinity Cache, of the highest rate kernels have reached."""
    if now is None:
        return None
    metric = now.metrics[path.load]
    if metric.share is not None or metric.figure is None:
        return metric.share
    return metric.figure.value * 1e12 / now.machine.infinity_cache_achievable


def _rate(now: ProfileResult, box: Box) -> Figure | None:
    if box.rate in now.metrics:
        return now.metrics[box.rate].figure
    if not box.rate or now.caches is None:
        return None
    total = now.caches.total
    reads = total.mall_read_hits + total.mall_read_misses
    like = now.metrics["L2 hit rate"].figure
    if not reads or like is None:
        return None
    return Figure(100 * total.mall_read_hits / reads, "%", like.origin, like.source)


def _told(read: Figure | None, written: Figure | None, share: float | None, before: float | None) -> str:
    parts = [f"↑ {shown_bytes(read.value)}"] if read is not None else []
    parts += [f"↓ {shown_bytes(written.value)}"] if written is not None else []
    text = "  ".join(parts)
    if share is None:
        return text
    was = f" (baseline {100 * before:.3g} %)" if before is not None else ""
    return f"{text}<br>{100 * share:.3g} % of what it can{was}"


def _draw_path(
    figure: Any, path: Path, boxes: dict[str, Box], label: str, share: float | None, hue: str
) -> dict[str, Any]:
    """Draws a path; returns the text beside it."""
    import plotly.graph_objects as go

    above, below = boxes[path.upper].bottom, boxes[path.lower].top
    figure.add_trace(
        go.Scatter(
            x=[path.x, path.x],
            y=[above, below],
            mode="lines",
            line={"color": hue, "width": 2 + 12 * min(1.0, share or 0.0)},
            hovertemplate=f"{path.name}: {label}<extra></extra>",
        )
    )
    return {
        **{"x": path.x, "y": (above + below) / 2, "xshift": 12, "text": label, "xanchor": "left"},
        **{"yanchor": "middle", "align": "left", "showarrow": False, "font": {"size": 11, "color": INK}},
    }


def _draw_direct(figure: Any, now: ProfileResult, boxes: dict[str, Box], hue: str) -> list[dict[str, Any]]:
    """Draws loads from L1 straight to LDS; returns their annotations, none without such loads."""
    import plotly.graph_objects as go

    direct = now.counters.get("direct_to_lds_bytes")
    if direct is None or not direct.value:
        return []
    box, other = boxes["LDS"], boxes["L1"]
    y = (box.top + box.bottom) / 2
    figure.add_trace(
        go.Scatter(
            x=[other.left, box.right],
            y=[y, y],
            mode="lines",
            line={"color": hue, "width": 2},
            hovertemplate=f"direct to LDS: {shown_bytes(direct.value)}<extra></extra>",
        )
    )
    text = f"{shown_bytes(direct.value)} straight from L1"
    return [
        {
            **{"x": box.right, "y": box.bottom, "yshift": -3, "text": text, "xanchor": "right"},
            **{"yanchor": "top", "showarrow": False, "font": {"size": 11, "color": INK}},
        }
    ]


def _shape(box: Box) -> dict[str, Any]:
    return {
        **{"type": "rect", "x0": box.left, "x1": box.right, "y0": box.bottom, "y1": box.top},
        **{"line": {"color": INK, "width": 1}, "fillcolor": "rgba(128,134,145,0.12)", "layer": "below"},
    }


def _words(box: Box, rate: Figure | None) -> dict[str, Any]:
    """A box's name, and its rate."""
    text = f"<b>{box.name}</b>" + (f"  {ratio(rate.value)} {box.word}" if rate is not None else "")
    middle = {"x": (box.left + box.right) / 2, "y": (box.top + box.bottom) / 2}
    return {**middle, "text": text, "showarrow": False, "font": {"size": 12}}
