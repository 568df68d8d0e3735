"""Live controls for a spec: a slider for each shape parameter, a Run button, figures that update in place."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from markupsafe import Markup

from workbench import runtime
from workbench.check.verify import verify
from workbench.errors import WorkbenchError, headline
from workbench.events import Event
from workbench.operators import Choice, KernelSpec, Range, Shape, shape_text, spec_of
from workbench.profile.results import ProfileResult, StepsProfile
from workbench.targets import of_same_generation
from workbench.views import grid
from workbench.views.badge import badge
from workbench.views.board import Board
from workbench.views.figures import View, views
from workbench.views.markup import block, bold, notice
from workbench.views.run_measurement import measure_launch
from workbench.views.static_copy import Copy, display_live

KEYS = ("timeline", "breakdown")
"""Keys of a panel's figures in `views.figures.views`."""

_FINE_STEPS = 512
"""A range of more steps gets a slider over chosen values: one pixel would be too many steps."""


def panel(spec: KernelSpec | str, *, device: str | None = None) -> Panel:
    """Shows sliders for the shape, a Run button, and figures that a run updates.

    A run verifies the kernel on fresh inputs (if you tick "verify"), times it and, on an emulated device,
    profiles it. The panel shows errors such as an unsupported shape.

    Args:
        spec: a KernelSpec or its name.
        device: the device chosen first; None for the default device.

    Returns:
        the panel; make it a cell's last value. `.run()` does what the button does.

    Raises:
        UnknownKernel: no kernel has this name.
        UsageError: `spec` is neither a spec nor a name.
    """
    return Panel(spec_of(spec, "panel"), device)


def control(name: str, parameter: Range | Choice, start: Any, shapes: Sequence[Shape]) -> Any:
    """The slider of a shape parameter, set to `start`; it stops at the values of `shapes` too.

    A choice without an order, such as a data type, is a list.
    """
    import ipywidgets as widgets

    common: dict[str, Any] = {
        "description": name,
        "tooltip": parameter.doc or f"{name}: {parameter}",
        "style": {"description_width": "7em"},
        "layout": widgets.Layout(width="24em"),
        "continuous_update": False,
        "value": start,
    }
    if isinstance(parameter, Choice):
        values = list(parameter.values)
        # A slider has an order: data types have none, and yes or no has no middle.
        ordered = len(values) > 2 and not any(isinstance(value, str) for value in values)
        kind = widgets.SelectionSlider if ordered else widgets.Dropdown
        if not ordered:
            del common["continuous_update"]
        return kind(options=values, **common)
    if (parameter.high - parameter.low) // parameter.step > _FINE_STEPS:
        used = [s[name] for s in shapes if name in s]
        return widgets.SelectionSlider(options=slider_values(parameter, [start, *used]), **common)
    return widgets.IntSlider(min=parameter.low, max=parameter.high, step=parameter.step, **common)


def slider_values(parameter: Range, also: Iterable[int]) -> list[int]:
    """Stops of a slider over a wide range: its powers of two, its ends, and `also`, in ascending order."""
    powers = (1 << i for i in range(parameter.high.bit_length()))
    top = parameter.high - (parameter.high - parameter.low) % parameter.step
    return sorted({v for v in (*powers, parameter.low, top, parameter.first, *also) if v in parameter})


