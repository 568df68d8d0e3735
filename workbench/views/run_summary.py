"""The summary of a run: verdict and advice, what-if, the waves' timeline, where the time goes.

The verdict is shown at once; the rest is modelled and packed in a thread, and appears when it is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from workbench.profile.results import ProfileResult
from workbench.profile.timelines import Timeline
from workbench.views.advice import advice_list
from workbench.views.board import Run
from workbench.views.job_thread import JobThread
from workbench.views.markup import NOTHING, block, bold, details, tag
from workbench.views.stalls import tree_html, waves_html
from workbench.views.timelines import timeline_html
from workbench.views.verdict import verdict
from workbench.views.waves import waves_widget
from workbench.views.waves.packed import pack
from workbench.views.waves.widget import put
from workbench.views.what_if import WhatIf

_WAITING = tag("div", "the model looks for advice …", kind="wb-dim")


class SummaryCards:
    """The first cards of a dashboard.

    Attributes:
        first: verdict and advice as HTML, above everything else.
        box: box with the other widgets.
        tree: breakdown of the time, as HTML.
        waves: the timeline.
        what_if: sliders for hypothetical changes.
    """

    def __init__(self, done: Callable[[], None]) -> None:
        import ipywidgets as widgets

        self._done = done
        self._closed = False
        self._shown: ProfileResult | None = None
        self._below: ProfileResult | None = None
        self._html = NOTHING
        self._work = JobThread(self._failed)
        self.first: Any = widgets.HTML()
        self.tree: Any = widgets.HTML()
        self.waves: Any = waves_widget()
        self.what_if = WhatIf()
        self.box: Any = widgets.VBox([self.what_if.box, self.waves, self.tree])
        self.box.layout.display = "none"

    def put(self, run: Run | None, base: Run | None = None) -> None:
        """Shows the summary of a run; empty for a run without counters.

        Args:
            base: baseline, whose timeline is drawn below the run's on the same scale.
        """
        below = base.profile if base is not None else None
        below = below if run is not None and below is not run.profile else None
        profile = run.profile if run is not None else None
        self.box.layout.display = "none" if profile is None else ""
        if run is None or profile is None:
            self._shown, self._below, self._html = None, None, NOTHING
            self.first.value = ""
            return
        head = _head(run, profile)
        if profile is self._shown:
            self._write_first(head, profile)
            if below is self._below:
                return
        else:
            self.what_if.put(profile)
        self._shown, self._below, self._html = profile, below, NOTHING
        self._write_first(head, profile)
        self._work.run(lambda: self._fill(head, profile, below))

    def _write_first(self, head: Markup, profile: ProfileResult) -> None:
        """Advice that was found before is there at once."""
        is_ready = profile.complete.again is None or "_advice" in vars(profile.complete)
        self.first.value = str(block(head, _advice(profile) if is_ready else _WAITING))

    def _fill(self, head: Markup, profile: ProfileResult, below: ProfileResult | None) -> None:
        lines = [result.timeline for result in (profile, below) if result is not None]
        tree = trees_html(profile)
        if self._work.is_asked or self._closed:
            return
        put(self.waves, [pack(line) for line in lines if line is not None])
        self.tree.value = str(tree)
        first = block(head, _advice(profile))
        self.first.value = str(first)
        self._html = summary_html(first, lines[0], tree)
        if not self._closed:
            self._done()

    def _failed(self, error: Exception) -> None:
        if not self._closed:
            self.tree.value = str(block(tag("div", f"{type(error).__name__}: {error}", kind="wb-bad")))

    @property
    def html(self) -> Markup:
        """The summary as HTML that is saved with the notebook."""
        return self._html

    def wait(self) -> None:
        """Waits until everything is shown."""
        self._work.wait()
        self.what_if.wait()

    def close(self) -> None:
        """Discards work in progress; nothing more is shown."""
        self._closed = True


class RunSummary:
    """The summary of a run as an item of a report."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def _repr_html_(self) -> str:
        profile = self._run.profile
        if profile is None:
            return ""
        first = block(_head(self._run, profile), _advice(profile))
        return str(summary_html(first, profile.timeline, trees_html(profile)))


def summary_html(first: Markup, line: Timeline | None, tree: Markup) -> Markup:
    """The summary without widgets: verdict and advice, the timeline, and where the time goes."""
    parts = [first]
    if line is not None:
        parts.append(timeline_html(line))
    if tree:
        parts.append(details("where the time goes", tree))
    return NOTHING.join(parts)


def trees_html(profile: ProfileResult) -> Markup:
    """Trees of time by reason, and by SIMD and wave; empty without a simulation."""
    tree, waves = profile.stalls, profile.wave_stalls
    if tree is None:
        return NOTHING
    return tree_html(tree) + (waves_html(waves) if waves is not None else NOTHING)


def _head(run: Run, profile: ProfileResult) -> Markup:
    title = Markup("{} {}").format(bold(run.label), tag("span", f"on {run.timing.device}", kind="wb-dim"))
    return tag("div", title) + verdict(profile, run.verified)


def _advice(profile: ProfileResult) -> Markup:
    return advice_list(profile.advice, brief=True) if profile.complete.again is not None else NOTHING
