"""The dashboard's widgets, with the texts of its head and log."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from markupsafe import Markup

from workbench import runtime
from workbench.operators import kernels
from workbench.views import grid, runlist
from workbench.views.badge import badge, unknown
from workbench.views.board import Board, Note, Progress, Run
from workbench.views.history import clock
from workbench.views.markup import NOTHING, block, bold, classed, notice, tag
from workbench.views.run_summary import SummaryCards

LOG_LINES = 5
"""Number of latest lines of the log on the page."""

_VERDICT = {
    True: tag("span", "✓ verified", kind="wb-ok"),
    False: tag("span", "✗ wrong", kind="wb-bad"),
    None: NOTHING,
}
_TONE = {True: "wb-ok", False: "wb-warn", None: "wb-dim"}
_PROGRESS = Markup(
    '<div>{}: {} of {}{} <progress value="{}" max="{}" aria-label="progress"></progress></div>'
)
_LOG = Markup('<div{} role="log">{{}}</div>').format(classed("wb"))


class Widgets:
    """The page of a dashboard.

    Attributes:
        box: box with the whole page.
        progress: progress of a sweep or a long launch.
        summary, status, log: lines of HTML: the shown run, the state of the Run button, and other events.
        runs, pin: the list of runs, and the button that makes the shown one the baseline.
        changes: differences between two runs, after a click.
        stale: notice that the sliders or the code no longer match the figures.
        kernel, where, check, live, run: choice of the Run button's kernel and device, of verification, and of
            running the kernel when a slider moves; the Run button.
        sliders: box with the kernel's parameters.
        cards: the first cards: verdict, advice, timeline, breakdown of the time.
        grid: grid with the figures.
        quiet: True while the page itself, not the user, sets a widget.
    """

    def __init__(self, keys: Sequence[str], device: str | None, done: Callable[[], None]) -> None:
        import ipywidgets as widgets

        self.quiet = False
        self.progress: Any = widgets.HTML()
        self.summary: Any = widgets.HTML()
        self.status: Any = widgets.HTML()
        self.log: Any = widgets.HTML()
        self.stale: Any = widgets.HTML()
        self.changes: Any = widgets.HTML()
        self.pin: Any = widgets.Button(
            description="Pin as baseline",
            icon="thumb-tack",
            tooltip="Keep the shown run, and compare every figure with it",
        )
        self.changed: Any = widgets.Button(
            description="What changed",
            icon="exchange",
            tooltip="Source, machine code and counters of the shown run beside the baseline's",
        )
        self.runs: Any = runlist.run_list()
        self.kernel: Any = widgets.Dropdown(
            description="kernel",
            options=[("none", ""), *((name, name) for name in kernels)],
            value="",
            layout=widgets.Layout(width="20em"),
            style={"description_width": "4em"},
        )
        self.where: Any = widgets.Dropdown(
            description="device",
            options=[d.name for d in runtime.devices()],
            value=device if device is not None else runtime.device().name,
            layout=widgets.Layout(width="16em"),
            style={"description_width": "4em"},
        )
        self.check: Any = widgets.Checkbox(
            value=True, description="verify", indent=False, layout=widgets.Layout(width="6em")
        )
        self.live: Any = widgets.Checkbox(
            value=True, description="run on change", indent=False, layout=widgets.Layout(width="9em")
        )
        self.run: Any = widgets.Button(
            description="Run",
            button_style="primary",
            icon="play",
            tooltip="Build and run the chosen kernel",
            layout=widgets.Layout(width="6em"),
        )
        self.sliders: Any = widgets.HBox(layout=widgets.Layout(flex_flow="row wrap"))
        self.cards = SummaryCards(done)
        self.grid: Any = grid.grid(keys)
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        choices = [self.kernel, self.where, self.run, self.check, self.live]
        self.box: Any = widgets.VBox(
            [
                self.progress,
                self.summary,
                self.stale,
                self.cards.first,
                widgets.HBox([self.pin, self.changed], layout=row),
                self.runs,
                self.changes,
                widgets.HBox(choices, layout=row),
                self.sliders,
                self.status,
                self.log,
                self.cards.box,
                self.grid,
            ]
        )

    @contextlib.contextmanager
    def quietly(self) -> Iterator[None]:
        """Changes of widgets inside are not treated as the user's choice."""
        self.quiet = True
        try:
            yield
        finally:
            self.quiet = False

    def say(self, text: str, kind: str) -> None:
        """Writes the outcome of the Run button."""
        self.status.value = str(notice(text, kind))

    def write_summary(self, board: Board) -> None:
        """Writes the shown run and its baseline, and updates the list of runs."""
        self.summary.value = str(block(Markup(" · ").join(_summary(board))))
        run, pinned = board.shown, board.pinned
        is_pinned = run is not None and any(b.run.number == run.number for b in board.baselines)
        self.pin.description = "Unpin" if is_pinned else "Pin as baseline"
        self.pin.disabled = run is None
        self.changed.disabled = run is None or pinned is None or pinned.run.number == run.number
        runlist.write(self.runs, board)

    def write_progress(self, p: Progress | None) -> None:
        """Shows the progress of a sweep or a long launch above everything else; nothing if none runs."""
        line_html = ""
        if p is not None:
            left = f", {p.left:.0f} s left" if p.left is not None else ""
            line = _PROGRESS.format(p.name, f"{p.done:,}", f"{p.total:,}", left, p.done, p.total)
            line_html = str(block(line))
        self.progress.value = line_html

    def write_stale(self, reason: str) -> None:
        """Says why the figures are not those of the settings; nothing if they are."""
        self.stale.value = str(notice(f"stale: {reason}", "wb-warn")) if reason else ""
        self.grid.stale = reason

    def write_changes(self, page: str) -> None:
        """Shows the differences between two runs, as HTML; "" clears them."""
        self.changes.value = page

    def write_log(self, board: Board) -> None:
        """Writes the log of events other than runs."""
        lines = [_line(note) for note in board.notes[-LOG_LINES:]]
        self.log.value = str(_LOG.format(NOTHING.join(lines))) if lines else ""


