"""Figures and pages of benchmarks and tuning: their words and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.bench.cases import analyses
from workbench.bench.results import OURS, Result
from workbench.bench.run import BenchResult
from workbench.bench.tuning import Candidate, Trial, TuneResult
from workbench.operators import shape_text
from workbench.origin import Expected
from workbench.views import benchmarks
from workbench.views.badge import errors_text
from workbench.views.benchmark_page import write_all
from workbench.views.picture import svg_of

ERROR = {"rows": 30, "median": 0.127, "low": 0.67, "high": 1.06, "kind": "gemm times"}


def result(operator: str, us: float, who: str = OURS, **shape: int) -> Result:
    spec = wb.kernels[operator]
    full = spec.shape(shape)
    return Result(
        operator,
        full,
        who,
        "emulated:gfx950",
        "MI355X",
        us=us,
        low=us,
        high=us,
        origin="modelled",
        error=ERROR,
        verified=shape_text(full),
        **spec.work(full),
    )


@pytest.fixture
def results() -> BenchResult:
    sides = {1024: 13.3, 2048: 26.5, 4096: 92.1}
    return BenchResult(
        [
            *(result("gemm/bf16", us, m=n, n=n, k=n) for n, us in sides.items()),
            result("gemm/bf16", 20.0, "Triton (ours)", m=1024, n=1024, k=1024),
            result("normalization/fused_add_layernorm", 30.0, rows=16384, cols=2048, drops=1),
        ]
    )


def test_bars_have_every_implementation_and_its_value(results: BenchResult) -> None:
    figure = benchmarks.operator_bars(results, "gemm/bf16")
    names = [trace.name for trace in figure.data]
    assert names[0] == f"{OURS} (modelled)"
    assert {"HipKittens (published)", "AITER (published)", "hipBLASLt (published)"} <= set(names)
    assert "Triton (ours) (modelled)" in names
    ours = figure.data[0]
    assert list(ours.x) == ["1024", "2048", "4096"]
    assert ours.y[2] == pytest.approx(2 * 4096**3 / 92.1e-6 / 1e12)
    assert ours.text[2] == "1,492"
    hipkittens = next(trace for trace in figure.data if trace.name.startswith("HipKittens ("))
    assert hipkittens.y[2] == pytest.approx(1412.85, rel=1e-3)
    assert "1,492" in svg_of(figure)


def test_memory_bound_operators_are_in_bytes_a_second(results: BenchResult) -> None:
    figure = benchmarks.operator_lines(results, "normalization/fused_add_layernorm")
    assert figure.layout.yaxis.title.text == "bandwidth, TB/s"


def test_the_roofline_has_all_of_it(results: BenchResult) -> None:
    figure = results.figure
    assert "MI355X" in figure.layout.title.text
    ours = next(trace for trace in figure.data if trace.name == f"{OURS} (modelled)")
    assert len(ours.x) == 4
    assert any("HBM 8 TB/s" in (trace.name or "") for trace in figure.data)


def test_hipkittens_figures_stand_beside_ours(results: BenchResult) -> None:
    (gemm, norm) = benchmarks.analyses_of(results)
    assert (gemm.key, norm.key) == ("gemm-bf16", "layernorm")
    bars, unit = benchmarks.analysis_bars(gemm, list(results))
    assert unit == "TFLOP/s"
    assert {bar.x for bar in bars if bar.who == OURS} == {"1024", "2048", "4096"}
    assert {bar.x for bar in bars if bar.who == "HipKittens"} == {"1024", "2048", "4096", "8192", "16384"}
    assert all(analysis.source.startswith("HipKittens main") for analysis in analyses())


def test_the_page_says_what_the_numbers_are(results: BenchResult, tmp_path: Path) -> None:
    json_file, page, index = write_all(results, tmp_path)
    text = page.read_text()
    assert text.startswith("# Benchmarks: modelled on MI355X")
    assert "no GPU was used" in text
    assert "typically 13 % off" in text.replace("13%", "13 %")
    pictures = [line.partition("](")[2].rstrip(")") for line in text.splitlines() if line.startswith("![")]
    assert "figures/gemm-bf16.svg" in pictures
    assert all((tmp_path / picture).read_text().startswith("<svg") for picture in pictures)
    assert '"us": 92.1' in json_file.read_text()
    assert "Plotly.newPlot" in index.read_text()


def test_parallel_coordinates_mark_the_chosen_and_the_untuned() -> None:
    shape = wb.kernels["gemm/bf16"].shape({"m": 1024, "n": 1024, "k": 1024})
    settings = {100.0: {}, 90.0: {"window": 4}, 95.0: {"window": 8, "chunk": 32}}
    trials = [
        Trial(shape, Candidate("ping_pong", s), result("gemm/bf16", us, m=1024, n=1024, k=1024))
        for us, s in settings.items()
    ]
    default = {shape_text(shape): Candidate("ping_pong")}
    tuned = TuneResult("gemm/bf16", wb.device("emulated:gfx950"), trials, {}, default, 0.01)
    figure = tuned.figure
    names = [trace.name for trace in figure.data if trace.name]
    assert "chosen: ping_pong, window=4, 90 us" in names
    assert "untuned: ping_pong, 100 us" in names
    best = next(trace for trace in figure.data if (trace.name or "").startswith("chosen"))
    assert best.x[-1] == "us"
    assert best.y[-1] == 1.0, "the fastest is at the top"
    assert "not drawn here" not in svg_of(figure)
    assert "10.0%" in tuned._repr_html_()


def test_an_implementation_has_a_hue_of_its_own() -> None:
    names = {
        OURS,
        "HipKittens (port), MI325X",
        "AITER Triton, MI325X",
        "Triton (Liger-Kernel)",
        "PyTorch, MI325X",
    }
    of_softmax = benchmarks.hues(names)
    assert len(set(of_softmax.values())) == len(names)
    with_triton = benchmarks.hues({OURS, "Triton", "Triton (ours)", "PyTorch"})
    assert len(set(with_triton.values())) == 4
    assert with_triton["PyTorch"] == benchmarks.hues({"PyTorch"})["PyTorch"]
    assert of_softmax[OURS] == with_triton[OURS]


def test_errors_of_many_kinds_fit_a_line() -> None:
    row, gemm, never = Expected(30, 0.31), Expected(20, 0.1), Expected()
    assert errors_text([gemm]) == "typically 10% off"
    assert errors_text([row, never, gemm]) == "typically 10% to 31% off, some never compared"
    assert errors_text([never]) == "accuracy unknown"
