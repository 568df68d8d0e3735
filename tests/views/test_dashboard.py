"""The dashboard: each figure's data, the effect of a baseline, and the cost of a long sweep."""

from __future__ import annotations

import json
import re
import threading
import time
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import workbench as wb
from workbench import events
from workbench.events import Event, Hub, hub
from workbench.history import recorder
from workbench.origin import Origin
from workbench.theme import CLEAR
from workbench.views import draw_rate, grid, live
from workbench.views.board import PROFILES, RUNS, Board
from workbench.views.draw_rate import INTERVAL
from workbench.views.figures import views
from workbench.views.figures.memory import lds
from workbench.views.figures.occupancy import limits
from workbench.views.figures.roofline import ceilings
from workbench.views.figures.view import difference, ratio
from workbench.views.html import report
from workbench.views.live import Dashboard
from workbench.views.picture import svg_of
from workbench.views.static_copy import Copy

KEYS = [view.key for view in views(Board())]
OF_LAUNCHES = [key for key in KEYS if key != "step"]
"""A training step's card has data if one was profiled."""


@pytest.fixture(scope="module")
def small():
    return wb.profile("gemm/bf16", shape={"m": 128, "n": 128, "k": 128}, device="emulated:gfx950")


@pytest.fixture(scope="module")
def large():
    return wb.profile("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:gfx950")


def board_of(*profiles):
    hub, board = Hub(), Board()
    hub.subscribe(board.take)
    for profile in profiles:
        hub.publish("profile", profile.name, profile)
    return board


def by_key(board):
    return {view.key: view for view in views(board)}


def test_a_board_that_opens_late_counts_all_runs(small):
    hub, board = Hub(history=3), Board()
    hub.publish("failed", "k", {"kind": "run", "error": "e"})
    for _ in range(5):
        hub.publish("profile", small.name, small)
    board.extend(hub.history(), hub.dropped())
    assert (board.timed, board.failed, len(board.runs), len(board.failures)) == (5, 1, 3, 1)


def test_an_empty_board_has_every_figure():
    cards = views(Board())
    assert len({v.key for v in cards}) == len(cards) >= 11
    assert all(any("nothing to show" in (a.text or "") for a in v.figure.layout.annotations) for v in cards)


def test_a_launch_without_lds_has_no_lds_picture(small):
    counters = {
        n: replace(counter, value=0.0) if "LDS" in n else counter for n, counter in small.counters.items()
    }
    view = lds(replace(small, counters=counters), None)
    assert view.is_empty
    assert view.sentence == "LDS banks: no access of LDS"
    assert view.rows[0][:2] == ("SQ_INSTS_LDS", 0), "the table says so too"
    assert lds(None, None).sentence == "LDS banks: nothing to show yet"


def test_every_figure_has_data_origin_and_table(small):
    for view in views(board_of(small), OF_LAUNCHES):
        assert view.figure.data, view.key
        assert view.rows, view.key
        badges = [a.text for a in view.figure.layout.annotations if a.name == "origin"]
        assert sorted(badges) == sorted(str(o) for o in view.origins), view.key
        assert view.figure.layout.template.layout.paper_bgcolor == CLEAR
        assert all(str(o) in view.table for o in view.origins)


def test_a_baseline_is_in_every_figure(small, large):
    board = board_of(small)
    assert board.pin().number == 1
    board.extend(Hub().history())
    hub = Hub()
    hub.subscribe(board.take)
    hub.publish("profile", large.name, large)
    for view in views(board, OF_LAUNCHES):
        text = json.dumps(view.figure.to_plotly_json(), default=str)
        assert "baseline" in text, view.key
    cards = by_key(board)
    mfma = next(r for r in cards["mix"].rows if r[0] == "MFMA")
    assert mfma[3] == difference(large["SQ_INSTS_MFMA"].value, small["SQ_INSTS_MFMA"].value) == "+700.0%"
    board.unpin()
    assert "baseline" not in json.dumps(by_key(board)["mix"].figure.to_plotly_json(), default=str)


def test_the_roofline(small):
    view = by_key(board_of(small))["roofline"]
    metrics = small.metrics
    rows = {row[1]: row for row in view.rows}
    assert set(rows) == {"HBM", "L2", "LDS"}
    for level, row in rows.items():
        assert row[2] == metrics[f"arithmetic intensity, {level}"].figure.value
        assert row[3] == metrics["FLOP rate"].figure.value
        # Nothing is above its roof.
        assert row[3] <= row[4]
    roofs = ceilings(small.machine, ["BF16"])
    assert roofs == {
        "VALU fp32": pytest.approx(157.3, rel=1e-3),
        "MFMA bf16": pytest.approx(2516.6, rel=1e-4),
    }


