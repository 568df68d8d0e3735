"""Live controls for a spec: a slider for each shape parameter, a Run button, figures that update in place."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.origin import Origin
from workbench.spec import Choice, KernelSpec, Range, Shape, spec_of
from workbench.views.badge import COLOURS, STYLE, badge, style
from workbench.views.timing import breakdown_bars, shape_label

if TYPE_CHECKING:
    from workbench.profile.timing import TimeResult

_HISTORY = 200
"""Runs that the timeline keeps."""

_FINE_STEPS = 512
"""A range of more steps gets a slider over chosen values: one pixel would be too many steps."""


def panel(spec: KernelSpec | str, *, device: str | None = None) -> Any:
    """Sliders for the shape, a Run button, and figures that a run updates.

    A run verifies the kernel on fresh inputs (where "verify" is ticked), times it, and on an emulated device
    profiles it. Errors such as an unsupported shape are shown in the panel.

    Args:
        spec: a KernelSpec or its name.
        device: the device chosen at first; the default device where it is None.

    Returns:
        an ipywidgets box, shown by a notebook as a cell's last value. `.run()` is what the button does.

    Raises:
        UnknownKernel: no kernel has this name.
        UsageError: `spec` is neither a spec nor a name.
    """
    return _build(spec_of(spec, "panel"), device)


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


def _build(spec: KernelSpec, device: str | None) -> Any:
    import ipywidgets as widgets
    import plotly.graph_objects as go

    from workbench import runtime

    start = spec.shape()
    controls = {name: control(name, p, start[name], spec.shapes) for name, p in spec.parameters.items()}
    names = [d.name for d in runtime.devices() if d.arch in spec.targets]
    chosen = device if device is not None else runtime.device().name
    where = widgets.Dropdown(
        options=names,
        value=chosen if chosen in names else None,
        description="device",
        style={"description_width": "7em"},
        layout=widgets.Layout(width="24em"),
    )
    check = widgets.Checkbox(
        value=True, description="verify", indent=False, layout=widgets.Layout(width="7em")
    )
    button = widgets.Button(
        description="Run", button_style="primary", icon="play", tooltip=f"Run {spec.name}"
    )
    status = widgets.HTML(STYLE)
    verdict = widgets.HTML()
    counters = widgets.HTML()

    timeline = go.FigureWidget(
        style(go.Figure(go.Scatter(mode="lines+markers", line_color=COLOURS[Origin.MODELLED])), [], "runs")
    )
    timeline.update_yaxes(title="us", rangemode="tozero")
    parts = go.FigureWidget(style(go.Figure(go.Bar(orientation="h")), [], "where the time goes"))
    for figure in (timeline, parts):
        figure.update_layout(height=300, width=520)
    history: list[tuple[str, TimeResult]] = []

    def shape() -> Shape:
        return {name: control.value for name, control in controls.items()}

    def show(result: TimeResult) -> None:
        history.append((f"{len(history) + 1}: {shape_label(result.shape)}", result))
        del history[:-_HISTORY]
        with timeline.batch_update():
            timeline.data[0].x = [label.partition(":")[0] for label, _ in history]
            timeline.data[0].y = [r.median.value for _, r in history]
            timeline.data[0].text = [f"{label}, {r.device}, {r.origin}" for label, r in history]
            timeline.data[0].marker.color = [COLOURS[r.origin] for _, r in history]
        _retitle(timeline, f"runs: last {result.median.value:.4g} us", [r.origin for _, r in history])
        units, values = breakdown_bars(result)
        with parts.batch_update():
            parts.data[0].x, parts.data[0].y = values, units
            parts.data[0].marker.color = COLOURS[result.origin]
        _retitle(parts, "where the time goes", [result.origin])

    def run(_: Any = None) -> None:
        from workbench.profile.profiler import profile_target
        from workbench.profile.target import resolve
        from workbench.profile.timing import time_target
        from workbench.verify import verify

        button.disabled = True
        status.value = f'{STYLE}<div class="wb wb-dim">running {html.escape(shape_label(shape()))} …</div>'
        try:
            if check.value:
                verdict.value = verify(spec, shape=shape(), device=where.value)._repr_html_()
            target = resolve(spec, shape=shape(), device=where.value)
            if target.device.emulated:
                profiled = profile_target(target)
                counters.value = profiled._repr_html_()
                result = profiled.timing
            else:
                result = time_target(target)
                counters.value = ""
            show(result)
            rate = f", {result.rate.value:.4g} {result.rate.unit}" if result.rate is not None else ""
            text = f"<b>{result.median.value:.4g} us</b>{rate} {badge(result.median)}"
            status.value = f'{STYLE}<div class="wb">{text}</div>'
        except WorkbenchError as error:
            status.value = f'{STYLE}<div class="wb wb-bad"><pre>{html.escape(str(error))}</pre></div>'
        finally:
            button.disabled = False

    button.on_click(run)
    left = widgets.VBox([*controls.values(), where, widgets.HBox([button, check]), status])
    box = widgets.VBox(
        [
            widgets.HTML(
                f'{STYLE}<div class="wb"><b>{html.escape(spec.name)}</b> {html.escape(spec.doc)}</div>'
            ),
            widgets.HBox([left, timeline, parts], layout=widgets.Layout(flex_flow="row wrap")),
            verdict,
            counters,
        ]
    )
    box.run = run
    box.controls = controls
    box.figures = (timeline, parts)
    box.status = status
    return box


def _retitle(figure: Any, title: str, origins: list[Origin]) -> None:
    """New title and badges for a figure that is on the screen."""
    figure.layout.annotations = ()
    style(figure, origins, title)