class Panel:
    """Sliders for a spec, a Run button and the figures of its runs, as `panel` returns them.

    Attributes:
        controls: a widget for each parameter of the shape, by name.
        board: the runs made here.
        status: the widget with the last result or error.
        box: the ipywidgets box with all of it.
    """

    def __init__(self, spec: KernelSpec, device: str | None) -> None:
        self._spec = spec
        self.board = Board()
        self._copy: Copy | None = None
        self._build(device)

    @property
    def shape(self) -> Shape:
        """The shape that the sliders select."""
        return {name: control.value for name, control in self.controls.items()}

    def views(self) -> list[View]:
        """The figures as they are now, for a report."""
        return views(self.board, KEYS)

    @property
    def figures(self) -> dict[str, Any]:
        """The plotly figures as they were drawn last, by key: "timeline" and "breakdown"."""
        return {key: view.figure for key, view in self._shown.items()}

    def run(self, _: Any = None) -> None:
        """Builds and runs the kernel with the sliders' values, as the button does."""
        spec, shape, where = self._spec, self.shape, self._where.value
        self._button.disabled = True
        self._say(f"running {shape_text(shape)} …", "wb-dim")
        try:
            self._measure(spec, shape, where)
        except WorkbenchError as error:
            self._take("failed", {"kind": "run", "error": headline(error), "shape": shape, "device": where})
            self._say(str(error), "wb-bad")
        finally:
            self._button.disabled = False
            self._draw()

    @property
    def stale(self) -> str:
        """Why the figures are not those of the sliders; "" if they are."""
        run = self.board.shown
        return self.board.moved(run, self.shape) if run is not None else ""

    def _mark_stale(self, _: Any = None) -> None:
        self._grid.stale = reason = self.stale
        self._old.value = str(notice(f"stale: {reason}", "wb-warn")) if reason else ""

    def close(self) -> None:
        """Removes the widgets from the page and releases them."""
        grid.close(self.box)

    def _measure(self, spec: KernelSpec, shape: Shape, where: str) -> None:
        self._verdict.value = self._counters.value = ""
        if self._check.value:
            verified = verify(spec, shape=shape, device=where)
            self._verdict.value = verified._repr_html_()
            facts = {"passed": verified.passed, "shape": verified.shape, "device": where}
            self._take("verify", {**facts, "code": verified.code})
        result = measure_launch(spec, shape, where)
        if isinstance(result, ProfileResult | StepsProfile):
            self._counters.value = result._repr_html_()
            for profile in [result] if isinstance(result, ProfileResult) else result:
                self._take("profile", profile)
            timing = result.timing
        else:
            self._take("time", result)
            timing = result
        rate = f", {timing.rate.value:.4g} {timing.rate.unit}" if timing.rate is not None else ""
        self.status.value = str(block(bold(f"{timing.median.value:.4g} us"), rate, " ", badge(timing.median)))

    def _take(self, kind: str, data: Any) -> None:
        self.board.take(Event(0, kind, self._spec.name, data, time.time()))

    def _say(self, text: str, kind: str) -> None:
        self.status.value = str(notice(text, kind))

    def _draw(self) -> None:
        views = self.views()
        self._shown = {view.key: view for view in views}
        grid.put(self._grid, views)
        self._mark_stale()
        if self._copy is not None:
            self._copy.update(views, self._told)

    @property
    def _told(self) -> Markup:
        return Markup("").join(
            Markup(part.value) for part in (self._title, self.status, self._verdict, self._counters)
        )

    def _build(self, device: str | None) -> None:
        import ipywidgets as widgets

        spec = self._spec
        start = spec.shape()
        self.controls = {
            name: control(name, p, start[name], spec.shapes) for name, p in spec.parameters.items()
        }
        names = [d.name for d in runtime.devices() if of_same_generation(spec.targets, d.arch)]
        device_name = device if device is not None else runtime.device().name
        self._where = widgets.Dropdown(
            options=names,
            value=device_name if device_name in names else None,
            description="device",
            style={"description_width": "7em"},
            layout=widgets.Layout(width="24em"),
        )
        self._check = widgets.Checkbox(
            value=True, description="verify", indent=False, layout=widgets.Layout(width="7em")
        )
        self._button = widgets.Button(
            description="Run", button_style="primary", icon="play", tooltip=f"Run {spec.name}"
        )
        self._button.on_click(self.run)
        self.status: Any = widgets.HTML()
        self._verdict: Any = widgets.HTML()
        self._counters: Any = widgets.HTML()
        self._old: Any = widgets.HTML()
        for widget in self.controls.values():
            widget.observe(self._mark_stale, "value")
        views = self.views()
        self._shown = {view.key: view for view in views}
        self._grid = grid.grid([view.key for view in views])
        grid.put(self._grid, views)
        self._title: Any = widgets.HTML(str(block(bold(spec.name), " ", spec.doc)))
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        self.box = widgets.VBox(
            [
                self._title,
                widgets.HBox([*self.controls.values(), self._where], layout=row),
                widgets.HBox([self._button, self._check, self.status], layout=row),
                self._old,
                self._grid,
                self._verdict,
                self._counters,
            ]
        )

    def _ipython_display_(self, **_: Any) -> None:
        display_live(self.box, str(self))
        self._copy = Copy(f"Panel of {self._spec.name}", self.views(), self._told)

    def __repr__(self) -> str:
        return f"<Panel of {self._spec.name}>"