def without(profile, *parts):
    """A profile whose counters with these in their names are 0."""
    counters = {
        name: replace(figure, value=0.0) if any(part in name for part in parts) else figure
        for name, figure in profile.counters.items()
    }
    return replace(profile, counters=counters)


def test_a_kernel_without_flop_has_words_in_the_roofline(small):
    view = by_key(board_of(without(small, "VALU", "MFMA", "flop")))["roofline"]
    assert view.is_empty
    assert view.sentence == "Roofline: no floating-point operations to place"


def test_a_ratio_is_short():
    assert [ratio(value) for value in (0.0, 12.54, 99.9, 1550.0, 123456.0)] == [
        "0 %",
        "12.5 %",
        "99.9 %",
        "15.5 ×",
        "1.23e+03 ×",
    ]


def test_a_choice_without_an_order_is_no_slider():
    page = wb.dashboard("attention/forward")
    try:
        kinds = {name: type(control).__name__ for name, control in page.controls.items()}
    finally:
        page.close()
    assert kinds["dtype"] == kinds["causal"] == "Dropdown"
    assert kinds["dim"] == "SelectionSlider"


def test_occupancy_limits(small):
    bounds = limits(small)
    assert bounds["all together"] == small.resources.occupancy.waves_per_simd
    assert min(bounds.values()) == bounds["all together"]


def test_a_kernel_has_one_hue_in_every_card(small):
    board = board_of(replace(small, name="another"), small)
    cards = by_key(board)
    lines = {trace.name: trace.line.color for trace in cards["timeline"].figure.data}
    hue = lines[small.name]
    assert hue == board.hue(small.name) != lines["another"]
    assert cards["shapes"].figure.data[0].line.color == hue
    assert {cards[key].figure.data[0].marker.color for key in ("speed", "mix", "traffic")} == {hue}


def test_published_figures_beside_ours(small):
    result = replace(small, shape={"m": 1024, "n": 1024, "k": 1024})
    view = by_key(board_of(result))["shapes"]
    assert Origin.PUBLISHED in view.origins
    assert any("HipKittens MI355X" in str(row[1]) for row in view.rows)


def test_what_is_missing_is_said(small):
    result = replace(small, counters={k: f for k, f in small.counters.items() if "LDS" not in k})
    view = by_key(board_of(result))["lds"]
    assert "not collected" in view.table
    assert next(r for r in view.rows if r[0] == "SQ_LDS_BANK_CONFLICT")[1] is None


def test_choosing_a_run(small, large):
    board = board_of(small, large)
    assert board.shown.number == 2
    board.show(1)
    assert board.shown.number == 1
    hub = Hub()
    hub.subscribe(board.take)
    hub.publish("profile", large.name, large)
    assert board.shown.number == 3


def test_verification_is_shown_with_the_run(small):
    hub, board = Hub(), Board()
    hub.subscribe(board.take)
    verification = {"passed": False, "shape": small.shape, "device": small.device, "code": small.code}
    hub.publish("verify", small.name, verification)
    hub.publish("profile", small.name, small)
    assert board.shown.verified is False
    assert by_key(board)["timeline"].rows[0][6] == "failed"
    # The code is verified: after an edit it no longer counts as verified.
    hub.publish("profile", small.name, replace(small, code="edited"))
    assert board.shown.verified is None


def test_code_is_identified_by_its_bytes(small):
    spec = wb.kernels[small.name]
    verified = wb.verify(spec, shape=small.shape, device=small.device)
    timed = wb.time(spec, shape=small.shape, device=small.device)
    assert verified.code == timed.code == small.code == small.timing.code
    assert re.fullmatch("[0-9a-f]{16}", small.code)
    first, other = (wb.compile(f"__global__ void k(int *p) {{ *p = {n}; }}") for n in (1, 2))
    assert first.digest != other.digest


