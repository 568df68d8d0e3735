"""Live controls for a spec: a slider for each shape parameter, a Run button, figures that update in place."""

from __future__ import annotations

import html
import time
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.errors import WorkbenchError
from workbench.events import Event
from workbench.spec import Choice, KernelSpec, Range, Shape, spec_of
from workbench.views import grid
from workbench.views.badge import STYLE, badge
from workbench.views.board import Board
from workbench.views.figures import View, views
from workbench.views.saved import Copy, display_live
from workbench.views.timing import shape_label

KEYS = ("timeline", "breakdown")
"""Figures of a panel, of those that `views.figures.views` knows."""

_FINE_STEPS = 512
"""A range of more steps gets a slider over chosen values: one pixel would be too many steps."""


def panel(spec: KernelSpec | str, *, device: str | None = None) -> Panel:
    """Sliders for the shape, a Run button, and figures that a run updates.

    A run verifies the kernel on fresh inputs (where "verify" is ticked), times it, and on an emulated device
    profiles it. Errors such as an unsupported shape are shown in the panel.

    Args:
        spec: a KernelSpec or its name.
        device: the device chosen at first; the default device where it is None.

    Returns:
        the panel, shown by a notebook as a cell's last value. `.run()` is what the button does.

    Raises:
        UnknownKernel: no kernel has this name.
        UsageError: `spec` is neither a spec nor a name.
    """
    return Panel(spec_of(spec, "panel"), device)


def control(name: str, parameter: Range | Choice, start: Any, shapes: Sequence[Shape]) -> Any:
    """The slider of a shape parameter, set to `start`; it stops at the values of `shapes` too."""
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
        return widgets.SelectionSlider(options=list(parameter.values), **common)
    if (parameter.high - parameter.low) // parameter.step > _FINE_STEPS:
        used = [s[name] for s in shapes if name in s]
        return widgets.SelectionSlider(options=slider_values(parameter, [start, *used]), **common)
    return widgets.IntSlider(min=parameter.low, max=parameter.high, step=parameter.step, **common)


def slider_values(parameter: Range, also: Iterable[int]) -> list[int]:
    """Values worth a stop on a wide range: powers of two that it contains, its ends, and `also`, in order."""
    powers = (1 << i for i in range(parameter.high.bit_length()))
    top = parameter.high - (parameter.high - parameter.low) % parameter.step
    return sorted({v for v in (*powers, parameter.low, top, parameter.first, *also) if v in parameter})


class Panel:
    """What `panel` gives.

    Attributes:
        controls: a widget for each parameter of the shape, by name.
        board: the runs made here.
        figures: the plotly figures as they were drawn last, by key: "timeline" and "breakdown".
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
        """The sliders' values."""
        return {name: control.value for name, control in self.controls.items()}

    def views(self) -> list[View]:
        """The figures as they are now, for a report."""
        return views(self.board, KEYS)

    def run(self, _: Any = None) -> None:
        """Builds and runs the kernel with the sliders' values; what the button does."""
        spec, shape, where = self._spec, self.shape, self._where.value
        self._button.disabled = True
        self._say(f"running {shape_label(shape)} …", "wb-dim")
        try:
            self._measure(spec, shape, where)
        except WorkbenchError as error:
            first = str(error).partition("\n")[0]
            self._take("failed", {"kind": "run", "error": first, "shape": shape, "device": where})
            self._say(str(error), "wb-bad")
        finally:
            self._button.disabled = False
            self._draw()

    def close(self) -> None:
        """Takes the widgets off the page and lets go of them."""
        grid.close(self.box)

    def _measure(self, spec: KernelSpec, shape: Shape, where: str) -> None:
        from workbench.check.verify import verify
        from workbench.profile.profiler import profile_target
        from workbench.profile.timing import time_target
        from workbench.spec.subject import resolve

        self._verdict.value = self._counters.value = ""
        if self._check.value:
            verified = verify(spec, shape=shape, device=where)
            self._verdict.value = verified._repr_html_()
            told = {"passed": verified.passed, "shape": verified.shape, "device": where}
            self._take("verify", {**told, "code": verified.code})
        target = resolve(spec, shape=shape, device=where)
        if target.device.observes:
            profiled = profile_target(target)
            self._counters.value = profiled._repr_html_()
            self._take("profile", profiled)
            result = profiled.timing
        else:
            result = time_target(target)
            self._take("time", result)
        rate = f", {result.rate.value:.4g} {result.rate.unit}" if result.rate is not None else ""
        text = f"<b>{result.median.value:.4g} us</b>{rate} {badge(result.median)}"
        self.status.value = f'{STYLE}<div class="wb">{text}</div>'

    def _take(self, kind: str, data: Any) -> None:
        self.board.take(Event(0, kind, self._spec.name, data, time.time()))

    def _say(self, text: str, kind: str) -> None:
        self.status.value = f'{STYLE}<div class="wb {kind}"><pre>{html.escape(text)}</pre></div>'

    def _draw(self) -> None:
        shown = self.views()
        self.figures = {view.key: view.figure for view in shown}
        grid.put(self._grid, shown)
        if self._copy is not None:
            self._copy.update(shown, self._told)

    @property
    def _told(self) -> str:
        return f"{self._title}{self.status.value}{self._verdict.value}{self._counters.value}"

    def _build(self, device: str | None) -> None:
        import ipywidgets as widgets

        from workbench import runtime

        spec = self._spec
        start = spec.shape()
        self.controls = {
            name: control(name, p, start[name], spec.shapes) for name, p in spec.parameters.items()
        }
        names = [d.name for d in runtime.devices() if d.arch in spec.targets]
        chosen = device if device is not None else runtime.device().name
        self._where = widgets.Dropdown(
            options=names,
            value=chosen if chosen in names else None,
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
        self.status: Any = widgets.HTML(STYLE)
        self._verdict: Any = widgets.HTML()
        self._counters: Any = widgets.HTML()
        shown = self.views()
        self.figures = {view.key: view.figure for view in shown}
        self._grid = grid.grid(shown)
        self._title = f'{STYLE}<div class="wb"><b>{html.escape(spec.name)}</b> {html.escape(spec.doc)}</div>'
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        self.box = widgets.VBox(
            [
                widgets.HTML(self._title),
                widgets.HBox([*self.controls.values(), self._where], layout=row),
                widgets.HBox([self._button, self._check, self.status], layout=row),
                self._grid,
                self._verdict,
                self._counters,
            ]
        )

    def _ipython_display_(self, **_: Any) -> None:
        display_live(self.box, str(self))
        self._copy = Copy(f"Panel of {self._spec.name}", self.views(), self._told)

    def __repr__(self) -> str:
        return f"<Panel of {self._spec.name}: {len(self.board.runs)} runs>"
