"""The widget that shows a dashboard's figures; grid.js is its front end.

plotly's own FigureWidget carries all of plotly.js, once for each figure; here the page asks for it once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from workbench.views.markup import sheet

if TYPE_CHECKING:
    from workbench.views.figures import View


def grid(keys: Sequence[str]) -> Any:
    """A widget with a card for each key of a view, in this order; `put` fills it."""
    return _grid_class(tuple(keys))()


def put(widget: Any, views: Sequence[View]) -> None:
    """Shows views in their cards; only differences are sent, in one message."""
    with widget.hold_sync():
        for view in views:
            setattr(widget, trait(view.key), text(view))


def close(widget: Any) -> None:
    """Closes a widget and its children, which would outlive the box alone."""
    for child in getattr(widget, "children", ()):
        close(child)
    for name in ("layout", "style"):
        part = getattr(widget, name, None)
        if part is not None and hasattr(part, "comm"):
            part.close()
    widget.close()


def trait(key: str) -> str:
    """Name of the trait that holds a figure."""
    return f"figure_{key}"


def text(view: View) -> str:
    """A card's content as JSON: the figure, its table as HTML, its title, the sentence that replaces an empty
    figure, and `lasts`, which is true if it is never stale.
    """
    more = {"table": view.table, "title": view.title, "sentence": view.sentence, "lasts": view.lasts}
    encoded = json.dumps(more)
    return f'{{"figure":{view.json},{encoded[1:]}'


@cache
def _grid_class(keys: tuple[str, ...]) -> Any:
    import anywidget
    import traitlets

    files = resources.files("workbench.views")

    class Grid(anywidget.AnyWidget):
        _esm = files.joinpath("copies.js").read_text() + files.joinpath("grid.js").read_text()
        _css = sheet() + files.joinpath("grid.css").read_text()

        def __init__(self) -> None:
            super().__init__(order=list(keys), hidden=[])
            self.on_msg(self._answer)

        def _answer(self, _: Any, message: Any, buffers: Any) -> None:
            if message.get("type") == "plotly":
                from plotly.offline import get_plotlyjs

                self.send({"type": "plotly"}, buffers=[get_plotlyjs().encode()])

    figures = {trait(key): traitlets.Unicode("").tag(sync=True) for key in keys}
    settings = {
        "order": traitlets.List(traitlets.Unicode()).tag(sync=True),
        "hidden": traitlets.List(traitlets.Unicode()).tag(sync=True),
        "stale": traitlets.Unicode("").tag(sync=True),
    }
    return type("Grid", (Grid,), {**settings, **figures})
