"""The dashboard: one page that follows what happens in this process while it happens.

A board (`views.board`) takes the hub's events; figures (`views.figures`) are drawn from it. Updates are
batched: at most ten a second, and never so many that drawing takes more than a fifth of the time.
"""

from __future__ import annotations

import contextlib
import html
import threading
import time
import weakref
from typing import Any

from workbench.errors import WorkbenchError
from workbench.events import Event, Hub, hub
from workbench.spec import KernelSpec, Shape, kernels, spec_of
from workbench.views import grid
from workbench.views.badge import STYLE, badge
from workbench.views.board import Board
from workbench.views.figures import TIME_KEYS, View, views
from workbench.views.saved import Copy, display_live

INTERVAL = 0.1
"""Seconds between two updates, at least."""

IDLE = 4.0
"""Drawing is followed by a pause of so many times its work, at least: live figures are not to cost more than
a fifth of the run that they show."""

BUSY = 1.5
"""And of so many times its length."""

LOG_LINES = 5
"""Lines of the log on the page, the latest."""

NOTHING: frozenset[str] = frozenset()
EVERYTHING = frozenset({"all"})
_DRAWS = {"time": frozenset(TIME_KEYS), "profile": EVERYTHING, "failed": frozenset({"timeline"})}
"""Figures that an event changes; the head and the log are written for every one."""

STATIC_SECONDS = 2.0
"""Seconds between two updates of the copy that is saved with the notebook, at least."""


def dashboard(spec: KernelSpec | str | None = None, *, device: str | None = None) -> Dashboard:
    """A live page of everything that is timed, profiled, verified and swept in this process.

    Shown as a cell's last value. Figures: runs, times over shapes beside published figures, speed of light,
    where the time goes, instruction mix, occupancy, LDS banks, memory traffic, roofline; each with its origin
    and its data as a table. "Pin" makes the shown run a baseline, and every figure the comparison with it.
    Choosing a kernel gives a slider for each of its parameters; moving one builds and runs it again.

    Args:
        spec: the kernel whose sliders are shown at first, or its name.
        device: the device chosen at first; the default device where it is None.

    Raises:
        UnknownKernel: no kernel has this name.
        UsageError: `spec` is neither a spec nor a name.
    """
    chosen = spec_of(spec, "dashboard") if spec is not None else None
    return Dashboard(chosen, device)