def test_the_log_has_events_without_figures(small):
    hub = events.hub
    hub.clear()
    page = Dashboard(source=hub)
    source = """#include <hip/hip_runtime.h>
__global__ void say(float *x) {
  if (threadIdx.x == 0) printf("lane %d says <hello>", 0);
  x[threadIdx.x] = 1;
}"""
    module = wb.compile(source, arch="gfx950", name="say.hip")
    module["say"][1, 64](torch.zeros(64))
    with pytest.raises(wb.errors.CompileError):
        wb.compile("broken source", arch="gfx950", name="broken.hip")
    wb.sanitize(module["say"][1, 64], torch.zeros(64))
    hub.publish(
        "verify",
        small.name,
        {"passed": False, "shape": small.shape, "device": small.device, "code": small.code},
    )
    hub.publish("progress", "a/sweep", {"done": 3, "total": 8})
    notes = {note.kind: note for note in page.board.notes}
    assert notes["compile"].text.startswith("broken.hip does not compile for gfx950: ")
    assert notes["compile"].good is False
    assert any(note.text.startswith("say.hip for gfx950: ") for note in page.board.notes)
    assert notes["print"].text == "lane 0 says <hello>"
    assert notes["sanitize"].good is True
    assert notes["verify"].good is False
    hub.publish("verify", "say", {"passed": True, "shape": {}, "device": small.device, "code": "c0de"})
    assert page.board.notes[-1].text == "say: verified", "a launch of one's own kernel has no shape"
    page.refresh()
    assert "a/sweep: 3 of 8" in page.widgets.progress.value
    assert "lane 0 says &lt;hello&gt;" in page.widgets.log.value
    hub.publish("progress", "a/sweep", {"done": 8, "total": 8})
    page.refresh()
    assert page.widgets.progress.value == ""
    counted = {"shape": {}, "device": "emulated:gfx1201", "reason": "no time is modelled"}
    hub.publish("counted", "say", counted)
    assert page.board.notes[-1].text == "say on emulated:gfx1201: counted; no time is modelled"
    page.close()


def test_only_what_an_event_changes_is_drawn(small):
    hub = Hub()
    page = Dashboard(source=hub)
    hub.publish("profile", small.name, small)
    page.refresh()

    def drawn(kind, data):
        before = dict(page.figures)
        page.draw_rate.figures = page.draw_rate.lines = 0.0
        hub.publish(kind, small.name, data)
        page.draw_rate.draw_now()
        return {key for key in KEYS if page.figures[key] is not before[key]}

    assert drawn("time", small.timing) == {"timeline", "shapes"}
    assert drawn("print", {"text": "x"}) == set()
    assert (
        drawn("verify", {"passed": True, "shape": small.shape, "device": small.device, "code": small.code})
        == set()
    )
    assert drawn("launch", {}) == set()
    assert "<b>1</b> launch" in page.widgets.summary.value
    assert drawn("profile", small) == set(KEYS)
    page.close()


def test_a_profile_is_drawn_at_once_after_lines_that_came_before(small, monkeypatch):
    """A cell's compilation and launches are published just before its profile, and must not delay it."""
    clock, hub = Clock(monkeypatch), Hub()
    page = Dashboard(source=hub)
    page.draw_rate.figures, page.draw_rate.lines = 0.0, 60.0
    compilation = {"arch": "gfx950", "seconds": 0.0, "cached": True, "warnings": 0, "error": ""}
    hub.publish("compile", "cell.hip", compilation)
    hub.publish("launch", "kernel", {})
    hub.publish("profile", small.name, small)
    clock.passes(INTERVAL)
    assert page.figures["timeline"].data[0].x == (1,)
    page.close()


def test_who_publishes_never_draws(small, monkeypatch):
    """Drawing in the thread of a kernel's launches would slow down each profile while the page is open."""
    clock, hub = Clock(monkeypatch), Hub()
    page = Dashboard(source=hub)
    clock.passes(60.0)
    before = page.updates
    hub.publish("profile", small.name, small)
    hub.publish("time", small.name, small.timing)
    assert page.updates == before
    clock.passes(INTERVAL)
    assert page.updates == before + 1
    page.close()


def test_the_copy_waits_where_the_page_stays(small, displayed, notebook_request):
    """Pictures take seconds: a page that shows the live one gets them later, a conversion at once."""
    drawn = [view for view in views(board_of(small)) if not view.is_empty]
    for metadata, complete in (({}, True), ({"cellId": "a"}, False)):
        notebook_request["metadata"] = metadata
        displayed.clear()
        assert Copy("Dashboard", drawn).complete is complete
        assert len(displayed) == len(drawn) + 1
        assert all(("image/svg+xml" in bundle) is complete for bundle in displayed[1:])


def test_bounds(small):
    board = board_of(*[small] * (PROFILES + 5))
    assert sum(r.profile is not None for r in board.runs) == PROFILES
    for _ in range(RUNS):
        board.take(Event(0, "time", small.name, small.timing, 0.0))
    assert len(board.runs) == RUNS
    assert board.runs[-1].number == RUNS + PROFILES + 5


