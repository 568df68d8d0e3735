"""Triton's implementations beside ours: each is called with what its library wants, and right."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.bench.cases import Case
from workbench.bench.implementations import RIVALS
from workbench.bench.rivals import run_rival
from workbench.targets import TILE_TARGETS

SHAPES = {
    "gemm/bf16": {"m": 256, "n": 128, "k": 128},
    "attention/forward": {"queries": 128, "keys": 128, "heads": 2, "heads_kv": 1, "dim": 64, "dim_v": 64},
    "gated_delta/chunk": {"tokens": 130, "keys": 64, "values": 64, "dtype": "bf16"},
}
"""Small problems; of other operators a few rows."""

IN_TRITON = [
    pytest.param(rival, operator, id=f"{rival.name} {operator}")
    for rival in RIVALS
    if rival.group == "triton"
    for operator in rival.operators
]


@pytest.mark.parametrize(("rival", "operator"), IN_TRITON)
def test_triton_computes_what_ours_does(rival, operator) -> None:
    if not rival.installed:
        pytest.skip(f"{rival.module} is not installed")
    case = Case(operator, wb.kernels[operator].shape(SHAPES.get(operator, {"rows": 8, "cols": 384})))
    assert rival.takes(case)
    for target in TILE_TARGETS:
        result = run_rival(rival.name, case, f"emulated:{target}")
        assert not result.failure
        assert result.verified
        assert result.us > 0


def test_what_an_implementation_does_not_take() -> None:
    libraries = {rival.name: rival for rival in RIVALS}
    delta = wb.kernels["gated_delta/chunk"]
    assert not libraries["Triton (flash-linear-attention)"].takes(
        Case("gated_delta/chunk", delta.shape({"chunk": 32}))
    )
    attention = wb.kernels["attention/forward"].shape({"dim": 192, "dim_v": 128})
    assert not libraries["Triton (AITER)"].takes(Case("attention/forward", attention))