def _summary(board: Board) -> Iterator[Markup]:
    runs, launches, failed = board.timed, board.launches, board.failed
    counts = Markup("{} run{}{}, {} launch{}").format(
        bold(f"{runs:,}"),
        "" if runs == 1 else "s",
        f" ({len(board.runs):,} of them listed)" if runs > len(board.runs) else "",
        bold(f"{launches:,}"),
        "" if launches == 1 else "es",
    )
    if failed:
        counts += ", " + tag("span", f"{failed:,} failed", kind="wb-bad")
    # The list below includes earlier ones; if it has none, the message says what there was.
    if runs or failed:
        yield counts + " in this session"
    run, pinned = board.shown, board.pinned
    # For a run with counters, its cards say all that.
    if run is not None and run.profile is None:
        yield Markup("shown: {} on {}, {} us {} {} {}").format(
            bold(run.label),
            run.timing.device,
            f"{run.time.value:.4g}",
            badge(run.time),
            unknown([run.time]),
            _VERDICT[run.verified],
        )
    if pinned is not None:
        yield Markup("{}baseline {}, {} us").format(
            _faster(run, pinned.run), bold(pinned.name or pinned.run.label), f"{pinned.run.time.value:.4g}"
        )


def _faster(run: Run | None, base: Run) -> Markup:
    """Speed of a run relative to a baseline; empty if they did different work."""
    same = run is not None and (run.name, run.timing.device) == (base.name, base.timing.device)
    if run is None or not same or dict(run.timing.shape) != dict(base.timing.shape):
        return NOTHING
    if run.number == base.number or run.time.value <= 0:
        return NOTHING
    return Markup("{} as fast as ").format(bold(f"{base.time.value / run.time.value:.3g} times"))


def _line(note: Note) -> Markup:
    head = tag("span", f"{clock(note.seconds)} {note.kind}", kind="wb-dim")
    return tag("div", head, " ", tag("span", note.text, kind=f"{_TONE[note.good]} wb-text"))
