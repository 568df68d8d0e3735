"""Figures, badges and the page: the drawn data with their origins."""

from __future__ import annotations

import dataclasses
import xml.etree.ElementTree as ElementTree

import pytest
import torch

from workbench.check.verify import verify
from workbench.codeobject.occupancy import occupancy
from workbench.display import figure_of
from workbench.events import Event
from workbench.operators import Published
from workbench.origin import Figure, Origin
from workbench.profile.machine import machine
from workbench.profile.measuring import is_stable
from workbench.profile.model import TimeModel
from workbench.profile.timing import SweepResult, TimeResult
from workbench.profile.training_step import StepProfile
from workbench.views.badge import COLOURS, badge, badges
from workbench.views.figures import CARDS
from workbench.views.gallery import samples
from workbench.views.html import report
from workbench.views.picture import svg_of, text_of
from workbench.views.timing import ShapeAxis


def modelled(n, seconds=1e-5):
    parts = {"mfma": seconds, "valu": seconds / 2, "hbm": seconds / 4}
    fits = occupancy("gfx950", vgprs=32, sgprs=32, lds=0, block=256)
    model = TimeModel(seconds + 2e-6, parts, 2e-6, fits, machine("MI355X"))
    work = {"flops": 2 * n**3, "bytes": 6 * n**2}
    return TimeResult("gemm/x", "emulated:gfx950", {"n": n}, *([model.time] * 3), 0, work, model)


def measured(n, us):
    def figure(value):
        return Figure(value, "us", Origin.MEASURED, "HIP events")

    return TimeResult("gemm/x", "gpu:0", {"n": n}, figure(us), figure(us * 0.9), figure(us * 1.2), 50)


def origins_of(figure):
    return [a.text for a in figure.layout.annotations if a.name == "origin"]


def test_badges():
    assert "modelled" in badge(Origin.MODELLED)
    assert "never seen on hardware" in badge(Origin.MODELLED)
    assert "rocprof &lt;1&gt;" in badge(Figure(1, "", Origin.MEASURED, "rocprof <1>"))
    assert badges([Origin.MEASURED, Origin.MODELLED, Origin.MEASURED]).count("wb-badge") == 2


def test_rates_keep_the_origin():
    result = modelled(512)
    assert result.rate.origin is Origin.MODELLED
    assert result.rate.value == pytest.approx(2 * 512**3 / 12e-6 / 1e12)
    assert result.bandwidth.value == pytest.approx(6 * 512**2 / 12e-6 / 1e12)
    assert "(modelled, accuracy unknown)" in str(result)
    assert measured(512, 10.0).rate is None


def test_time_figures():
    figure = modelled(512).figure
    assert origins_of(figure) == ["modelled"]
    assert figure.data[0].y[-1] == "matrix cores"
    assert figure.data[0].x[-1] == pytest.approx(10.0)
    figure = measured(512, 10.0).figure
    assert origins_of(figure) == ["measured"]
    assert figure.data[0].error_x.array[0] == pytest.approx(2.0)


def test_sweep_with_published_figures():
    published = [
        Published({"n": 1024}, 15.4, "us", "MI355X", "HipKittens", "its repository"),
        Published({"n": 1024}, 56.9, "TFLOP/s", "MI355X", "PyTorch", "its repository"),
    ]
    results = SweepResult("gemm/x", [modelled(512), modelled(1024)], published)
    figure = results.figure
    assert sorted(origins_of(figure)) == ["modelled", "published"]
    assert figure.layout.yaxis.title.text == "rate, TFLOP/s"
    by_name = {trace.name: trace for trace in figure.data}
    assert list(by_name["emulated:gfx950 (modelled)"].x) == [512, 1024]
    assert (figure.layout.xaxis.type, figure.layout.xaxis.title.text) == ("log", "n")
    # 15.4 us for 2 * 1024^3 operations are 139 TFLOP/s.
    assert by_name["HipKittens MI355X (published)"].y[0] == pytest.approx(139.4, abs=0.1)
    assert by_name["PyTorch MI355X (published)"].y[0] == 56.9
    assert "modelled" in results._repr_html_()
    assert len(results[:1]) == 1