class Dashboard:
    """What `dashboard` gives.

    Attributes:
        board: its data.
        box: the ipywidgets box.
        figures: the plotly figures as they were drawn last, by key.
        updates: how often it was drawn.
    """

    def __init__(
        self, spec: KernelSpec | None = None, device: str | None = None, *, source: Hub | None = None
    ) -> None:
        self._hub = source if source is not None else hub
        self.board = Board()
        self.board.extend(self._hub.history())
        self.updates = 0
        self.figures: dict[str, Any] = {}
        self._spec = spec
        self._lock = threading.RLock()
        self._timer_lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._drawn = -1
        self._due = EVERYTHING
        self._next = 0.0
        self._next_line = 0.0
        self._copy: Copy | None = None
        self._copy_next = 0.0
        self._copied = -1
        self._busy = False
        self._quiet = False
        self._build(device)
        self.refresh()
        # The hub must not keep a dashboard alive that nobody shows.
        self._unsubscribe = self._hub.subscribe(_listener(self))

    # What the user does

    def run(self, _: Any = None) -> None:
        """Builds and runs the chosen kernel with the sliders' values: verified, then profiled or timed."""
        from workbench.check.verify import verify
        from workbench.profile.profiler import profile_target
        from workbench.profile.timing import time_target
        from workbench.spec.subject import resolve

        if self._spec is None or self._busy:
            return
        self._busy = self._button.disabled = True
        spec, shape, where = self._spec, self.shape, self._where.value
        self._say(f"running {spec.name}, {', '.join(f'{k}={v}' for k, v in shape.items())} …", "wb-dim")
        try:
            started = time.perf_counter()
            if self._check.value:
                verify(spec, shape=shape, device=where)
            target = resolve(spec, shape=shape, device=where)
            if target.device.observes:
                profile_target(target)
            else:
                time_target(target)
            self.refresh()
            self._say(f"done in {time.perf_counter() - started:.2f} s", "wb-dim")
        except WorkbenchError as error:
            self._say(str(error), "wb-bad")
        finally:
            self._busy = self._button.disabled = False

    @property
    def shape(self) -> Shape:
        """The sliders' values."""
        return {name: control.value for name, control in self.controls.items()}

    def pin(self, _: Any = None) -> None:
        """Makes the shown run the baseline; drops the baseline where there is one."""
        if self.board.pinned is None:
            self.board.pin()
        else:
            self.board.unpin()
        self.refresh()

    def show(self, number: int) -> None:
        """Draws the counters of the run of this number."""
        self.board.show(number)
        self.refresh()

    def views(self) -> list[View]:
        """The figures as they are now, for a report."""
        return views(self.board)

    def report(self, path: Any, title: str = "HipKittens dashboard") -> Any:
        """Writes the figures and their tables as one HTML page that needs nothing else."""
        from workbench.views.html import report

        return report(path, *self.views(), title=title)

    def close(self) -> None:
        """Stops following what happens, takes the widgets off the page and lets go of them."""
        self._unsubscribe()
        self._forget_timer()
        grid.close(self.box)

    # Drawing

    def take(self, event: Event) -> None:
        """Takes an event of the hub; draws now or soon."""
        self.board.take(event)
        changes = _DRAWS.get(event.kind, NOTHING)
        self._due |= changes
        # What only writes a line holds no figure back.
        wait = (self._next if changes else max(self._next, self._next_line)) - time.monotonic()
        # Who publishes never waits for a drawing that is under way.
        if wait <= 0 and self._lock.acquire(blocking=False):
            try:
                self._draw()
            finally:
                self._lock.release()
        else:
            self._draw_in(max(wait, INTERVAL))

    def _draw_in(self, seconds: float) -> None:
        with self._timer_lock:
            if self._timer is None:
                self._timer = threading.Timer(seconds, _later(self))
                self._timer.daemon = True
                self._timer.start()

    def _forget_timer(self) -> None:
        with self._timer_lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def refresh(self) -> None:
        """Draws everything now."""
        self._due = EVERYTHING
        self._drawn = -1
        self._draw()
        # Asked for, so it does not hold back what comes next.
        self._next = time.monotonic() + INTERVAL

    def _draw(self) -> None:
        with self._lock:
            self._forget_timer()
            if self._drawn == self.board.version:
                return
            started, worked = time.monotonic(), time.thread_time()
            due, self._due = self._due, NOTHING
            self._drawn = self.board.version
            if due:
                shown = views(self.board, None if due >= EVERYTHING else due)
                grid.put(self._grid, shown)
                self.figures.update((view.key, view.figure) for view in shown)
            self._head()
            self._write_log()
            self.updates += 1
            took, worked = time.monotonic() - started, time.thread_time() - worked
            # On a busy machine drawing waits for others, which is no work that holds up the run.
            pause = time.monotonic() + max(INTERVAL - took, IDLE * worked, BUSY * took)
            self._next_line = pause
            if due:
                self._next = pause
            self._keep_copy()

    def _head(self) -> None:
        shown, pinned = self.board.shown, self.board.pinned
        runs = self.board.runs
        failed = len(self.board.failures)
        parts = [
            f"<b>{len(runs)}</b> runs, <b>{self.board.launches}</b> launches"
            + (f', <span class="wb-bad">{failed} failed</span>' if failed else "")
        ]
        if shown is not None:
            mark: dict[bool | None, str] = {
                True: '<span class="wb-ok">✓ verified</span>',
                False: '<span class="wb-bad">✗ wrong</span>',
                None: "",
            }
            parts.append(
                f"shown: <b>{html.escape(shown.label)}</b> on {html.escape(shown.timing.device)}, "
                f"{shown.time.value:.4g} us {badge(shown.time)} {mark[shown.verified]}"
            )
        if pinned is not None:
            parts.append(f"baseline: <b>{html.escape(pinned.run.label)}</b>, {pinned.run.time.value:.4g} us")
        self._summary.value = f'{STYLE}<div class="wb">{" · ".join(parts)}</div>'
        self._pin.description = "Unpin" if pinned is not None else "Pin as baseline"
        self._pin.disabled = shown is None
        options = [(f"{r.label}: {r.time.value:.4g} us", r.number) for r in reversed(runs) if r.profile]
        if [n for _, n in options] != [n for _, n in self._choice.options]:
            self._quiet = True
            self._choice.options = options
            self._quiet = False
        if shown is not None and shown.profile is not None and self._choice.value != shown.number:
            self._quiet = True
            with contextlib.suppress(Exception):
                self._choice.value = shown.number
            self._quiet = False

    def _write_log(self) -> None:
        colours = {True: "wb-ok", False: "wb-warn", None: "wb-dim"}
        lines = [
            f'<div><span class="wb-dim">{time.strftime("%H:%M:%S", time.localtime(note.seconds))} '
            f'{html.escape(note.kind)}</span> <span class="{colours[note.good]} wb-text">'
            f"{html.escape(note.text)}</span></div>"
            for note in self.board.notes[-LOG_LINES:]
        ]
        progress = ""
        if self.board.progress is not None:
            name, done, total = self.board.progress
            progress = (
                f"<div>{html.escape(name)}: {done} of {total} "
                f'<progress value="{done}" max="{total}" aria-label="sweep"></progress></div>'
            )
        inside = progress + "".join(lines)
        self._log.value = f'{STYLE}<div class="wb" role="log">{inside}</div>' if inside else ""

    def _say(self, text: str, kind: str) -> None:
        self._status.value = f'{STYLE}<div class="wb {kind}"><pre>{html.escape(text)}</pre></div>'

    # The page

    def _build(self, device: str | None) -> None:
        import ipywidgets as widgets

        from workbench import runtime

        self._summary: Any = widgets.HTML()
        self._status: Any = widgets.HTML()
        self._log: Any = widgets.HTML()
        self._pin: Any = widgets.Button(
            description="Pin as baseline",
            icon="thumb-tack",
            tooltip="Compare every figure with the shown run",
        )
        self._pin.on_click(self.pin)
        self._choice: Any = widgets.Dropdown(
            description="shown",
            options=[],
            layout=widgets.Layout(width="auto", min_width="16em", max_width="44em", flex="1 1 16em"),
            style={"description_width": "4em"},
        )
        self._choice.observe(self._chosen, "value")
        self._kernel = widgets.Dropdown(
            description="kernel",
            options=[("none", ""), *((name, name) for name in kernels)],
            value="",
            layout=widgets.Layout(width="20em"),
            style={"description_width": "4em"},
        )
        self._where = widgets.Dropdown(
            description="device",
            options=[d.name for d in runtime.devices()],
            value=device if device is not None else runtime.device().name,
            layout=widgets.Layout(width="16em"),
            style={"description_width": "4em"},
        )
        self._check = widgets.Checkbox(
            value=True, description="verify", indent=False, layout=widgets.Layout(width="6em")
        )
        self._live = widgets.Checkbox(
            value=True, description="run on change", indent=False, layout=widgets.Layout(width="9em")
        )
        self._button = widgets.Button(
            description="Run",
            button_style="primary",
            icon="play",
            tooltip="Build and run the chosen kernel",
            layout=widgets.Layout(width="6em"),
        )
        self._button.on_click(self.run)
        self.controls: dict[str, Any] = {}
        self._sliders = widgets.HBox(layout=widgets.Layout(flex_flow="row wrap"))
        self._kernel.observe(self._kernel_chosen, "value")
        shown = views(self.board)
        self.figures = {view.key: view.figure for view in shown}
        self._grid = grid.grid(shown)
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        self.box = widgets.VBox(
            [
                self._summary,
                widgets.HBox([self._choice, self._pin], layout=row),
                widgets.HBox([self._kernel, self._where, self._button, self._check, self._live], layout=row),
                self._sliders,
                self._status,
                self._log,
                self._grid,
            ]
        )
        if self._spec is not None:
            self._choose(self._spec)

    def _kernel_chosen(self, change: Any) -> None:
        if not self._quiet:
            self._choose(kernels[change["new"]] if change["new"] else None)

    def _choose(self, spec: KernelSpec | None) -> None:
        from workbench.views.controls import control

        self._spec = spec
        self.controls = {}
        if spec is not None:
            start = spec.shape()
            self.controls = {n: control(n, p, start[n], spec.shapes) for n, p in spec.parameters.items()}
            for one in self.controls.values():
                one.observe(self._moved, "value")
        self._quiet = True
        self._kernel.value = spec.name if spec is not None and spec.name in kernels else ""
        self._quiet = False
        self._sliders.children = tuple(self.controls.values())
        self._button.disabled = spec is None

    def _moved(self, _: Any) -> None:
        if self._live.value:
            self.run()

    def _chosen(self, change: Any) -> None:
        if not self._quiet and change["new"] is not None:
            self.show(change["new"])

    # What is saved with the notebook

    def _ipython_display_(self, **_: Any) -> None:
        display_live(self.box, str(self))
        self._copy = Copy("Dashboard", self.views())
        self._copied = self.board.version

    def _keep_copy(self) -> None:
        if self._copy is None or self._copied == self.board.version:
            return
        if time.monotonic() >= self._copy_next:
            self._copy.update(self.views())
            self._copied = self.board.version
            self._copy_next = time.monotonic() + STATIC_SECONDS

    def __repr__(self) -> str:
        shown = self.board.shown
        return f"<Dashboard of {len(self.board.runs)} runs{f', {shown.label}' if shown is not None else ''}>"


def _listener(board: Dashboard) -> Any:
    """A listener that does not keep the dashboard alive."""
    found = weakref.ref(board)

    def listen(event: Event) -> None:
        alive = found()
        if alive is not None:
            alive.take(event)

    return listen


def _later(board: Dashboard) -> Any:
    found = weakref.ref(board)

    def draw() -> None:
        alive = found()
        if alive is not None:
            try:
                alive._draw()
            except Exception as error:
                # Nobody sees what a timer's thread raises.
                alive._say(f"drawing failed: {type(error).__name__}: {error}", "wb-bad")

    return draw
