"""The dashboard's figures: each a plotly Figure with its origins, and the same data as a table.

Every function takes what is shown and what it is compared with, and draws the difference where there is one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from workbench.views.board import Board
from workbench.views.figures.instructions import mix
from workbench.views.figures.memory import lds, traffic
from workbench.views.figures.occupancy import fits
from workbench.views.figures.roofline import roofline
from workbench.views.figures.runs import shapes, timeline
from workbench.views.figures.speed import breakdown, speed_of_light
from workbench.views.figures.view import View

__all__ = ["TIME_KEYS", "View", "views"]

TIME_KEYS = ("timeline", "shapes")
"""Figures that a time without counters changes."""


def views(board: Board, keys: Collection[str] | None = None) -> list[View]:
    """Figures of a board, in the order of the page; those without data are empty, never missing.

    Args:
        keys: of the figures that are wanted; all where it is None.
    """
    shown = board.shown
    now = shown.profile if shown is not None else None
    base = board.pinned.run.profile if board.pinned is not None else None
    makers: Mapping[str, Callable[[], View]] = {
        "timeline": lambda: timeline(
            board.runs, board.pinned.run if board.pinned is not None else None, board.failures
        ),
        "shapes": lambda: shapes(board),
        "speed": lambda: speed_of_light(now, base),
        "breakdown": lambda: breakdown(now, base),
        "mix": lambda: mix(now, base),
        "occupancy": lambda: fits(now, base),
        "lds": lambda: lds(now, base),
        "traffic": lambda: traffic(now, base),
        "roofline": lambda: roofline(now, base),
    }
    return [make() for key, make in makers.items() if keys is None or key in keys]
