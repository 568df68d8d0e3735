"""Benchmarks: problems, verification, stored results, comparisons; one small case is timed."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.__main__ import main
from workbench.bench import cases as problems
from workbench.bench import compare_results, run
from workbench.bench.cases import Case, analyses, cases, cost
from workbench.bench.command import parsed_cluster, parsed_shapes
from workbench.bench.compare import percentage
from workbench.bench.implementations import RIVALS
from workbench.bench.results import OURS, Result, Store, read
from workbench.bench.rivals import chosen_rivals
from workbench.bench.run import Progress
from workbench.bench.run_case import code_of, run_case, verified_shape
from workbench.bench.setting import highest_clock, source_digest
from workbench.errors import UsageError
from workbench.runtime import device as device_named
from workbench.views.benchmarks import analysis_bars

MI355X = "emulated:gfx950"


def modelled_result(case: Case, device: str, **overrides: Any) -> Result:
    """A result without a run: a microsecond for every million operations."""
    us = cost(case.spec, case.shape) / 1e6
    fields = {"us": us, "low": us, "high": us, "origin": "modelled", "verified": "as it is"}
    fields |= {
        **case.spec.work(case.shape),
        "source": source_digest(case.operator, wb.device(device)),
        **overrides,
    }
    return Result(case.name, dict(case.shape), OURS, device, "MI355X", **fields)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Records the cases instead of running them."""
    executed: list[Case] = []

    def fake(case: Case, device: str) -> Result:
        executed.append(case)
        return modelled_result(case, device)

    monkeypatch.setattr(run, "run_case", fake)
    return executed


def test_problems_are_those_with_published_figures_of_the_product() -> None:
    device = device_named("MI355X")
    published = cases(["gemm/bf16"], "published", device)
    assert {case.shape["m"] for case in published} == {1024, 2048, 4096, 8192, 16384}
    (backward,) = cases(["normalization/layernorm_backward"], "published", device)
    spec = wb.kernels["normalization/layernorm_backward"]
    assert backward.shape == spec.shape(spec.shapes[0]), "nobody published any"
    softmax = cases(["activations/softmax"], "published", device)
    assert {case.shape["rows"] for case in softmax} == {4096, 16384, 65536}, "published for another product"
    listed = cases(["gemm/bf16"], [{"m": 64, "n": 64, "k": 64}], device)
    assert [case.shape["m"] for case in listed] == [64]


def test_a_published_problem_is_timed_by_the_variant_that_its_figure_compares() -> None:
    published = cases(["attention/backward"], "published", device_named("MI355X"))
    assert {case.operator for case in published} == {"attention/backward:pinned"}
    assert {case.shape["queries"] for case in published} == {1024, 2048, 4096, 8192, 16384}
    elsewhere = cases(["attention/backward"], "published", device_named("MI300X"))
    assert {case.operator for case in elsewhere} == {"attention/backward"}, "it takes gfx950 alone"
    (unpublished,) = cases(["attention/backward"], [published[0].shape], device_named("MI355X"))
    assert unpublished.operator == "attention/backward", "a given shape is no figure's"
    results = [modelled_result(case, MI355X) for case in published]
    backward = [figure for figure in analyses() if figure.operator == "attention/backward"]
    assert sum(bar.who == OURS for figure in backward for bar in analysis_bars(figure, results)[0]) == 20


def test_operators_by_name_and_category() -> None:
    assert problems.named(["rotary"]) == [name for name in wb.kernels if name.startswith("rotary/")]
    assert problems.named(None) == list(wb.kernels)
    with pytest.raises(wb.WorkbenchError, match="did you mean gemm/bf16"):
        problems.named(["gemm/bf61"])
    with pytest.raises(UsageError, match="operators is 5; expected names such as 'gemm/bf16'"):
        wb.bench(5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="shapes is 5; expected 'published'"):
        wb.bench("gemm/bf16", shapes=5)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="shapes is 'all'"):
        cases(["gemm/bf16"], "all", device_named("MI355X"))


def test_every_point_of_hipkittens_figures_is_a_problem_of_ours() -> None:
    device = device_named("MI355X")
    assert len(analyses()) == 19
    for figure in analyses():
        spec = wb.kernels[figure.operator]
        for point in figure.points:
            spec.shape(point.shape, arch=device.arch)
            if point.operator:
                wb.kernels[point.operator].tuned(**point.settings)
            assert all(value > 0 for value in point.published.values())
    names = {case.name for case in cases(["gemm/bf16"], "published", device, figures=True)}
    assert {"gemm/bf16:interleave", "gemm/bf16:ping_pong[window=32, chunk=128]"} <= names