def sweep(small, runs):
    return [replace(small.timing, shape={"m": 64 * (i % 40 + 1), "n": 64, "k": 64}) for i in range(runs)]


class Clock:
    """A clock that tests advance, for the dashboard's measurements and timers."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.timers = []
        clocks = {"monotonic": lambda: self.now, "thread_time": lambda: self.now}
        for module in (live, draw_rate):
            monkeypatch.setattr(module, "time", SimpleNamespace(**{**vars(time), **clocks}))
        monkeypatch.setattr(
            draw_rate, "threading", SimpleNamespace(**{**vars(threading), "Timer": self.timer})
        )

    def timer(self, seconds, function):
        timer = SimpleNamespace(due=self.now + seconds, function=function)
        timer.start = lambda: self.timers.append(timer)
        timer.cancel = lambda: timer in self.timers and self.timers.remove(timer)
        return timer

    def passes(self, seconds):
        self.now += seconds
        for timer in [timer for timer in self.timers if timer.due <= self.now]:
            timer.cancel()
            timer.function()


def test_a_sweep_of_a_thousand_runs(small, monkeypatch):
    """Updates are batched, and drawing takes a small part of the publisher's time."""
    clock, hub, drawing = Clock(monkeypatch), Hub(), 0.05

    def drawn(*arguments):
        clock.now += drawing
        return views(*arguments)

    monkeypatch.setattr(live, "views", drawn)
    page = Dashboard(source=hub)
    hub.publish("profile", small.name, small)
    page.refresh()
    updates, started = page.updates, clock.now
    for result in sweep(small, 1000):
        hub.publish("time", result.name, result)
        clock.passes(0.003)
    updates = page.updates - updates
    assert 2 <= updates <= (clock.now - started) / INTERVAL
    assert updates * drawing <= (clock.now - started) / 4
    clock.passes(1.0)
    assert page.figures["timeline"].data[0].x[-1] == 1001
    page.close()
    hub.publish("time", small.name, small.timing)
    assert page.board.runs[-1].number == 1001


def test_memory_is_bounded(small):
    hub, board = Hub(), Board()
    hub.subscribe(board.take)
    for result in sweep(small, RUNS + 100):
        hub.publish("time", result.name, result)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for result in sweep(small, 2 * RUNS):
        hub.publish("time", result.name, result)
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    # New runs are traced and evicted ones are not: at most RUNS of them are stored.
    assert grown < RUNS * 3072
    assert len(board.runs) == RUNS


def test_sliders_build_and_run_again():
    page = wb.dashboard("activations/softmax", device="emulated:gfx950")
    try:
        before = len(page.board.runs)
        name = next(n for n, c in page.controls.items() if n == "rows")
        page.controls[name].value = 16
        assert "done in" in page.widgets.status.value
        assert len(page.board.runs) == before + 1
        run = page.board.runs[-1]
        assert (run.timing.shape["rows"], run.verified) == (16, True)
        line = next(t for t in page.figures["timeline"].data if t.name == "activations/softmax")
        assert line.y[-1] == run.time.value
        page.pin()
        assert "baseline" in page.widgets.summary.value
        # The page names its run once, in the first card.
        assert "verified" in page.widgets.cards.first.value
        assert run.label in page.widgets.cards.first.value
        assert run.label not in page.widgets.summary.value
        page.widgets.kernel.value = ""
        assert page.controls == {}
    finally:
        page.close()


def test_an_error_is_shown_in_the_page():
    page = wb.dashboard(replace(wb.kernels["gemm/bf16"], source="broken source\n"), device="emulated:gfx942")
    try:
        page.widgets.live.value = False
        page.run()
        assert "error" in page.widgets.status.value
        assert page.widgets.run.disabled is False
    finally:
        page.close()


def test_a_report_without_items_is_the_dashboard(tmp_path, small):
    path = report(tmp_path / "r.html")
    text = path.read_text()
    assert text.count("plotly-graph-div") == len(KEYS)
    assert "Roofline" in text
    assert "<summary>Speed of light: data" in text


@pytest.mark.usefixtures("notebook_request")
def test_a_cell_s_output_is_the_live_page_and_the_copy(small, displayed):
    from workbench.views import static_copy

    hub = Hub()
    page = Dashboard(source=hub)
    hub.publish("profile", small.name, small)
    page._ipython_display_()
    view = {"version_major": 2, "version_minor": 0, "model_id": page.box.model_id}
    # The extension recognises a dashboard's view by its own type; other front ends show the widget.
    live_page = displayed[0]
    assert live_page[static_copy.MIME_TYPE] == live_page["application/vnd.jupyter.widget-view+json"] == view
    assert "wb-static" in displayed[1]["text/html"]
    assert len(displayed) == 2 + len(KEYS)
    page.close()


