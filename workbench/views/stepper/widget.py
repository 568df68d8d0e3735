"""The stepper's widget: stepper.js draws it, and asks for each step."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from markupsafe import Markup

from workbench.display import presents, shows
from workbench.errors import UsageError, WorkbenchError
from workbench.step.provenance import Provenance, folded
from workbench.step.stepper import Stepper
from workbench.views.markup import block, code, sheet, tag
from workbench.views.static_copy import display_live
from workbench.views.stepper.page import fixed, moved
from workbench.views.table import Cell, Table


@shows(Stepper)
def stepper_html(s: Stepper) -> Markup:
    """The stepper as plain text."""
    return block(Markup("<pre>{}</pre>").format(repr(s)))


@shows(Provenance)
def provenance_html(provenance: Provenance) -> Markup:
    """The element, what it is made of, and by which instructions."""
    return block(*_made_of(provenance), _causes(provenance))


def provenance_widgets(provenance: Provenance) -> list[Any]:
    """The same around the page of its stepper, which is where one looks first."""
    import ipywidgets as widgets

    head, causes = str(block(*_made_of(provenance))), str(block(_causes(provenance)))
    # As large as in an output: a widget's own letters are smaller.
    as_output = {"font_size": "var(--jp-content-font-size1)"}
    above, below = (widgets.HTML(page, style=as_output) for page in (head, causes))
    return [above, stepper_widget(provenance.stepper), below]


def _made_of(provenance: Provenance) -> tuple[Markup | str, ...]:
    head, *_ = str(provenance).splitlines()
    cut = tag("div", "more lies behind it than is followed", kind="wb-warn") if provenance.cut else ""
    return head, tag("div", "made of ", ", ".join(provenance.sources) or "no memory"), cut


def _causes(provenance: Provenance) -> Table:
    rows = [
        (Cell(line or "?", "wb-num"), Cell(code(text)), Cell(count, "wb-num"))
        for line, text, count in folded(provenance.causes)
    ]
    return Table(("line", "instruction", "times"), rows)


@presents(Stepper)
def present(s: Stepper) -> None:
    """Displays the live page."""
    import ipywidgets as widgets

    display_live(widgets.VBox([stepper_widget(s)]), repr(s))


def stepper_widget(s: Stepper) -> Any:
    """The page as a widget."""
    view = _stepper_class()()
    view.follow(s)
    return view


def act(s: Stepper, message: dict[str, Any]) -> None:
    """Performs an action that the page requested.

    Raises:
        UsageError: the stepper has no such action.
    """
    do, value = message.get("do"), message.get("value")
    if do in ("next", "previous", "run", "run_back"):
        getattr(s, do)()
    elif (do in ("step", "back", "goto", "choose") and isinstance(value, int)) or (
        do in ("to", "back_to") and isinstance(value, str | int)
    ):
        getattr(s, do)(value)
    elif do == "break" and isinstance(value, int):
        breakpoints = [breakpoint for breakpoint in s.breakpoints if breakpoint.line == value]
        for breakpoint in breakpoints:
            s.breakpoints.remove(breakpoint)
        if not breakpoints:
            s.break_at(value)
    elif do != "look":
        raise UsageError(f"unknown action {do!r} of a stepper")


@cache
def _stepper_class() -> Any:
    import anywidget

    files = resources.files("workbench.views.stepper")

    class StepperView(anywidget.AnyWidget):
        # The content is in no trait: a notebook saved with widget state would contain all of it.
        _esm = files.joinpath("stepper.js").read_text()
        _css = sheet() + files.joinpath("stepper.css").read_text()

        def follow(self, s: Stepper) -> None:
            """Shows a stepper; one page shows one."""
            self._stepper = s
            self.on_msg(self._answer)

        def _answer(self, _: Any, message: Any, __: Any) -> None:
            s = self._stepper
            if message.get("do") == "begin":
                self.send({"type": "fixed", **fixed(s)})
            error = ""
            try:
                if message.get("do") != "begin":
                    act(s, message)
            except WorkbenchError as wrong:
                error = str(wrong)
            self.send({"type": "moved", "error": error, **moved(s, message.get("tile", ""))})

    return StepperView
