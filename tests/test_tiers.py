"""The tests that each tier runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tiers

from workbench import kernels
from workbench.targets import LIBRARY_TARGETS, TILE_TARGETS

ROOT = Path(__file__).parents[1]


def test_everything_named_is_there() -> None:
    for test in tiers.costs():
        path, _, function = test.partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (ROOT / path).read_text(), test
    for path in tiers.QUICK:
        assert (ROOT / path).exists(), path


def test_all_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test runs with some seed; each seed runs about the requested share, and whole groups."""
    operators = "tests/kernels/test_operators.py"
    costs = {
        "tests/a.py::test": 4.0,
        "tests/a.py::test_slow": 300.0,
        "tests/kernels/generated/a.py::test": 300.0,
    }
    costs |= {f"{operators}::test_strides": 3.0, f"{operators}::test_sanitized": 3.0}
    monkeypatch.setattr(tiers, "costs", lambda: costs)
    monkeypatch.setattr(tiers, "SECONDS", 1.0)
    drawn = [f"tests/a.py::test[{i}]" for i in range(200)]
    taken = [{test for test in drawn if tiers.runs(test, "test", str(seed))} for seed in range(40)]
    assert set().union(*taken) == set(drawn)
    assert all(20 < len(some) < 85 for some in taken)
    assert sum(tiers.runs("tests/a.py::test_slow", "test", str(seed)) for seed in range(300)) < 6
    assert tiers.share("tests/kernels/generated/a.py::test[0]") == 6
    assert tiers.runs("tests/b.py::test", "test", "1")
    assert all(tiers.runs(test, "all", "1") for test in (*drawn, "tests/a.py::test_slow"))
    taken = [{test for test in drawn if tiers.runs(test, "commit", str(seed))} for seed in range(40)]
    assert set().union(*taken) == set(drawn)
    assert all(20 < len(some) < 85 for some in taken)
    slow = sum(tiers.runs("tests/a.py::test_slow", "commit", str(seed)) for seed in range(1000))
    assert 0.6 < slow * tiers.OF_A_COMMIT / 1000 < 1.4
    assert all(tiers.runs(f"{test}.py::test", "test", "1") for test in tiers.OF_THE_SOURCES)
    assert tiers.runs("tests/b.py::test", "commit", "1")
    of_one = [f"{operators}::test_{name}[gemm/bf16-gfx950]" for name in ("strides", "sanitized")]
    for seed in range(20):
        assert len({tiers.runs(test, "test", str(seed)) for test in of_one}) == 1


def test_of_the_browser_s_files_a_third_runs() -> None:
    files = sorted((ROOT / tiers.BROWSER).glob("test_*.py"))
    assert files
    for tier in ("test", "commit"):
        drawn = []
        for seed in range(60):
            for path in files:
                tests = [f"{tiers.BROWSER}{path.name}::{name}" for name in ("test_a", "TestB::test_c[1]")]
                one, other = (tiers.runs(test, tier, str(seed)) for test in tests)
                assert one == other
                drawn += [path] * one
        assert set(drawn) == set(files)
        assert 0.25 < len(drawn) / (60 * len(files)) < 0.42


def test_what_needs_a_library_of_another_level_is_drawn_together() -> None:
    tests = [f"tests/a.py::test_{n}[x86-64-v4-software-amx]" for n in range(3)]
    [of_a_test] = tiers.BUILT_FOR.values()
    for tier, share in (("test", of_a_test), ("commit", tiers.OF_A_COMMIT)):
        drawn = [{tiers.runs(test, tier, str(seed)) for test in tests} for seed in range(1000)]
        assert all(len(some) == 1 for some in drawn)
        assert 0.4 < drawn.count({True}) * share / 1000 < 1.6


def test_of_every_operator_one_target_is_looked_at() -> None:
    start = "tests/kernels/test_operators.py::test_results"
    for name, spec in kernels.items():
        drawn = []
        for seed in range(40):
            runs = [t for t in spec.targets if tiers.runs(f"{start}[{name}-{t}]", "test", str(seed))]
            always = set(spec.targets) - set(TILE_TARGETS) if name in tiers.OF_EACH_TARGET else set()
            assert always <= set(runs)
            assert len(runs) == 1 + len(always), name
            drawn += runs
        assert set(drawn) == set(spec.targets), name


def test_every_target_has_a_gemm_a_norm_and_attention_in_each_commit() -> None:
    for name in tiers.OF_EACH_TARGET:
        assert set(kernels[name].targets) == set(LIBRARY_TARGETS), name


def test_of_drawn_cases_a_tenth_runs(in_this_tier: Callable[[int], int]) -> None:
    assert [tiers.cases(count, "test") for count in (3900, 30, 1)] == [390, 3, 1]
    assert tiers.cases(3900, "all") == tiers.cases(3900, "commit") == 3900
    assert in_this_tier(3900) in (390, 3900)