def test_the_copy_for_a_notebook_without_a_kernel(small, capsys):
    from workbench.views import static_copy

    board = board_of(small)
    cards = views(board)
    note = static_copy.note("Dashboard", cards)["text/html"]
    assert f'data-outputs="{len(KEYS)}"' in note
    assert "<script" not in note
    bundle = static_copy.figure_bundle(cards[2])["application/vnd.plotly.v1+json"]
    assert bundle["data"]
    json.dumps(bundle)


def test_failures_are_in_the_timeline(small):
    hub = Hub()
    page = Dashboard(source=hub)
    hub.publish("profile", small.name, small)
    page.refresh()
    text = "kernel <scale> reads at 0x10; the allocation ends at 0x8 " * 20
    hub.publish("failed", "scale", {"kind": "profile", "error": text, "shape": {"n": 8}, "device": "d"})
    hub.publish("profile", small.name, small)
    page.refresh()
    figure = page.figures["timeline"]
    runs, failed = figure.data
    assert list(runs.x) == [1, 3]
    assert (list(failed.x), list(failed.y)) == ([2], [0])
    assert "&lt;scale&gt;" in failed.text[0]
    assert all(len(line) < 100 for line in failed.text[0].split("<br>"))
    rows = by_key(page.board)["timeline"].rows
    assert [row[0] for row in rows] == [1, 2, 3]
    assert rows[1][6].startswith("profile failed: kernel <scale> reads at 0x10")
    assert len(rows[1][6]) < 450
    assert "1 failed" in page.widgets.summary.value
    assert page.board.notes[-1].good is False
    assert "kernel &lt;scale&gt;" in page.widgets.log.value
    page.close()


def test_of_many_runs_none_is_uncounted_and_no_failure_is_lost(small):
    hub = Hub()
    page = Dashboard(source=hub)
    failure = {"kind": "profile", "shape": {}, "device": "emulated:gfx950", "error": "it reads at 0x10"}
    hub.publish("failed", small.name, failure)
    verification = {"passed": False, "shape": small.shape, "device": small.device, "code": small.code}
    hub.publish("verify", small.name, verification)
    hub.publish("time", small.name, small.timing)
    right = replace(small.timing, code="right")
    page.board.extend(Event(0, "time", small.name, right, 0.0) for _ in range(RUNS + 10))
    board = page.board
    page.widgets.write_summary(board)
    assert [failure.text for failure in board.failures] == ["it reads at 0x10"]
    assert [run.verified for run in board.runs[:2]] == [False, None]
    assert len(board.runs) == RUNS
    assert "1,011</b> runs (1,000 of them listed)" in page.widgets.summary.value
    assert "1 failed" in page.widgets.summary.value
    assert [row[0] for row in by_key(board)["timeline"].rows][:3] == [1, 2, 14]
    page.close()


def test_a_fault_of_a_launch_is_told():
    hub = events.hub
    hub.clear()
    module = wb.compile("__global__ void wild(float *x) { x[1 << 28] = 1; }", arch="gfx950", name="w.hip")
    launcher = module["wild"][1, 64]
    for act in (launcher, lambda x: wb.time(launcher, x), lambda x: wb.profile(launcher, x)):
        with pytest.raises(wb.errors.KernelFault):
            act(torch.zeros(64))
    with pytest.raises(wb.errors.LaunchError):
        module["wild"][1, 4096](torch.zeros(64))
    with pytest.raises(wb.errors.ShapeError):
        wb.time("gemm/bf16", shape={"m": 0})
    with pytest.raises(wb.errors.ShapeError):
        wb.verify("gemm/bf16", shape={"m": 0})
    with pytest.raises(Exception, match="shape"):
        wb.time("gemm/bf16", shape="large")
    board = Board()
    board.extend(hub.history())
    assert board.failures[-1].shape == {}
    failures = hub.history("failed")[:-1]
    assert [(e.name, e.data["kind"]) for e in failures] == [
        ("wild", "run"),
        ("wild", "time"),
        ("wild", "profile"),
        ("wild", "run"),
        ("gemm/bf16", "run"),
        ("gemm/bf16", "verify"),
    ]
    assert all(e.data["error"] and "\n" not in e.data["error"] for e in failures)
    assert failures[1].data["device"] == "emulated:gfx950"


