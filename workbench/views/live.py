"""The dashboard: a live page of the runs of this process.

A board (`views.board`) takes the hub's events; figures (`views.figures`) are drawn from it into widgets
(`views.widgets`). Updates are batched (`views.draw_rate`): at most ten a second, and never so many that
drawing takes more than a fifth of the time.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.check.verify import verify
from workbench.errors import WorkbenchError
from workbench.events import Event, Hub, hub
from workbench.history import recorder
from workbench.operators import KernelSpec, Shape, kernels, shape_text, spec_of
from workbench.views import grid, runlist
from workbench.views.board import Board
from workbench.views.controls import control
from workbench.views.draw_rate import DrawRate
from workbench.views.figures import CARDS, FAILURE_KEYS, STEP_KEYS, TIME_KEYS, View, views
from workbench.views.html import report
from workbench.views.job_thread import JobThread
from workbench.views.markup import notice
from workbench.views.run_measurement import measure_launch
from workbench.views.run_summary import RunSummary
from workbench.views.static_copy import Copy, display_live
from workbench.views.widgets import Widgets

NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset({"all"})
_DRAWS = {
    "time": frozenset(TIME_KEYS),
    "profile": EVERYTHING,
    "failed": frozenset(FAILURE_KEYS),
    "step": frozenset(STEP_KEYS),
}
"""Figures that an event changes; the head and the log are written for every event."""

CARDS_KEY = "cards"
"""Key of the cards and their order in the file of runs."""

STATIC_SECONDS = 2.0
"""Minimum seconds between two updates of the copy that is saved with the notebook."""

STATIC_IDLE = 10.0
"""Minimum pause between updates of the saved copy, as a multiple of the update's duration."""


def dashboard(spec: KernelSpec | str | None = None, *, device: str | None = None) -> Dashboard:
    """Opens a live page of everything that you time, profile, verify and sweep in this process.

    Make it a cell's last value. It shows runs, times over shapes with published figures, speed of light, a
    breakdown of the time, instruction mix, occupancy, LDS banks, memory traffic, roofline and the latest
    training step (`wb.profile_step`), each with its origin and its data as a table. "Pin" makes a run the
    baseline, and every figure compares with it; a training step is compared with the one before. Choose a
    kernel to get a slider for each of its parameters; move one to build and run the kernel again.

    Args:
        spec: the kernel whose sliders appear first, or its name.
        device: device selected first; None for the default device.

    Raises:
        UnknownKernel: no kernel has this name.
        UsageError: `spec` is neither a spec nor a name.
    """
    kernel = spec_of(spec, "dashboard") if spec is not None else None
    return Dashboard(kernel, device)


