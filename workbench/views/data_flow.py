"""An SVG of an operator's launches with their inputs, intermediate tensors and results."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from workbench.operators.catalogue import Link

ROW, BOX, LEFT, WIDE, RIGHT = 58, 26, 440, 150, 300
"""Pixels: distance of launches, height of a box, space left of it, its width, and space right of it."""


def data_flow_svg(links: Sequence[Link]) -> Markup:
    """Launches in a column; tensors from outside on the left, results on the right, others between."""
    shapes: list[Markup] = []
    for n, link in enumerate(links):
        top, middle = n * ROW + 4, LEFT + WIDE // 2
        handed = _handed(links, n)
        taken = [name for name in link.takes if n == 0 or name not in _handed(links, n - 1)]
        results = [name for name in link.makes if name not in handed]
        shapes.append(
            Markup(
                '<rect x="{}" y="{}" width="{}" height="{}" rx="5" fill="none" stroke="currentColor"/>'
            ).format(LEFT, top, WIDE, BOX)
        )
        shapes.append(_text(middle, top + 17, link.launch or "launch", "middle"))
        if taken:
            shapes += [
                _text(LEFT - 24, top + 17, ", ".join(taken), "end"),
                _arrow(LEFT - 20, top + 13, 18, 0),
            ]
        if results:
            end = LEFT + WIDE
            shapes += [
                _text(end + 24, top + 17, ", ".join(results), "start"),
                _arrow(end + 2, top + 13, 18, 0),
            ]
        if handed:
            bottom = top + BOX
            shapes += [
                _text(middle + 8, bottom + 20, ", ".join(handed), "start"),
                _arrow(middle, bottom + 2, 0, ROW - BOX - 4),
            ]
    return Markup(
        '<svg role="img" aria-label="data flow" width="{}" height="{}" font-size="12" '
        'font-family="sans-serif">{}</svg>'
    ).format(LEFT + WIDE + RIGHT, len(links) * ROW, Markup("").join(shapes))


def _handed(links: Sequence[Link], n: int) -> tuple[str, ...]:
    """Tensors that a launch writes and the next one reads."""
    return tuple(name for name in links[n].makes if n + 1 < len(links) and name in links[n + 1].takes)


def _text(x: int, y: int, text: str, anchor: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}" fill="currentColor">{}</text>').format(
        x, y, anchor, text
    )


def _arrow(x: int, y: int, right: int, down: int) -> Markup:
    """A line with its head at the end."""
    to_x, to_y = x + right, y + down
    wings = f"M{to_x - 5} {to_y - 3}l5 3l-5 3" if right else f"M{to_x - 3} {to_y - 5}l3 5l3-5"
    return Markup('<path d="M{} {}L{} {}{}" fill="none" stroke="currentColor"/>').format(
        x, y, to_x, to_y, wings
    )