@pytest.mark.usefixtures("notebook_request")
def test_a_panel_keeps_a_copy_and_no_plotly(displayed):
    from ipywidgets.widgets import widget

    before = set(widget._instances)
    panel = wb.panel("activations/softmax", device="emulated:gfx950")
    panel._ipython_display_()
    assert "application/vnd.jupyter.widget-view+json" in displayed[0]
    assert [b["text/plain"] for b in displayed[2:]] == ["", ""], "nothing is no picture"
    panel.controls["rows"].value = 16
    panel.run()
    # Slow runs also display their progress.
    *_, note, timeline, parts = displayed.updates
    for text in ("activations/softmax", "✓ passed", "SQ_WAVES", "rows=16"):
        assert text in note["text/html"], text
    assert timeline["application/vnd.plotly.v1+json"]["data"][0]["y"]
    assert parts["application/vnd.plotly.v1+json"]["data"][0]["x"]
    # The widgets' state that nbconvert and JupyterLab save; plotly itself would be megabytes.
    state = {
        model_id: widget._instances[model_id].get_state() for model_id in set(widget._instances) - before
    }
    assert len(state) > 10
    assert len(json.dumps(state, default=str)) < 200_000
    panel.close()
    assert set(widget._instances) == before


def test_a_page_gets_html_of_the_copy_s_figures(small, monkeypatch):
    import plotly.io

    from workbench.views import static_copy

    view = views(board_of(small))[0]
    assert "text/html" not in static_copy.figure_bundle(view)
    monkeypatch.setattr(plotly.io.renderers, "default", "plotly_mimetype+notebook_connected")
    page = static_copy.figure_bundle(view)["text/html"]
    assert "Plotly.newPlot" in page
    assert len(page) < 50_000


def test_many_runs_have_no_markers_but_the_wrong_ones(small):
    from workbench.views.figures.runs import MARKED

    board = board_of(small)
    verification = {"passed": False, "shape": small.shape, "device": small.device, "code": small.code}
    board.take(Event(0, "verify", small.name, verification))
    board.take(Event(0, "time", small.name, small.timing, 0.0))
    (line,) = by_key(board)["timeline"].figure.data
    assert (line.mode, line.marker.symbol) == ("lines+markers", ("circle-open", "x"))
    board.take(Event(0, "verify", small.name, {**verification, "passed": True}))
    for _ in range(MARKED):
        board.take(Event(0, "time", small.name, small.timing, 0.0))
    line, wrong = by_key(board)["timeline"].figure.data
    assert (line.mode, len(line.x), list(wrong.x)) == ("lines", MARKED + 2, [2])


def test_runs_of_a_kernel_are_a_line_for_each_work(small):
    """Many runs of two shapes in turn give two lines, not a band between them."""
    from workbench.views.figures.runs import MARKED

    board = board_of(small)
    other = replace(small.timing, shape={**small.shape, "m": 64})
    for _ in range(MARKED):
        board.take(Event(0, "time", small.name, other, 0.0))
        board.take(Event(0, "time", small.name, small.timing, 0.0))
    (line,) = by_key(board)["timeline"].figure.data
    gap = line.x.index(None)
    assert line.y[gap] is None
    assert line.text[gap] is None
    first, second = line.x[:gap], line.x[gap + 1 :]
    assert sorted((*first, *second)) == list(range(1, 2 * MARKED + 2))
    assert list(first) == [1, *range(3, 2 * MARKED + 2, 2)]
    assert list(second) == list(range(2, 2 * MARKED + 2, 2))


def test_every_figure_says_in_a_sentence_what_it_shows(small, large):
    for view in views(board_of(small, large)):
        sentence = json.loads(grid.text(view))["sentence"]
        assert sentence == view.sentence
        assert sentence.startswith(f"{view.title}: ")
        if view.is_empty:
            assert sentence.endswith("nothing to show yet")
        else:
            assert f"{len(view.rows)} row" in sentence
    times = by_key(board_of(small, large))["timeline"]
    assert times.sentence == (
        "Runs: 2 rows of run, kernel, shape, device, us, to baseline, verified, origin; "
        f"us from {small.time.value:,.4g} (gemm/bf16) to {large.time.value:,.4g} (gemm/bf16)"
    )


