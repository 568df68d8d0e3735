"""Sliders for hypothetical changes to a launch, and the modelled time with them."""

from __future__ import annotations

from typing import Any

from workbench.profile.results import ProfileResult
from workbench.views.badge import badge
from workbench.views.job_thread import JobThread
from workbench.views.markup import block, bold, tag

NAMES = {
    "bank_conflicts": "bank conflicts kept",
    "l1_hit": "L1 hit rate",
    "l2_hit": "L2 hit rate",
    "waves_per_simd": "waves of a SIMD",
    "clock": "clock, GHz",
}
"""The fields of `profile.what_if.Change` that have a slider."""


class WhatIf:
    """The sliders of one profile.

    Attributes:
        box: box with everything.
        sliders: sliders by field of a change.
        answer: the modelled time, as HTML.
    """

    def __init__(self) -> None:
        import ipywidgets as widgets

        self._profile: ProfileResult | None = None
        self._quiet = False
        self._start: dict[str, float] = {}
        self._work = JobThread(self._failed)
        share = {"min": 0.0, "max": 1.0, "step": 0.05}
        ranges: dict[str, dict[str, float]] = {
            "bank_conflicts": share,
            "l1_hit": share,
            "l2_hit": share,
            "waves_per_simd": {"min": 1.0, "max": 8.0, "step": 1.0},
            "clock": {"min": 0.5, "max": 2.4, "step": 0.05},
        }
        self.sliders: dict[str, Any] = {
            name: widgets.FloatSlider(
                **limits,
                description=NAMES[name],
                continuous_update=False,
                readout_format=".3g",
                style={"description_width": "9.5em"},
                layout=widgets.Layout(width="23em"),
            )
            for name, limits in ranges.items()
        }
        for slider in self.sliders.values():
            slider.observe(self._moved, "value")
        self._reset: Any = widgets.Button(description="As it is", layout=widgets.Layout(width="6em"))
        self._reset.on_click(lambda _: self._back())
        self.answer: Any = widgets.HTML()
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        inside = [widgets.HBox(list(self.sliders.values()), layout=row), self._reset]
        folded = widgets.Accordion(children=[widgets.VBox(inside)], titles=("What if",))
        self.box: Any = widgets.VBox([folded, self.answer])

    def put(self, profile: ProfileResult) -> None:
        """Sets the sliders to a profile's present values."""
        self._profile = profile
        self.box.layout.display = "" if profile.complete.again is not None else "none"
        self._back()

    def changes(self) -> dict[str, float]:
        """The changed values, as arguments of `profile.what_if`."""
        values = {name: slider.value for name, slider in self.sliders.items()}
        moved = {name: value for name, value in values.items() if value != self._start.get(name)}
        if "clock" in moved:
            moved["clock"] *= 1e9
        return moved

    def wait(self) -> None:
        """Waits for the answer."""
        self._work.wait()

    def _back(self) -> None:
        profile = self._profile
        if profile is None or profile.model is None:
            return
        rates = {"l1_hit": "L1 hit rate", "l2_hit": "L2 hit rate"}
        figures = {key: profile.metrics[name].figure for key, name in rates.items()}
        now = {key: (figure.value / 100 if figure is not None else 0.0) for key, figure in figures.items()}
        now |= {"bank_conflicts": 1.0, "waves_per_simd": profile.resources.occupancy.waves_per_simd}
        now["clock"] = (profile.model.clock_hz or profile.machine.clock_hz) / 1e9
        self._quiet = True
        try:
            for name, slider in self.sliders.items():
                if name == "clock":
                    slider.max = profile.machine.clock_hz / 1e9
                if name == "waves_per_simd":
                    slider.max = profile.resources.occupancy.most
                slider.value = now[name]
            # A slider clips values to its range.
            self._start = {name: slider.value for name, slider in self.sliders.items()}
        finally:
            self._quiet = False
        self.answer.value = ""

    def _moved(self, _: Any) -> None:
        profile, changes = self._profile, self.changes() if not self._quiet else {}
        if self._quiet or profile is None:
            return
        if not changes:
            self.answer.value = ""
            return
        self.answer.value = str(block(tag("div", "modelling …", kind="wb-dim")))
        self._work.run(lambda: self._answer(profile, changes))

    def _answer(self, profile: ProfileResult, changes: dict[str, float]) -> None:
        model = profile.what_if(without=(), **changes)
        assert profile.model is not None
        text = ", ".join(f"{name}={value:.4g}" for name, value in changes.items())
        gain = profile.model.seconds / model.seconds
        if not self._work.is_asked:
            self.answer.value = str(
                block(
                    tag("div", bold(f"{gain:.2f} times as fast"), f": {model.time.value:.4g} us with {text} ",
                        badge(model.time))
                )
            )  # fmt: skip

    def _failed(self, error: Exception) -> None:
        self.answer.value = str(block(tag("div", str(error), kind="wb-bad")))
