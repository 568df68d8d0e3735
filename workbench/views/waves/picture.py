"""Timelines as a picture that needs no script: rows of pixels in an SVG with its words and axes."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from markupsafe import escape

from workbench.profile.simulation.unit import KINDS, REASONS
from workbench.theme import INK
from workbench.views.waves.hues import FAMILIES, OF_KIND, OF_REASON, PALE
from workbench.views.waves.packed import STALL, WORK, Packed

WIDTH = 960
LABEL = 104
"""Pixels of the lanes' names."""

PIXELS = 1600
"""Columns of the picture's raster."""

LANE, GAP, SIMD_GAP = 13, 3, 7
"""Pixels of a lane, between lanes, and more between SIMDs."""

_HEAD = 40
_AXIS = 26
_ROW = 18


def waves_svg(timelines: Sequence[Packed]) -> str:
    """Timelines one under the other on one scale, from the first cycle to the last."""
    span = max((t.header["cycles"] for t in timelines), default=1.0) or 1.0
    parts: list[str] = []
    y = 0.0
    for packed in timelines:
        parts.append(_panel(packed, y, span))
        y += _height(packed)
    parts.append(_legend(y + 4))
    y += 2 * _ROW + 6
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:.0f}" '
        f'width="{WIDTH}px" style="max-width:100%" font-family="DejaVu Sans,Verdana,sans-serif" '
        f'font-size="11" fill="{INK}" role="img" aria-label="{escape(_alt(timelines))}">'
        + "".join(parts)
        + "</svg>"
    )


def raster(packed: Packed, columns: int, span: float) -> npt.NDArray[np.uint8]:
    """A row of pixels for each track of each lane: the colours of what lies under it, by their share.

    Returns:
        tracks x columns x RGBA; straight alpha.
    """
    header, data = packed.header, packed.columns
    tracks = header["tracks"]
    kinds = [OF_KIND[kind] for kind in KINDS]
    reasons = [OF_REASON.get(reason, 0) for reason in REASONS]
    rgb = np.array([[int(f.hue[i : i + 2], 16) for i in (1, 3, 5)] for f in FAMILIES], dtype=np.float64)
    pixels = np.zeros((len(tracks) - 1, columns, 4))
    scale = columns / span
    for track in range(len(tracks) - 1):
        segments = slice(tracks[track], tracks[track + 1])
        index = data["span"][segments]
        table = np.array(reasons if track % 2 == STALL else kinds)
        family = table[data["reason" if track % 2 == STALL else "kind"][index]]
        cover = np.zeros((len(FAMILIES), columns))
        for number in range(len(FAMILIES)):
            mine = family == number
            if mine.any():
                begin = data["begin"][segments][mine].astype(np.float64) * scale
                end = data["end"][segments][mine].astype(np.float64) * scale
                cover[number] = _covered(begin, end, columns)
        alpha = np.minimum(1.0, cover.sum(axis=0))
        shade = cover.T @ rgb / np.maximum(cover.sum(axis=0), 1e-9)[:, None]
        pixels[track, :, :3] = shade
        pixels[track, :, 3] = 255 * alpha * (1.0 if track % 2 == WORK else PALE)
    return pixels.round().astype(np.uint8)


def _covered(
    begin: npt.NDArray[np.float64], end: npt.NDArray[np.float64], columns: int
) -> npt.NDArray[np.float64]:
    """The fraction of each pixel that segments cover; they do not overlap."""
    # What is covered up to a place, of which the pixels are differences.
    edges = np.arange(columns + 1, dtype=np.float64)
    whole = np.concatenate(([0.0], np.cumsum(end - begin)))
    last = np.searchsorted(begin, edges, side="right") - 1
    at = np.maximum(last, 0)
    covered: npt.NDArray[np.float64] = np.diff(
        np.where(last < 0, 0.0, whole[at] + np.minimum(edges, end[at]) - begin[at])
    )
    return covered