def test_the_copy_has_no_picture_of_nothing(small):
    from workbench.views import static_copy

    nothing = views(Board())
    assert all(static_copy.figure_bundle(view) == {"text/html": "", "text/plain": ""} for view in nothing)
    assert "Nothing was timed or profiled in it." in static_copy.note("Dashboard", nothing)["text/html"]
    something = views(board_of(small))
    assert "Nothing was timed" not in static_copy.note("Dashboard", something)["text/html"]
    assert "image/svg+xml" in static_copy.figure_bundle(something[0])


def test_sanitized_launches_are_among_the_runs(small):
    hub = Hub()
    page = Dashboard(source=hub)
    sanitization = {
        "first": "race in shared memory",
        "shape": {"n": 8},
        "device": "d",
        "code": "",
        "details": (),
    }
    hub.publish("sanitize", small.name, {"findings": 2, **sanitization})
    hub.publish("profile", small.name, small)
    hub.publish("sanitize", "clean", {**sanitization, "findings": 0, "first": ""})
    page.refresh()
    clean, profiled = json.loads(page.widgets.runs.runs)["kernels"]
    assert [run["text"] for run in clean["sessions"][0]["runs"]] == ["nothing found"]
    timed, sanitized = profiled["sessions"][0]["runs"]
    assert "findings" not in timed
    assert (sanitized["findings"], sanitized["text"]) == (2, "2 findings")
    assert (sanitized["hint"], sanitized["shape"]) == ("race in shared memory", "n=8")
    assert [run["number"] for run in (sanitized, timed, *clean["sessions"][0]["runs"])] == [1, 2, 3]
    page.close()


def test_counts_never_stand_above_a_list_of_nothing(small):
    hub = Hub()
    page = Dashboard(source=hub)
    assert "run" not in page.widgets.summary.value.split("</style>")[-1]
    assert json.loads(page.widgets.runs.runs)["none"] == "nothing was timed, profiled or sanitized yet"
    hub.publish("launch", "kernel", {})
    hub.publish("launch", "kernel", {})
    page.refresh()
    runs = json.loads(page.widgets.runs.runs)
    assert runs["kernels"] == []
    assert runs["none"].startswith("2 launches in this session, none timed, profiled or sanitized")
    assert "launch" not in page.widgets.summary.value.split("</style>")[-1]
    hub.publish("profile", small.name, small)
    page.refresh()
    assert "2</b> launches in this session" in page.widgets.summary.value
    page.close()


def test_memory_as_a_diagram(small, large):
    view = next(v for v in views(board_of(small)) if v.key == "memory")
    rows = {row[0]: row for row in view.rows}
    counters = {name: figure.value for name, figure in small.counters.items()}
    assert rows["L2, Infinity Cache"][1:3] == (1024 * counters["FETCH_SIZE"], 1024 * counters["WRITE_SIZE"])
    assert rows["Infinity Cache, HBM"][3] == pytest.approx(100 * small.metrics["memory bandwidth"].share)
    total = small.caches.total
    hits = 100 * total.mall_read_hits / (total.mall_read_hits + total.mall_read_misses)
    assert rows["Infinity Cache: Infinity Cache hit rate, %"][1] == pytest.approx(hits)
    picture = svg_of(view.figure)
    for text in ("registers", "LDS", "L1", "L2", "Infinity Cache", "HBM", "hits", "% of what it can"):
        assert text in picture, text
    wide = {trace.hovertemplate.partition(":")[0]: trace.line.width for trace in view.figure.data}
    busy = {row[0]: row[3] for row in view.rows if row[0] in wide}
    assert sorted(busy, key=busy.get) == sorted(busy, key=wide.get), "the busier, the thicker"
    board = board_of(small)
    board.pin()
    board.take(Event(9, "profile", large.name, large, 1.0))
    later = next(v for v in views(board) if v.key == "memory")
    assert "%" in {row[0]: row for row in later.rows}["registers, L1"][4]
    assert not next(v for v in views(Board()) if v.key == "memory").rows


COMPILED = {"arch": "gfx950", "seconds": 0.1, "cached": False, "warnings": 0, "error": ""}


@pytest.fixture
def restart(tmp_path, monkeypatch):
    """Uses a separate file of runs; returns a function that begins a new session."""
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(tmp_path / "runs.sqlite"))

    def session() -> None:
        recorder.stop()
        hub.clear()

    session()
    return session


