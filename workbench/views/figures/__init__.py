"""The dashboard's figures: each a plotly Figure with its origins, and the same data as a table.

Every function takes the shown result and its baseline, and draws the difference between them, if any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from workbench.profile.results import ProfileResult
from workbench.theme import SERIES
from workbench.views.board import Board
from workbench.views.figures.diagram import diagram
from workbench.views.figures.instructions import mix
from workbench.views.figures.memory import lds, traffic
from workbench.views.figures.occupancy import fits
from workbench.views.figures.roofline import roofline
from workbench.views.figures.runs import shapes, timeline
from workbench.views.figures.speed import breakdown, speed_of_light
from workbench.views.figures.step import step
from workbench.views.figures.view import View

__all__ = ["CARDS", "FAILURE_KEYS", "STEP_KEYS", "TIME_KEYS", "Card", "View", "views"]


@dataclass(frozen=True)
class Card:
    """A card of the dashboard.

    Attributes:
        key: short name, stable; its figure's `View.key`.
        make: draws the figure from a board's data.
        of_time: True if a new time without counters changes it.
        of_failure: True if a failed launch changes it.
        of_step: True if a training step changes it.
        lasts: True if its times stay valid when the code or a slider changes.
    """

    key: str
    make: Callable[[Board], View]
    of_time: bool = False
    of_failure: bool = False
    of_step: bool = False
    lasts: bool = False


def _of_profile(
    draw: Callable[[ProfileResult | None, ProfileResult | None, str], View],
) -> Callable[[Board], View]:
    """A card of the shown run's counters, beside the baseline's."""

    def make(board: Board) -> View:
        run, base = board.shown, board.pinned
        return draw(
            run.profile if run is not None else None,
            base.run.profile if base is not None else None,
            board.hue(run.name) if run is not None else SERIES[0],
        )

    return make


def _timeline(board: Board) -> View:
    return timeline(board.runs, board.pinned.run if board.pinned is not None else None, board.failures)


CARDS = (
    Card("timeline", _timeline, of_time=True, of_failure=True, lasts=True),
    Card("shapes", shapes, of_time=True, lasts=True),
    Card("memory", _of_profile(diagram)),
    Card("speed", _of_profile(speed_of_light)),
    Card("breakdown", _of_profile(breakdown)),
    Card("mix", _of_profile(mix)),
    Card("occupancy", _of_profile(fits)),
    Card("lds", _of_profile(lds)),
    Card("traffic", _of_profile(traffic)),
    Card("roofline", _of_profile(roofline)),
    Card("step", lambda board: step(*board.steps), of_step=True, lasts=True),
)
"""All cards, in the order of the page; a new card is one row here."""

TIME_KEYS = tuple(card.key for card in CARDS if card.of_time)
"""Cards that a time without counters changes."""

FAILURE_KEYS = tuple(card.key for card in CARDS if card.of_failure)
"""Cards that a failed launch changes."""

STEP_KEYS = tuple(card.key for card in CARDS if card.of_step)
"""Cards that a training step changes."""


def views(board: Board, keys: Collection[str] | None = None) -> list[View]:
    """Figures of a board, in the order of the page; those without data are empty, never missing.

    Args:
        keys: keys of the wanted figures; None for all.
    """
    cards = [card for card in CARDS if keys is None or card.key in keys]
    return [replace(card.make(board), lasts=card.lasts) for card in cards]
