"""Timelines of waves: live in a notebook, as a picture in reports and exported pages."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from workbench.display import presents, shows
from workbench.profile.timelines import Timeline, Timelines
from workbench.views.markup import block, tag
from workbench.views.waves import pack, show, waves_svg


@shows(Timeline)
def timeline_html(line: Timeline) -> Markup:
    """A timeline's picture, and what is above it in words."""
    return _html((line,))


@shows(Timelines)
def timelines_html(lines: Timelines) -> Markup:
    """Pictures of several, one under the other."""
    return _html(lines)


@presents(Timeline)
def present(line: Timeline) -> None:
    """Displays a timeline live."""
    show((line,))


@presents(Timelines)
def present_all(lines: Timelines) -> None:
    """Displays several live, one under the other."""
    show(lines)


def _html(lines: Sequence[Timeline]) -> Markup:
    # The picture is made by this package; texts in it are escaped.
    picture = Markup(waves_svg([pack(line) for line in lines]))
    return block(picture, *(tag("div", str(line), kind="wb-dim") for line in lines))