def test_runs_and_baselines_of_earlier_sessions(restart, small, large):
    page = wb.dashboard()
    hub.publish("profile", small.name, small.compact())
    page.pin()
    page.close()
    restart()
    page = wb.dashboard()
    try:
        hub.publish("time", large.name, large.timing)
        page.refresh()
        (past,), (run,) = page.board.past, page.board.runs
        assert (past.number, run.number) == (1, 2)
        (kernel,) = json.loads(page.widgets.runs.runs)["kernels"]
        assert kernel["sessions"][0]["label"] == "this session"
        assert kernel["sessions"][1]["runs"][0]["names"] == [f"{small.name} #1"]
        # A run of another session is shown with its counters, and compared.
        assert page.board.pinned.run.profile.counters == small.counters
        page.show(1)
        assert page.board.shown.profile.counters == small.counters
        assert "baseline" in json.dumps(page.figures["mix"].to_plotly_json(), default=str)
        page.what_changed(since=2)
        assert "#2" in page.widgets.changes.value
        page.widgets.runs._handle_custom_msg({"do": "unpin", "name": f"{small.name} #1"}, [])
        assert page.board.baselines == []
    finally:
        page.close()


def test_several_baselines(small, large):
    board = board_of(small)
    board.pin("one")
    board.take(Event(0, "profile", large.name, large, 0.0))
    board.pin("two")
    assert [baseline.name for baseline in board.baselines] == ["one", "two"]
    assert board.pinned.name == "two"
    board.compare_with("one")
    assert board.pinned.run.number == 1
    board.compare_with("")
    assert board.pinned is None
    board.compare_with(None)
    board.unpin("two")
    assert board.pinned.name == "one"


def test_a_run_is_stale_when_its_cell_was_compiled_anew(small):
    board = board_of(small)
    board.take(Event(0, "compile", "scale.hip", {**COMPILED, "code": small.code}, 0.0))
    assert board.stale(board.shown) == ""
    board.take(Event(0, "compile", "other.hip", {**COMPILED, "code": "abc"}, 0.0))
    assert board.stale(board.shown) == ""
    board.take(Event(0, "compile", "scale.hip", {**COMPILED, "arch": "gfx942", "code": "xyz"}, 0.0))
    assert board.stale(board.shown) == "", "the same cell for another target"
    board.take(Event(0, "compile", "scale.hip", {**COMPILED, "code": "def"}, 0.0))
    assert board.stale(board.shown).startswith("scale was recompiled")


def test_sliders_that_moved_make_the_figures_stale():
    page = wb.dashboard("activations/softmax", device="emulated:gfx950")
    try:
        page.widgets.live.value = False
        page.controls["rows"].value = 16
        page.run()
        assert page.widgets.stale.value == page.widgets.grid.stale == ""
        page.controls["rows"].value = 32
        assert "rows=16" in page.widgets.grid.stale
        assert "press Run" in page.widgets.stale.value
        page.controls["rows"].value = 16
        assert page.widgets.grid.stale == ""
        # A cell that profiles the kernel at another shape shows figures that are current too.
        wb.time("activations/softmax", shape={"rows": 64, "cols": 128}, device="emulated:gfx950")
        wb.profile("activations/softmax", shape={"rows": 64, "cols": 128}, device="emulated:gfx950")
        page.refresh()
        assert page.board.shown.timing.shape["rows"] == 64
        assert page.widgets.grid.stale == ""
    finally:
        page.close()


def test_a_panel_marks_figures_of_other_settings():
    panel = wb.panel("activations/softmax", device="emulated:gfx950")
    (cards,) = (child for child in panel.box.children if hasattr(child, "stale"))

    def notices():
        return [text for child in panel.box.children if "stale: " in (text := getattr(child, "value", ""))]

    try:
        panel.controls["rows"].value = 16
        assert cards.stale == "", "nothing was run yet"
        panel.run()
        assert panel.stale == cards.stale == ""
        panel.controls["rows"].value = 32
        assert "rows=16" in cards.stale
        assert "press Run" in notices()[0]
        panel.controls["rows"].value = 16
        assert cards.stale == ""
        assert notices() == []
        lasting = {v.key for v in views(panel.board) if v.lasts}
        assert lasting == {"timeline", "shapes", "step"}
        assert json.loads(cards.figure_timeline)["lasts"]
        assert not json.loads(cards.figure_breakdown)["lasts"]
    finally:
        panel.close()


def test_hidden_and_ordered_cards_are_restored(restart):
    page = wb.dashboard()
    keys = list(page.widgets.grid.order)
    page.widgets.grid.order = keys[::-1]
    page.widgets.grid.hidden = ["lds"]
    page.close()
    restart()
    page = wb.dashboard()
    try:
        assert list(page.widgets.grid.order) == keys[::-1]
        assert page.widgets.grid.hidden == ["lds"]
    finally:
        page.close()
