"""Tuning: which candidates are tried or never compiled, and the table; candidates run nothing here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.bench import tuning
from workbench.bench.cases import Case
from workbench.bench.results import OURS, Result
from workbench.bench.setting import source_digest
from workbench.bench.tuning import candidates
from workbench.errors import UsageError

SHAPE = {"m": 4096, "n": 4096, "k": 512}
DEVICE = "emulated:gfx950"


def time_of(variant: str, settings: Mapping[str, Any]) -> float:
    """Invented: the interleave in windows of 4 rows is fastest, by 20 %."""
    us = {"interleave": 100.0, "ping_pong": 110.0}.get(variant, 200.0)
    return us + 5 * abs(settings.get("window", 16) - 4) / 4 + (3 if settings.get("chunk") else 0)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Records the candidates instead of timing them."""
    cases: list[Case] = []

    def fake(case: Case, device: str) -> Result:
        cases.append(case)
        variant = case.operator.partition(":")[2]
        fields: dict[str, Any] = {"us": time_of(variant, case.settings), "origin": "modelled"}
        if variant == "double_buffer" and case.settings.get("side") == 64:
            fields = {"failure": "wrong: c differs"}
        source = source_digest(case.operator, wb.device(device))
        return Result(case.name, dict(case.shape), OURS, device, "MI355X", source=source, **fields)

    monkeypatch.setattr(tuning, "run_case", fake)
    return cases


def test_small_spaces_are_tried_whole(ran: list[Case]) -> None:
    result = wb.tune("gemm/bf16", [SHAPE], budget=1000, device=DEVICE)
    fit, pruned, default = candidates(wb.kernels["gemm/bf16"], result.shapes[0], "gfx950")
    assert len(ran) == len(fit) == len({case.name for case in ran})
    assert default.variant == "ping_pong"
    assert ran[0].operator == "gemm/bf16:ping_pong", "what is compared with comes first"
    assert not any("few_rows" in case.operator for case in ran), "4096 rows are not few"
    assert "m is 4096" in pruned["few_rows"]
    best = result.best(result.shapes[0])
    assert best is not None
    assert best.candidate.name == "interleave, window=4"
    assert "interleave, window=4, 100 us modelled, untuned 125" in repr(result)


def test_large_spaces_are_searched_within_the_budget(ran: list[Case]) -> None:
    pytest.importorskip("optuna")
    result = wb.tune("gemm/bf16", [SHAPE], budget=40, device=DEVICE, seed=1)
    assert len(ran) == 40 == len({case.name for case in ran})
    assert ran[0].name == "gemm/bf16:ping_pong", "what is compared with comes first"
    shape = result.shapes[0]
    assert result.untuned(shape) is not None
    best = result.best(shape)
    assert best is not None
    assert best.candidate.variant == "interleave"
    assert best.result.us <= 115


def test_the_same_seed_searches_the_same(ran: list[Case]) -> None:
    pytest.importorskip("optuna")
    names = []
    for _ in range(2):
        ran.clear()
        wb.tune("gemm/bf16", [SHAPE], budget=20, device=DEVICE, seed=3)
        names.append([case.name for case in ran])
    assert names[0] == names[1]


def test_the_table_is_what_variants_read(
    ran: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = wb.kernels["gemm/bf16"]
    result = wb.tune(spec, [SHAPE], budget=1000, device=DEVICE)
    path = result.save(tmp_path)
    assert path == tmp_path / "gemm" / "bf16.json"
    wb.tune(spec, [{**SHAPE, "k": 1024}], budget=1000, device=DEVICE).save(tmp_path)
    assert len(json.loads(path.read_text())["gfx950"]) == 2, "rows of other problems stay"
    monkeypatch.setenv("HIPKITTENS_TUNING", str(tmp_path))
    spec.read_tuning_again()
    try:
        assert spec.implementation(SHAPE, arch="gfx950").name == "gemm/bf16:interleave[window=4]"
        row = spec.tuned_row(SHAPE, arch="gfx950")
        assert row is not None
        assert (row.us, row.default_us, row.origin) == (100.0, 125.0, "modelled")
        assert "emulated:gfx950" in row.source
        assert spec.variant_name({**SHAPE, "m": 2048}, arch="gfx950") == "ping_pong"
    finally:
        monkeypatch.undo()
        spec.read_tuning_again()


def test_what_is_not_faster_by_enough_stays(ran: list[Case]) -> None:
    result = wb.tune("gemm/bf16", [SHAPE], budget=1000, device=DEVICE, at_least=0.5)
    (row,) = result.rows
    assert (row.variant, dict(row.settings)) == ("ping_pong", {})


def test_a_stopped_search_is_resumed(ran: list[Case], tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stop(line: str) -> None:
        if len(ran) == 10:
            raise Stopped

    with pytest.raises(Stopped):
        wb.tune("gemm/bf16", [SHAPE], budget=1000, device=DEVICE, out=tmp_path, log=stop)
    first = len(ran)
    result = wb.tune("gemm/bf16", [SHAPE], budget=1000, device=DEVICE, out=tmp_path)
    assert first == 10
    assert len(ran) == len(result.trials), "nothing was tried twice"


def test_what_cannot_be_tuned_is_refused() -> None:
    with pytest.raises(UsageError, match="only as it is takes"):
        wb.tune("activations/topk", device=DEVICE)
    with pytest.raises(UsageError, match="is a part of an operator"):
        wb.tune("gemm/bf16:ping_pong", device=DEVICE)
    with pytest.raises(UsageError, match="budget is 0"):
        wb.tune("gemm/bf16", budget=0, device=DEVICE)


def test_a_candidate_runs_and_is_verified() -> None:
    shapes = [{"m": 5, "n": 136, "k": 528}]
    result = wb.tune("gemm/bf16", shapes, budget=2, device=DEVICE)
    assert all(trial.result.verified and not trial.result.failure for trial in result.trials), result.trials
    assert all(row.origin == "modelled" and row.us > 0 for row in result.rows)