def test_figures_agree_with_those_that_stand_in_specs() -> None:
    """Both came from HipKittens' files, by two ways."""
    compared = 0
    for figure in analyses():
        for published in wb.kernels[figure.operator].published:
            for mine in figure.published():
                alike = (published.gpu, published.implementation) == (mine.gpu, mine.implementation)
                if alike and dict(published.shape).items() <= {**published.shape, **mine.shape}.items():
                    spec = wb.kernels[figure.operator]
                    if spec.shape(published.shape) != spec.shape(mine.shape):
                        continue
                    flops = spec.work(published.shape)["flops"]
                    times = [f.value if f.unit == "us" else flops / f.value * 1e-6 for f in (published, mine)]
                    assert times[0] == pytest.approx(times[1], rel=0.02), (figure.key, published, mine)
                    compared += 1
    assert compared > 20


@pytest.mark.parametrize(
    ("operator", "shape"),
    [
        ("gemm/bf16", {"m": 16384, "n": 16384, "k": 16384}),
        ("gemm/bf16", {"m": 16, "n": 65536, "k": 8192}),
        ("normalization/fused_add_layernorm", {"rows": 262144, "cols": 2048, "drops": 1}),
        ("attention/forward", {"batch": 16, "queries": 8192, "keys": 8192, "heads": 64, "heads_kv": 8}),
    ],
)
def test_what_is_verified_is_the_code_that_is_timed(operator: str, shape: dict[str, int]) -> None:
    spec = wb.kernels[operator]
    full = spec.shape(shape, arch="gfx950")
    implementation = spec.implementation(full, arch="gfx950")
    small = verified_shape(implementation.spec, full, "gfx950", 2e9)
    assert cost(spec, small) <= 2e9 < cost(spec, full)
    assert code_of(implementation.spec, small, "gfx950") == code_of(implementation.spec, full, "gfx950")


def test_a_case_is_verified_and_timed() -> None:
    case = Case("activations/softmax", wb.kernels["activations/softmax"].shape({"rows": 100, "cols": 128}))
    result = run_case(case, MI355X)
    assert not result.failure
    assert result.verified == "rows=100, cols=128, dtype=bf16"
    assert (result.origin, result.product, result.runs) == ("modelled", "MI355X", 0)
    assert result.us > 0
    assert result.error["rows"] > 0, "softmax was compared with published times"
    assert result.setting["compiler"]
    assert result.setting["versions"]["torch"]
    assert len(result.source) == 16


def test_a_case_that_fails_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("gemm/bf16:few_rows", wb.kernels["gemm/bf16"].shape({"m": 65, "n": 64, "k": 64}))
    result = run_case(case, MI355X)
    assert result.failure.startswith("ShapeError: GEMM: m is 65")
    assert result.us == 0


def test_results_are_stored_and_a_run_is_resumed(ran: list[Case], tmp_path: Path) -> None:
    def stop(line: str) -> None:
        if len(ran) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e99, log=stop)
    assert len(read(tmp_path / "results.sqlite")) == 2
    result = wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e99)
    assert len(ran) == len(result) == 5, "each ran once"
    assert result.title == "modelled on MI355X"
    stored = read(tmp_path / "results.sqlite")
    assert {row.key: row for row in stored} == {row.key: row for row in result}
    wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e99, again=True)
    assert len(ran) == 10


def test_other_sources_are_timed_anew(
    ran: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e99)
    monkeypatch.setattr(run, "source_digest", lambda operator, device: "changed")
    wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e99)
    assert len(ran) == 10


def test_too_large_ones_are_left_out_and_run_later(ran: list[Case], tmp_path: Path) -> None:
    result = wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e11)
    assert [row.failure.partition(":")[0] for row in result] == ["", "", *["not run"] * 3]
    assert len(read(tmp_path / "results.sqlite")) == 2, "what did not run replaces nothing"
    wb.bench("gemm/bf16", device="MI355X", out=tmp_path, largest=1e12)
    assert len(ran) == 3


