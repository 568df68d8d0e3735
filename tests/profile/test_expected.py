"""A modelled time states its error wherever it is displayed; other times do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.origin import NEVER_COMPARED, Expected, Figure, Origin
from workbench.profile import expected as module
from workbench.profile.expected import REGIMES, TABLE, expected, regime
from workbench.profile.launch import QUANTITIES
from workbench.views.badge import badge, style, unknown

ERROR = Expected(34, 0.22, 0.7, 1.25, "gemm times")


def test_an_error_in_words() -> None:
    assert ERROR.short == "typically 22% off"
    assert "34 gemm times" in ERROR.text
    assert NEVER_COMPARED.short == "accuracy unknown"
    assert NEVER_COMPARED.text.startswith("accuracy unknown: nothing like it was compared")
    assert ERROR.around(100.0) == (80.0, pytest.approx(142.857, rel=1e-4))
    assert NEVER_COMPARED.around(100.0) is None


def test_a_figure_states_it() -> None:
    assert str(Figure(12.5, "us", Origin.MODELLED, "model", ERROR)) == "12.5 us (modelled, typically 22% off)"
    assert str(Figure(12.5, "us", Origin.MEASURED)) == "12.5 us (measured)"
    assert "never compared" not in str(Figure(3, "", Origin.COUNTED))


def test_badges_and_figures_show_it() -> None:
    go = pytest.importorskip("plotly.graph_objects")
    modelled = Figure(1.0, "us", Origin.MODELLED, "model", ERROR)
    assert ERROR.short in badge(modelled)
    assert "off" not in badge(Origin.MODELLED)

    def error_labels(*of: Figure | Origin) -> list[str]:
        figure = style(go.Figure(), of, "a title")
        return [a.text for a in figure.layout.annotations if a.name == "error"]

    never = Figure(1.0, "us", Origin.MODELLED, "model", NEVER_COMPARED)
    assert error_labels(never) == [], "said once, beside the table"
    assert ">accuracy unknown<" not in badge(never)
    assert NEVER_COMPARED.text in badge(never), "the tool tip has it"
    assert unknown([never, never, modelled, None]).count("href") == 1
    assert not unknown([modelled, None])
    assert error_labels(modelled, Origin.COUNTED) == [ERROR.short]
    assert error_labels(Origin.COUNTED) == []


def test_a_spec_that_was_compared_has_its_class_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = tmp_path / "model_error.json"
    errors = {"rows": 3, "median": 0.1, "low": 0.8, "high": 1.1}
    classes = {"gemm": {"kernels": ["gemm/bf16"], **errors}}
    regimes = {"short": {**errors, "rows": 5}}
    table.write_text(json.dumps({"classes": classes, "regimes": regimes}), encoding="utf-8")
    monkeypatch.setattr(module, "TABLE", table)
    short = Expected(5, 0.1, 0.8, 1.1, "times of kernels of less than 10 us")
    assert expected("gemm/bf16", "short") == expected("", "short") == short, "whoever wrote the kernel"
    assert expected("gemm/bf16", "matrix") == expected("gemm/bf16"), "a regime without rows"
    assert expected("gemm/bf16") == Expected(3, 0.1, 0.8, 1.1, "gemm times")
    assert expected("gemm/bf16:ping_pong") == expected("gemm/bf16")
    assert expected("attention/decode") is NEVER_COMPARED
    assert expected("") is NEVER_COMPARED


@pytest.mark.parametrize(
    ("launch", "of"),
    [
        (("hbm", 50e-6, 2.0, False), "narrow"),
        (("mfma", 9e-6, 16.0, True), "short"),
        (("MATRIX_BUSY", 50e-6, 16.0, True), "matrix"),
        (("WAIT_MEMORY", 50e-6, 16.0, False), "memory, cold"),
        (("infinity", 50e-6, 16.0, True), "memory, warm"),
        (("AT_BARRIER", 50e-6, 0.0, True), "else"),
    ],
)
def test_the_regime_of_a_launch(launch: tuple[str, float, float, bool], of: str) -> None:
    bound, seconds, width, warm = launch
    assert regime(bound, seconds, width, warm=warm) == of
    assert of in REGIMES


def test_the_table_is_of_kernels_that_there_are() -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    assert set(table["regimes"]) <= set(REGIMES)
    for errors in table["regimes"].values():
        assert errors["rows"] > 0
        assert 0 < errors["low"] <= errors["high"]
    for name, errors in table["classes"].items():
        assert set(errors["kernels"]) <= set(wb.kernels), name
        assert errors["rows"] > 0
        assert 0 < errors["low"] <= errors["high"]
        assert errors["median"] >= 0
    assert expected(next(iter(table["classes"].values()))["kernels"][0]).rows > 0


def test_times_and_profiles_name_the_error_and_its_regime() -> None:
    shape = {"rows": 8, "cols": 64}
    timed = wb.time("normalization/rmsnorm", shape=shape, device="emulated:gfx950")
    assert timed.model is not None
    assert timed.model.error == timed.median.error
    assert timed.model.error == expected("normalization/rmsnorm", timed.model.regime)
    assert timed.rate is not None
    assert timed.rate.error == timed.median.error
    assert timed.quantity == QUANTITIES["kernel"].description
    assert timed.events is not None
    assert timed.events.value - timed.median.value == pytest.approx(QUANTITIES["events"].seconds * 1e6)
    assert timed.median.error is not None
    assert timed.median.error.short in str(timed)
    profiled = wb.profile("normalization/rmsnorm", shape=shape, device="emulated:gfx950")
    assert profiled.time.error == timed.median.error
    rates = [m.figure for m in profiled.metrics.values() if m.figure is not None and m.figure.error]
    assert rates, "metrics that a modelled time goes into carry its error"
    assert all(figure.origin is Origin.MODELLED for figure in rates)


def test_a_kernel_without_a_spec_has_the_error_of_its_regime() -> None:
    source = (
        '#include <hip/hip_runtime.h>\nextern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }'
    )
    twice = wb.compile(source, arch="gfx950")["twice"]
    result = wb.time(twice[1, 64], torch.ones(64))
    assert result.model is not None
    assert result.model.regime == "short"
    assert result.median.error == expected("", "short") != NEVER_COMPARED
    assert result.median.error.short in str(result)
