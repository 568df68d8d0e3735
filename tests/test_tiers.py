"""Which tests run when."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiers

ROOT = Path(__file__).parents[1]


def test_everything_named_is_there() -> None:
    for start, _ in tiers.ONE_OF:
        assert (ROOT / start.partition("::")[0]).exists(), start
    for path in tiers.QUICK:
        assert (ROOT / path).exists(), path


def test_all_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with some seed, about as many as asked for with each, all of a group or none."""
    monkeypatch.setattr(
        tiers,
        "ONE_OF",
        (("tests/kernels/test_operators.py", 3), ("tests/a.py::test_slow", 0), ("tests/a.py", 4)),
    )
    drawn = [f"tests/a.py::test_{i}" for i in range(200)]
    taken = [{test for test in drawn if tiers.runs(test, "test", str(seed))} for seed in range(40)]
    assert set().union(*taken) == set(drawn)
    assert all(20 < len(some) < 85 for some in taken)
    assert not any(tiers.runs("tests/a.py::test_slow", "test", str(seed)) for seed in range(20))
    assert tiers.runs("tests/b.py::test", "test", "1")
    assert all(tiers.runs(test, "all", "1") for test in (*drawn, "tests/a.py::test_slow"))
    operators = "tests/kernels/test_operators.py"
    of_one = [f"{operators}::test_{what}[gemm/bf16-gfx950]" for what in ("results", "sanitized")]
    for seed in range(20):
        assert len({tiers.runs(test, "test", str(seed)) for test in of_one}) == 1