class Dashboard:
    """The live page that `dashboard` returns.

    Attributes:
        board: data of the page.
        widgets: widgets of the page.
        box: the ipywidgets box of the page.
        controls: sliders of the chosen kernel, by parameter.
        draw_rate: limits how often the page is drawn.
        updates: number of times that it was drawn.
    """

    def __init__(
        self, spec: KernelSpec | None = None, device: str | None = None, *, source: Hub | None = None
    ) -> None:
        source = source if source is not None else hub
        # Another hub belongs to a test or a replay: its events did not run in this process.
        self._recorder = recorder.start() if source is hub else None
        self.board = Board(recorder=self._recorder)
        self.board.extend(source.history(), source.dropped())
        self.updates = 0
        self._lock = threading.RLock()
        self._drawn = -1
        self._due = EVERYTHING
        self._busy = False
        self._copy: Copy | None = None
        self._copy_next = 0.0
        self._copied = -1
        self._closed = threading.Event()
        self._copying = JobThread(self._copy_failed)
        self._moved_from: int | None = None
        self._shown: dict[str, View] = {}
        self.widgets = Widgets([card.key for card in CARDS], device, self._summary_shown)
        self.box = self.widgets.box
        self.draw_rate = DrawRate(self._draw_in_time)
        self.choose(spec)
        self._restore_cards()
        self._listen_to_widgets()
        self.refresh()
        # The hub must not keep a dashboard alive that is no longer shown.
        taking = weakref.WeakMethod(self.take)
        self._unsubscribe = source.subscribe(lambda event: take(event) if (take := taking()) else None)

    def _listen_to_widgets(self) -> None:
        page = self.widgets
        page.pin.on_click(self.pin)
        page.run.on_click(self.run)
        page.changed.on_click(self.what_changed)
        page.grid.observe(self._keep_cards, ["order", "hidden"])
        runlist.listen(
            page.runs,
            {
                "show": lambda message: self.show(int(message["number"])),
                "pin": lambda message: self._pin_run(int(message["number"])),
                "unpin": lambda message: self._unpin(str(message["name"])),
                "compare": lambda message: self._compare_with(str(message["name"])),
                "changes": lambda message: self.what_changed(since=int(message["number"])),
            },
        )
        page.kernel.observe(self._kernel_chosen, "value")

    def _kernel_chosen(self, change: Any) -> None:
        if not self.widgets.quiet:
            self.choose(kernels[change["new"]] if change["new"] else None)

    def _moved(self, _: Any) -> None:
        # A cell may have profiled this kernel at another shape; its figures are not stale.
        run = self.board.shown
        self._moved_from = run.number if run is not None else None
        if self.widgets.live.value:
            self.run()
        else:
            self.widgets.write_stale(self.stale)

    def choose(self, spec: KernelSpec | None) -> None:
        """Offers another kernel's parameters; none if it is None."""
        self._spec = spec
        self.controls: dict[str, Any] = {}
        if spec is not None:
            start = spec.shape()
            self.controls = {n: control(n, p, start[n], spec.shapes) for n, p in spec.parameters.items()}
            for slider in self.controls.values():
                slider.observe(self._moved, "value")
        with self.widgets.quietly():
            self.widgets.kernel.value = spec.name if spec is not None and spec.name in kernels else ""
        self.widgets.sliders.children = tuple(self.controls.values())
        self.widgets.run.disabled = spec is None

    def run(self, _: Any = None) -> None:
        """Builds and runs the chosen kernel with the sliders' values: verified, then profiled or timed."""
        if self._spec is None or self._busy:
            return
        page = self.widgets
        self._busy = page.run.disabled = True
        spec, shape, where = self._spec, self.shape, page.where.value
        page.say(f"running {spec.name}, {shape_text(shape)} …", "wb-dim")
        try:
            started = time.perf_counter()
            if page.check.value:
                verify(spec, shape=shape, device=where)
            measure_launch(spec, shape, where)
            self.refresh()
            page.say(f"done in {time.perf_counter() - started:.2f} s", "wb-dim")
        except WorkbenchError as error:
            page.say(str(error), "wb-bad")
        finally:
            self._busy = page.run.disabled = False

    @property
    def shape(self) -> Shape:
        """The shape that the sliders select."""
        return {name: control.value for name, control in self.controls.items()}

    def pin(self, _: Any = None) -> None:
        """Makes the shown run a baseline, or drops it if it is one."""
        run = self.board.shown
        names = [b.name for b in self.board.baselines if run and b.run.number == run.number]
        with self._told():
            if names:
                self.board.unpin(names[0])
            else:
                self.board.pin()
        self.refresh()

    def _pin_run(self, number: int) -> None:
        with self._told():
            self.board.show(number)
            self.board.pin()
        self.refresh()

    def _unpin(self, name: str) -> None:
        with self._told():
            self.board.unpin(name)
        self.refresh()

    def _compare_with(self, name: str) -> None:
        self.board.compare_with(name)
        self.refresh()

    def what_changed(self, _: Any = None, *, since: int | None = None) -> None:
        """Shows the differences between the shown run and the baseline, or the run of a number."""
        run, pinned = self.board.shown, self.board.pinned
        before = since if since is not None else pinned.run.number if pinned is not None else None
        if run is None or before is None:
            return
        with self._told():
            changes = self.board.changes(before, run.number)
            text = 'no history is kept: HIPKITTENS_HISTORY is "off"'
            self.widgets.write_changes(changes._repr_html_() if changes is not None else str(notice(text)))

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Shows errors raised by a button's action beside the button."""
        try:
            yield
        except WorkbenchError as error:
            self.widgets.say(str(error), "wb-bad")

    @property
    def stale(self) -> str:
        """Why the figures of the shown run are not those of the settings and the code; "" if they are."""
        run, spec = self.board.shown, self._spec
        if run is None:
            return ""
        moved = self._moved_from == run.number
        if moved and spec is not None and spec.name == run.name:
            return self.board.moved(run, self.shape) or self.board.stale(run)
        return self.board.stale(run)

    def _restore_cards(self) -> None:
        """Restores the arrangement of cards of this folder's last dashboard."""
        stored = self._setting(CARDS_KEY)
        keys = [str(key) for key in self.widgets.grid.order]
        if stored:
            order = [key for key in stored.get("order", ()) if key in keys]
            # A card that was added since is where the page has it.
            for place, key in enumerate(keys):
                if key not in order:
                    order.insert(place, key)
            self.widgets.grid.order = order
            self.widgets.grid.hidden = [key for key in stored.get("hidden", ()) if key in keys]

    def _setting(self, key: str) -> dict[str, Any]:
        try:
            text = self._recorder.store.setting(key) if self._recorder is not None else None
            value = json.loads(text) if text else {}
        except (WorkbenchError, ValueError):
            value = {}
        return value if isinstance(value, dict) else {}

    def _keep_cards(self, _: Any) -> None:
        if self._recorder is not None:
            page = self.widgets.grid
            with self._told():
                cards = {"order": list(page.order), "hidden": list(page.hidden)}
                self._recorder.store.keep_setting(CARDS_KEY, json.dumps(cards))

    @property
    def figures(self) -> dict[str, Any]:
        """The plotly figures as they were drawn last, by key."""
        return {key: view.figure for key, view in self._shown.items()}

    def show(self, number: int) -> None:
        """Draws the counters of the run of this number."""
        self.board.show(number)
        self.refresh()

    def views(self) -> list[View]:
        """The figures as they are now, for a report."""
        return views(self.board)

    def report(self, path: str | Path, title: str = "HipKittens dashboard") -> Path:
        """Writes the figures and their tables as one HTML page that needs nothing else."""
        run = self.board.shown
        return report(path, *([RunSummary(run)] if run is not None else []), *self.views(), title=title)

    def close(self) -> None:
        """Stops following events, removes the widgets from the page and releases them."""
        self._unsubscribe()
        self._closed.set()
        self.draw_rate.cancel()
        self.widgets.cards.close()
        grid.close(self.box)

    def take(self, event: Event) -> None:
        """Takes an event of the hub; draws soon, in another thread, so the publisher never waits for that."""
        self.board.take(event)
        changes = _DRAWS.get(event.kind, NOTHING)
        self._due |= changes
        self.draw_rate.draw_in(self.draw_rate.wait(figures=bool(changes)))

    def refresh(self) -> None:
        """Draws all parts of the page now."""
        self._due = EVERYTHING
        self._drawn = -1
        self._draw()
        self.draw_rate.asked()

    def _draw(self) -> None:
        with self._lock:
            self.draw_rate.cancel()
            if self._drawn == self.board.version:
                return
            started, worked = time.monotonic(), time.thread_time()
            due, self._due = self._due, NOTHING
            self._drawn = self.board.version
            if due:
                drawn = views(self.board, None if due >= EVERYTHING else due)
                grid.put(self.widgets.grid, drawn)
                self._shown.update((view.key, view) for view in drawn)
            if due >= EVERYTHING:
                pinned = self.board.pinned
                self.widgets.cards.put(self.board.shown, pinned.run if pinned is not None else None)
            self.widgets.write_progress(self.board.progress)
            self.widgets.write_summary(self.board)
            self.widgets.write_stale(self.stale)
            self.widgets.write_log(self.board)
            self.updates += 1
            took, worked = time.monotonic() - started, time.thread_time() - worked
            self.draw_rate.drawn(took, worked, figures=bool(due))
            self._keep_copy()

    def _draw_in_time(self) -> None:
        try:
            self._draw()
        except Exception as error:
            # An exception in the timer's thread would be lost.
            self.widgets.say(f"drawing failed: {type(error).__name__}: {error}", "wb-bad")

    def _copy_failed(self, error: Exception) -> None:
        self.widgets.say(f"the copy for the notebook failed: {type(error).__name__}: {error}", "wb-bad")

    def _ipython_display_(self, **_: Any) -> None:
        display_live(self.box, str(self))
        self._copy = Copy("Dashboard", list(self._shown.values()), self.widgets.cards.html)
        self._copied = self.board.version if self._copy.complete else -1
        self._keep_copy()

    def _summary_shown(self) -> None:
        """The summary is shown, after the figures: it is kept with them."""
        self._copied = -1
        self._keep_copy()

    def _keep_copy(self) -> None:
        """Replaces the copy saved with the notebook, in a thread: pictures take longer than figures."""
        if self._copy is not None and self._copied != self.board.version:
            self._copying.run(self._replace_copy)

    def _replace_copy(self) -> None:
        """Writes the copy in its current state, not too often."""
        while (wait := self._copy_next - time.monotonic()) > 0 and not self._closed.wait(wait):
            pass
        if self._copy is None or self._closed.is_set():
            return
        started = time.monotonic()
        with self._lock:
            self._copied, drawn = self.board.version, list(self._shown.values())
        self._copy.update(drawn, self.widgets.cards.html)
        now = time.monotonic()
        self._copy_next = now + max(STATIC_SECONDS, STATIC_IDLE * (now - started))

    def wait(self) -> None:
        """Waits until the summary is shown and the copy that is saved with the notebook is written."""
        self.widgets.cards.wait()
        self._copying.wait()

    def __repr__(self) -> str:
        run = self.board.shown
        return f"<Dashboard of {len(self.board.runs)} runs{f', {run.label}' if run is not None else ''}>"