def test_shapes_that_differ_in_more_than_a_number():
    shapes = [{"m": m, "n": m, "k": k, "dtype": "bf16"} for m, k in ((4096, 64), (16, 64), (256, 128))]
    axis = ShapeAxis(shapes)
    assert axis.look["categoryarray"] == ["m=16, n=16, k=64", "m=256, n=256, k=128", "m=4096, n=4096, k=64"]
    cubes = ShapeAxis([{"m": m, "n": m, "k": m, "dtype": "bf16"} for m in (512, 256)])
    assert (cubes.look["title"], cubes.look["tickvals"]) == ("m = n = k", [256, 512])


def test_lines_of_two_devices_have_two_hues_and_one_pattern():
    both = [modelled(512), dataclasses.replace(modelled(512), device="emulated:gfx942")]
    lines = SweepResult("gemm/x", both, ()).figure.data
    assert len({line.line.color for line in lines}) == 2
    assert {line.line.dash for line in lines} == {"dash"}
    assert not {line.line.color for line in lines} & set(COLOURS.values())


def test_sweep_without_work_shows_times():
    results = SweepResult("k", [measured(1, 3.0), measured(2, 4.0)], ())
    assert results.figure.layout.yaxis.title.text == "time, us"
    assert list(results.figure.data[0].y) == [3.0, 4.0]


def test_median_stability():
    assert is_stable([10.0] * 20)
    assert not is_stable([10.0, 12.0] * 10)
    assert is_stable([10.0] * 98 + [50.0, 60.0])


def test_report_is_self_contained(tmp_path):
    checked = verify(lambda x: x * 1.5, lambda x: x * 2, inputs={"x": torch.ones(8, 8)})
    path = report(
        tmp_path / "deep" / "demo.html",
        "# A <heading>",
        "text",
        modelled(64),
        checked,
        {"a": 1},
        title="T & T",
    )
    page = path.read_text()
    assert "<h2>A &lt;heading&gt;</h2>" in page
    assert "<title>T &amp; T</title>" in page
    assert "modelled" in page
    assert "✗ failed" in page
    # plotly's code is in the page, once, and nothing is fetched.
    assert page.count("plotly.js v") == 1
    assert 'src="http' not in page


def test_what_looks_like_markup_in_a_name_is_shown() -> None:
    figure = figure_of(
        dataclasses.replace(samples.measured(), name="scale<b>&<a href='x'>", device="%{y} 50%")
    )
    assert figure.data[0].y == ("scale&lt;b&gt;&amp;&lt;a href='x'&gt;",)
    assert figure.layout.title.text.startswith(
        "scale&lt;b&gt;&amp;&lt;a href='x'&gt; on &#37;{y} 50%: 28.4 us"
    )
    assert "scale<b>&<a href='x'> on %{y} 50%" in text_of(figure)
    picture = "".join(ElementTree.fromstring(svg_of(figure)).itertext())
    assert "scale<b>&<a href='x'>" in picture
    assert "&lt;" not in picture


def test_a_tuning_without_a_successful_candidate_has_a_figure() -> None:
    tuned = samples.tuned()
    failed = [
        dataclasses.replace(trial, result=dataclasses.replace(trial.result, us=0.0, failure="why"))
        for trial in tuned.trials
    ]
    tuned.trials = tuple(failed)
    figure = figure_of(tuned)
    assert figure.layout.title.text.endswith("0 candidates")


def test_a_training_step_is_compared_with_the_one_before():
    board = samples.board(baseline=True)
    now, before = board.steps
    view = next(card for card in CARDS if card.key == "step").make(board)
    changes = {row[2]: row[-1] for row in view.rows}
    assert changes.pop("normalization/rmsnorm") == f"{18 / 25 - 1:+.1%}"
    assert set(changes.values()) == {"same"}
    grey, current = view.figure.data
    assert sum(current.x) == pytest.approx(now.total.value)
    assert sum(grey.x) == pytest.approx(before.total.value)
    assert view.origins == [Origin.MODELLED]


def test_a_step_of_another_device_is_not_compared():
    board = samples.board()
    first = board.steps[0]
    board.take(Event(99, "step", "emulated:MI300X", StepProfile(first.calls, "emulated:MI300X")))
    assert board.steps[0].device == "emulated:MI300X"
    assert board.steps[1] is None
