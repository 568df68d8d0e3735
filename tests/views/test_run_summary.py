"""The first cards of a dashboard: verdict and advice, what-if, timeline, where the time goes."""

from __future__ import annotations

import importlib
import json
import threading
from dataclasses import replace

import pytest
import torch

import workbench as wb
from workbench.events import Event, Hub
from workbench.profile.findings import advise
from workbench.views.job_thread import JobThread
from workbench.views.live import Dashboard

SOURCE = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void turned(float *out) {
    __shared__ float tile[64 * 64];
    for (int turn = 0; turn < 32; turn++) {
        for (int k = 0; k < 8; k++) tile[threadIdx.x % 64 * 64 + (turn * 8 + k) % 64] = turn + k;
        __syncthreads();
        out[(blockIdx.x * 32 + turn) * 256 + threadIdx.x] = tile[threadIdx.x % 64 * 64 + turn];
        __syncthreads();
    }
}
"""


@pytest.fixture(scope="module")
def profiled():
    kernel = wb.compile(SOURCE, arch="gfx950")["turned"]
    return wb.profile(kernel[512, 256], torch.zeros(512 * 32 * 256), device="emulated:gfx950")


@pytest.fixture
def page(profiled):
    hub = Hub()
    dashboard = Dashboard(source=hub)
    hub.publish("profile", profiled.name, profiled.compact())
    # It would draw soon anyway; the test draws now.
    dashboard.refresh()
    dashboard.widgets.cards.wait()
    yield dashboard
    dashboard.close()


def test_the_first_card_says_what_limits_and_what_next(page, profiled):
    first = page.widgets.cards.first.value
    assert first.index("not verified") < first.index("limited by") < first.index("LDS bank conflicts")
    tree = page.widgets.cards.tree.value
    assert "waves of a compute unit" in tree
    payload = json.loads(page.widgets.cards.waves.shown[0])
    assert [timeline["name"] for timeline in payload["timelines"]] == [profiled.name]
    boxes = page.box.children
    assert boxes.index(page.widgets.cards.box) + 1 == boxes.index(page.widgets.grid), "before all figures"
    assert boxes.index(page.widgets.cards.first) < boxes.index(page.widgets.runs), "the verdict comes first"


def test_a_baseline_s_timeline_is_below_the_run_s(page, profiled):
    def names():
        page.widgets.cards.wait()
        return [timeline["name"] for timeline in json.loads(page.widgets.cards.waves.shown[0])["timelines"]]

    page.pin()
    assert names() == [profiled.name], "a run is not compared with itself"
    page.board.take(Event(0, "profile", "later", replace(profiled.compact()), 0.0))
    page.refresh()
    assert names() == [profiled.name, profiled.name]
    # Moved sliders stay if only the baseline changes.
    slider = page.widgets.cards.what_if.sliders["bank_conflicts"]
    slider.value = 0.5
    page.board.compare_with("")
    page.refresh()
    assert names() == [profiled.name]
    assert slider.value == 0.5


def test_sliders_model_the_launch_again(page, profiled):
    what_if = page.widgets.cards.what_if
    assert what_if.changes() == {}
    what_if.sliders["bank_conflicts"].value = 0.0
    what_if.wait()
    again = profiled.what_if(bank_conflicts=0)
    assert f"{profiled.model.seconds / again.seconds:.2f} times as fast" in what_if.answer.value
    assert f"{again.time.value:.4g} us" in what_if.answer.value
    assert "modelled" in what_if.answer.value
    what_if.sliders["clock"].value = 1.2
    assert what_if.changes() == {"bank_conflicts": 0.0, "clock": pytest.approx(1.2e9)}
    button = what_if.box.children[0].children[0].children[-1]
    assert button.description == "As it is"
    button.click()
    assert what_if.changes() == {}
    assert what_if.answer.value == ""
    what_if.wait()


def test_a_report_begins_with_the_summary(page, tmp_path):
    text = page.report(tmp_path / "page.html").read_text()
    body = text[text.index("<body>") :]
    assert body.index("limited by") < body.index("LDS bank conflicts") < body.index("plotly")
    assert "<svg" in body
    assert "<image" in page.widgets.cards.html


def test_a_run_without_counters_has_none(profiled):
    hub = Hub()
    page = Dashboard(source=hub)
    hub.publish("time", profiled.name, profiled.timing)
    assert page.widgets.cards.box.layout.display == "none"
    assert page.widgets.cards.first.value == ""
    assert not page.widgets.cards.html
    page.close()


def test_the_latest_job_is_the_one_that_runs():
    ran, failed, go = [], [], threading.Event()
    work = JobThread(failed.append)
    begun = threading.Event()

    def first():
        begun.set()
        go.wait(10)
        ran.append("first")

    work.run(first)
    begun.wait(10)
    work.run(lambda: ran.append("second"))
    work.run(lambda: ran.append("third"))
    assert work.is_asked
    go.set()
    work.wait()
    assert ran == ["first", "third"]
    work.run(lambda: 1 / 0)
    work.wait()
    assert isinstance(failed[0], ZeroDivisionError)


def test_advice_is_looked_for_once(profiled, monkeypatch):
    before = profiled.advice
    results = importlib.import_module("workbench.profile.results")
    monkeypatch.setattr(results, "advise", lambda profile: pytest.fail("again"))
    assert profiled.advice is before
    assert [finding.rule for finding in advise(profiled)] == [finding.rule for finding in before]