def test_progress_shows_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(run.time, "monotonic", lambda: now[0])
    lines: list[str] = []
    progress = Progress({"a": 1e8, "b": 1e8, "c": 1.6e9}, lines.append)
    case = Case("gemm/bf16", wb.kernels["gemm/bf16"].shape({"m": 64, "n": 64, "k": 64}))
    now[0] = 10.0
    progress.add("a", modelled_result(case, MI355X))
    assert progress.seconds_left() == pytest.approx(30), "sixteen times the work takes twice as long"
    assert lines[0].startswith("[1/3, 30 s left]")
    assert "modelled" in lines[0]


def test_a_slower_case_fails_the_comparison(tmp_path: Path) -> None:
    case = Case("gemm/bf16", wb.kernels["gemm/bf16"].shape({"m": 64, "n": 64, "k": 64}))
    other = Case("gemm/bf16", wb.kernels["gemm/bf16"].shape({"m": 64, "n": 64, "k": 128}))
    old, new = tmp_path / "old", tmp_path / "new"
    for folder, us in ((old, 100.0), (new, 104.0)):
        store = Store(folder / "results.sqlite")
        store.add(modelled_result(case, MI355X, us=us, low=us, high=us))
        store.add(modelled_result(other, MI355X, us=50.0, low=50.0, high=50.0))
        store.close()
    comparison = compare_results(old, new, 0.03)
    assert [change.slower for change in comparison.failed] == [pytest.approx(0.04)]
    assert compare_results(old, new, 0.05).passed
    assert main(["bench", "--compare", str(old), str(new), "--fail-above", "3%"]) == 1
    assert main(["bench", "--compare", str(old), str(new), "--fail-above", "5%"]) == 0


def test_scatter_is_no_regression_but_a_failure_is(tmp_path: Path) -> None:
    case = Case("gemm/bf16", wb.kernels["gemm/bf16"].shape({"m": 64, "n": 64, "k": 64}))
    base = modelled_result(case, MI355X, us=100.0, low=95.0, high=105.0)
    noisy = replace(base, us=107.0, low=100.0, high=110.0)
    broken = replace(base, us=0.0, failure="wrong: c differs")
    for name, result in (("base", base), ("noisy", noisy), ("broken", broken)):
        store = Store(tmp_path / name / "results.sqlite")
        store.add(result)
        store.close()
    assert compare_results(tmp_path / "base", tmp_path / "noisy").passed
    failed = compare_results(tmp_path / "base", tmp_path / "broken").failed
    assert [change.slower for change in failed] == [math.inf]
    empty = tmp_path / "empty.sqlite"
    Store(empty).close()
    with pytest.raises(UsageError, match="no case in common"):
        compare_results(tmp_path / "base", empty)
    with pytest.raises(UsageError, match="there is no file"):
        compare_results(tmp_path / "base", tmp_path / "nothing.sqlite")


def test_words_of_the_command_line() -> None:
    assert parsed_shapes(None) == "published"
    assert parsed_shapes(["own"]) == "own"
    assert parsed_shapes(["m=64,n=128,dtype=fp16"]) == [{"m": 64, "n": 128, "dtype": "fp16"}]
    with pytest.raises(UsageError, match="--shapes has 'large'"):
        parsed_shapes(["large"])
    assert [parsed_cluster(word) for word in (None, "2", "local")] == [None, 2, "local"]
    assert percentage("3%") == percentage("0.03") == 0.03
    with pytest.raises(UsageError, match="expected a percentage"):
        percentage("three")


def test_implementations_of_others() -> None:
    device = device_named("MI355X")
    with pytest.raises(UsageError, match="pytorch runs on a GPU only"):
        chosen_rivals(["pytorch"], device)
    with pytest.raises(UsageError, match="against is 'cuda'; expected some of triton, flydsl, pytorch"):
        chosen_rivals(["cuda"], device)
    ours = next(rival for rival in RIVALS if rival.name == "Triton (ours)")
    gemm = wb.kernels["gemm/bf16"]
    assert ours.takes(Case("gemm/bf16", gemm.shape({"m": 256, "n": 256, "k": 256})))
    assert not ours.takes(Case("gemm/bf16", gemm.shape({"m": 256, "n": 256, "k": 256, "bias": 1})))
    assert not ours.takes(Case("gemm/fp8", wb.kernels["gemm/fp8"].shape()))


def test_clocks_of_a_gpu_from_amd_smi() -> None:
    report = [{"gpu": 0, "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}}, "mem_0": {"clk": 900}}}]
    assert highest_clock(report) == 2100
    assert highest_clock([]) == 0