def _panel(packed: Packed, top: float, span: float) -> str:
    header = packed.header
    pixels = raster(packed, PIXELS, span)
    scale = (WIDTH - LABEL) / span
    us, lanes = header["cycles"] / header["clock_hz"] * 1e6, len(header["lanes"])
    parts = [
        f'<text x="0" y="{top + 14:.0f}" font-size="14">{escape(_title(packed))}</text>',
        f'<text x="0" y="{top + 30:.0f}">{lanes} wave{"" if lanes == 1 else "s"} of a compute unit, '
        f"{header['cycles']:,.0f} cycles, {us:,.2f} us at {header['clock_hz'] / 1e6:,.0f} MHz: "
        f"{escape(header['provenance'])}</text>",
    ]
    y = top + _HEAD
    before = None
    tops: list[float] = []
    for number, (group, wave, simd, _, _) in enumerate(header["lanes"]):
        if before is not None and simd != before:
            y += SIMD_GAP
        if simd != before:
            parts.append(f'<text x="0" y="{y + LANE - 3:.0f}" font-weight="bold">SIMD {simd}</text>')
        before = simd
        tops.append(y)
        parts.append(f'<text x="{LABEL - 6}" y="{y + LANE - 3:.0f}" text-anchor="end">{group}.{wave}</text>')
        for track, (offset, height) in enumerate(((0, 8), (8.5, 4.5))):
            parts.append(_row(pixels[2 * number + track], y + offset, height))
        y += LANE + GAP
    parts.append(_barrier_lines(header, tops, scale))
    parts.append(_axis(header, y, span))
    return "".join(parts)


def _row(colours: npt.NDArray[np.uint8], y: float, height: float) -> str:
    from matplotlib.image import imsave

    buffer = io.BytesIO()
    imsave(buffer, colours[None, :, :], format="png")
    picture = base64.b64encode(buffer.getvalue()).decode()
    place = f'x="{LABEL}" y="{y:.1f}" width="{WIDTH - LABEL}" height="{height}"'
    return f'<image {place} preserveAspectRatio="none" href="data:image/png;base64,{picture}"/>'


def _barrier_lines(header: dict, tops: Sequence[float], scale: float) -> str:  # type: ignore[type-arg]
    """Lines where they are at least four pixels apart on average; more would hide what is under them."""
    barriers = header["barriers"]
    if not barriers or len(barriers) * 4 > WIDTH - LABEL:
        return ""
    strokes = []
    for cycle, group in barriers:
        lane_tops = [tops[i] for i, lane in enumerate(header["lanes"]) if lane[0] == group]
        x = LABEL + cycle * scale
        strokes.append(f"M{x:.1f} {min(lane_tops):.0f}V{max(lane_tops) + LANE:.0f}")
    hue = FAMILIES[OF_KIND["BARRIER"]].hue
    return f'<path d="{"".join(strokes)}" stroke="{hue}" stroke-width="0.7" fill="none"/>'


def _axis(header: dict, y: float, span: float) -> str:  # type: ignore[type-arg]
    step = 10 ** np.floor(np.log10(span / 4))
    step = next(step * k for k in (1, 2, 5, 10) if span / (step * k) <= 8)
    parts = []
    for cycle in np.arange(0, span * 1.0001, step):
        x = LABEL + cycle / span * (WIDTH - LABEL)
        anchor = "start" if cycle == 0 else "end" if x > WIDTH - 30 else "middle"
        parts.append(f'<path d="M{x:.1f} {y:.0f}v4" stroke="{INK}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.0f}" text-anchor="{anchor}">{cycle:,.0f}</text>')
    return "".join(parts) + f'<text x="{LABEL - 6}" y="{y + 16:.0f}" text-anchor="end">cycle</text>'


def _legend(y: float) -> str:
    parts, x = [], 0.0
    for family in FAMILIES:
        parts.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="12" height="7" fill="{family.hue}"/>')
        if family.reasons:
            pale = f'height="4" fill="{family.hue}" opacity="{PALE}"'
            parts.append(f'<rect x="{x:.0f}" y="{y + 7.5:.1f}" width="12" {pale}/>')
        parts.append(f'<text x="{x + 16:.0f}" y="{y + 10:.0f}">{escape(family.name)}</text>')
        x += 34 + 6.6 * len(family.name)
    legend = (
        "Lanes: work-group.wave. Above, instructions, as long as their unit is busy; below, pale, the wave "
        "waits for that unit. Red lines: barriers."
    )
    parts.append(f'<text x="0" y="{y + 10 + _ROW:.0f}">{legend}</text>')
    return "".join(parts)


def _height(packed: Packed) -> float:
    lanes = packed.header["lanes"]
    simds = len({lane[2] for lane in lanes})
    return _HEAD + len(lanes) * (LANE + GAP) + max(0, simds - 1) * SIMD_GAP + _AXIS


def _alt(timelines: Sequence[Packed]) -> str:
    return "Timelines of " + " and ".join(map(_title, timelines))


def _title(packed: Packed) -> str:
    return f"{packed.header['name']} on {packed.header['device']}"
