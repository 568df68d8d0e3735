"""Buttons in a result's table that open something below it: the stepper at a finding or where a wrong number
was made, or whose fault a wrong number is.

The table is plain HTML and stays in a saved notebook; its buttons are hidden. A widget below it, which lives
as long as the kernel has it, shows them and answers their clicks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from workbench.check.results import Diagnosis
from workbench.errors import WorkbenchError
from workbench.step.provenance import Provenance
from workbench.step.stepper import Stepper
from workbench.views.markup import block, tag
from workbench.views.static_copy import display_live
from workbench.views.stepper.widget import provenance_widgets, stepper_widget

Opened = Stepper | Provenance | Diagnosis

_numbers = itertools.count()

BUTTON = Markup('<button class="wb-open" data-wb-open="{}:{}" hidden title="{}">{}</button>')


def new_key() -> str:
    """A key that connects a displayed table with its widget."""
    return f"workbench-open-{next(_numbers)}"


def button(key: str, number: int, text: str, tip: str) -> Markup:
    """A button that opens something by its number; a page without the widget does not show it."""
    return BUTTON.format(key, number, tip, text)


def display_opening(table: Markup, text: str, key: str, opens: Callable[[int], Opened]) -> None:
    """Displays a table with buttons, and below it the view that a button opens.

    Args:
        table: HTML with buttons of the key.
        text: text for front ends without HTML.
        opens: returns the view for a button's number.
    """
    import ipywidgets as widgets

    display_table(table, text)
    links = _opener_class()(key=key)
    box = widgets.VBox([links])
    links.answer(box, opens)
    display_live(box, "")


def display_table(table: Markup, text: str) -> None:
    """Displays a table alone."""
    from IPython.display import display

    display({"text/html": str(table), "text/plain": text}, raw=True)  # type: ignore[no-untyped-call]


def _widgets(opened: Opened) -> list[Any]:
    if isinstance(opened, Stepper):
        return [stepper_widget(opened)]
    if isinstance(opened, Provenance):
        return list(provenance_widgets(opened))
    import ipywidgets as widgets

    return [widgets.HTML(str(block(tag("div", opened.text, kind="wb-warn"))))]


@cache
def _opener_class() -> Any:
    import anywidget
    import traitlets

    class Opener(anywidget.AnyWidget):
        _esm = resources.files("workbench.views").joinpath("opening.js").read_text()
        key = traitlets.Unicode().tag(sync=True)

        def answer(self, box: Any, opens: Callable[[int], Opened]) -> None:
            """Puts what is opened into a box, below the buttons' widget."""
            self._box, self._opens = box, opens
            self.on_msg(self._open)

        def _open(self, _: Any, message: Any, __: Any) -> None:
            error, widgets = "", []
            try:
                opened = self._opens(int(message["open"]))
                widgets = _widgets(opened)
            except Exception as wrong:  # Whatever the error is, the page waits for a response.
                error = str(wrong) if isinstance(wrong, WorkbenchError) else repr(wrong)
            self._box.children = (self, *widgets)
            self.send({"opened": message["open"], "error": error})

    return Opener
