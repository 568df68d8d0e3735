"""The copy of a live page that is saved with the notebook: figures and tables that need no kernel."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from workbench.display import in_terminal, shell
from workbench.views.figures import View
from workbench.views.markup import NOTHING, classed, tag
from workbench.views.picture import pdf_of_svg, pictures_of, text_of
from workbench.views.renderer import add_pictures

MIME_TYPE = "application/vnd.hipkittens.dashboard+json"
"""Marks the live page in a cell's output: the JupyterLab extension shows it only while the kernel has it."""

_WIDGET = "application/vnd.jupyter.widget-view+json"

_PLOTLY = "application/vnd.plotly.v1+json"

_EMPTY = {"text/html": "", "text/plain": ""}
"""An output in place, so that later updates have somewhere to go."""

_NOTE = Markup('<div{} data-outputs="{}">{} as it was on {}; run this cell again for the live one.{}</div>')


class Copy:
    """The outputs after a live page.

    Args:
        what: such as "Dashboard".
        views: the figures, always as many.
        more: text above their tables.

    Attributes:
        complete: whether the figures are in it. To a page that stays they come with `update`: drawing them
            takes seconds, and the live page is there to look at.
    """

    def __init__(self, view_name: str, views: Sequence[View], more: Markup = NOTHING) -> None:
        from IPython.display import display

        self._what = view_name
        self.complete = not _page_stays()
        self._drawn = [view.json if self.complete else "" for view in views]
        figures = [figure_bundle(view) if self.complete else _EMPTY for view in views]
        self._handles = [
            display(bundle, raw=True, display_id=f"workbench-copy-{id(self)}-{i}")  # type: ignore[no-untyped-call]
            for i, bundle in enumerate([note(view_name, views, more), *figures])
        ]

    def update(self, views: Sequence[View], more: Markup = NOTHING) -> None:
        """Replaces the saved copy wherever it is shown; output already printed in a terminal stays."""
        if in_terminal():
            return
        first, *handles = self._handles
        # There are no handles in a shell without a display.
        if first is not None:
            first.update(note(self._what, views, more), raw=True)
        for n, (handle, view) in enumerate(zip(handles, views, strict=True)):
            # A picture takes a tenth of a second.
            if handle is not None and view.json != self._drawn[n]:
                handle.update(figure_bundle(view), raw=True)
                self._drawn[n] = view.json


def _page_stays() -> bool:
    """Whether the cell that runs belongs to a page that shows updates after it ended.

    JupyterLab and Notebook name the cell in their requests. nbconvert and papermill do not, and end the
    kernel with the last cell.
    """
    kernel = getattr(shell(), "kernel", None)
    request = kernel.get_parent() if kernel is not None else {}
    return "cellId" in (request or {}).get("metadata", {})


def display_live(box: Any, text: str) -> None:
    """Displays a live page's widget; display its copy right after it.

    Args:
        box: the ipywidgets box.
        text: fallback text for front ends with neither widgets nor the extension.
    """
    from IPython.display import display

    # The user may show one of the page's figures next.
    add_pictures()
    live = box._repr_mimebundle_() or {}
    view = live.get(_WIDGET)
    ours = {MIME_TYPE: view} if view else {}
    display({**live, **ours, "text/plain": text}, raw=True)  # type: ignore[no-untyped-call]


def display_pictures(view_name: str, pictures: Sequence[tuple[str, str]]) -> None:
    """Displays the copy of a live view that never changes, right after it.

    Args:
        view_name: name of the view, such as "Timeline".
        pictures: SVG and plain text of each.
    """
    from IPython.display import display

    bundles = [
        {"image/svg+xml": picture, "application/pdf": pdf_of_svg(picture), "text/plain": text}
        for picture, text in pictures
    ]
    for bundle in (_note(view_name, len(bundles), NOTHING), *bundles):
        display(bundle, raw=True)  # type: ignore[no-untyped-call]


def note(view_name: str, views: Sequence[View], more: Markup = NOTHING) -> dict[str, Any]:
    """The first part of the copy; it tells copies.js how many outputs follow."""
    tables = Markup("").join(view.table for view in views if view.rows)
    if all(view.is_empty for view in views):
        more += tag("div", "Nothing was timed or profiled in it.", kind="wb-dim")
    return _note(view_name, len(views), more + tables)


def _note(view_name: str, outputs: int, more: Markup) -> dict[str, Any]:
    when = time.strftime("%Y-%m-%d %H:%M")
    text = str(_NOTE.format(classed("wb wb-static"), outputs, view_name, when, more))
    return {"text/html": text, "text/plain": f"{view_name} of {when}"}


def figure_bundle(view: View) -> dict[str, Any]:
    """A figure as plotly's own type and as a picture; as HTML too where plotly's renderers make that.

    One that has nothing to show yet is an output without content.

    The HTML is without plotly itself, of which a page has one: it would come again with every update.
    """
    import plotly.io

    if view.is_empty:
        return _EMPTY
    page = {}
    if "notebook" in str(plotly.io.renderers.default):
        page["text/html"] = plotly.io.to_html(
            view.tree, include_plotlyjs=False, full_html=False, validate=False
        )
    return {
        **page,
        _PLOTLY: {
            **json.loads(view.json),
            "config": {"responsive": True, "displaylogo": False},
        },
        **pictures_of(view.tree),
        "text/plain": text_of(view.tree),
    }
