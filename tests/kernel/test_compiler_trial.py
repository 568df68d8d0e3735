"""Trial of compilers on code that some compile wrongly."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.errors import UntrustedCompiler
from workbench.kernel import compiler_trial
from workbench.targets import TILE_TARGETS
from workbench.toolchain import find_compiler, process, search

KERNEL = "__global__ void k(int *x) { *x = 1; }\n"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Clears the process's results about compilers."""
    monkeypatch.delenv("HIPKITTENS_COMPILER", raising=False)
    search.forget()
    yield
    search.forget()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_the_compiler_that_pip_installs_is_right_but_for_its_limits(
    arch: str, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", "zig")
    compiler = find_compiler(arch)
    assert compiler_trial.judge(compiler_trial.results_of(compiler, arch), arch) == list(
        compiler_trial.LIMITS
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler_trial.check(arch)
    assert find_compiler(arch) == compiler


@pytest.mark.parametrize("limit", compiler_trial.LIMITS.values(), ids=lambda limit: limit.name)
def test_flags_lead_around_a_limit(limit: compiler_trial.Trap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_COMPILER", "zig")
    compiler = find_compiler("gfx942")
    for flags in limit.flags:
        flagged = dataclasses.replace(compiler, arguments=(*compiler.arguments, *flags.split()))
        assert limit.name not in compiler_trial.judge(compiler_trial.results_of(flagged, "gfx942"), "gfx942")


def test_doctor_names_limits_with_the_way_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_trial, "faults", lambda compiler, arch: tuple(compiler_trial.LIMITS))
    report = wb.doctor(run=True)
    limits = [finding for finding in report.findings if finding.what == "compiler limit"]
    for limit, finding in zip(compiler_trial.LIMITS.values(), limits, strict=True):
        assert limit.name in finding.text
        assert all(arch in finding.text for arch in TILE_TARGETS)
        assert all(flags in finding.remedy for flags in limit.flags)
    assert report.ok


@pytest.mark.parametrize("trap", compiler_trial.TRAPS, ids=lambda trap: trap.name)
def test_each_trap_is_identified(trap: compiler_trial.Trap) -> None:
    """Swaps rows as clang 21 does in the fp4 conversions, where bytes 1 and 2 change places."""
    results = np.zeros((max(other.rows.stop for other in compiler_trial.TRAPS), 64), np.uint64)
    for other in compiler_trial.TRAPS:
        results[other.rows] = other.right()
    assert compiler_trial.judge(results, "gfx950") == []
    rows = np.arange(len(results))[trap.rows]
    middle = rows[1:3] if len(rows) > 2 else rows
    results[middle] = results[middle[::-1], ::-1] if len(rows) == 1 else results[middle[::-1]]
    assert compiler_trial.judge(results, "gfx950") == [trap.name]
    assert (compiler_trial.judge(results, "gfx942") == []) == bool(trap.targets)


def test_a_verdict_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = find_compiler("gfx950")
    first = compiler_trial.faults(compiler, "gfx950")
    monkeypatch.setattr(process, "run", lambda *_, **__: pytest.fail("tried again"))
    assert compiler_trial.faults(compiler, "gfx950") == first


def test_a_broken_compiler_is_skipped_or_named(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    good = find_compiler("gfx950")
    bad = dataclasses.replace(good, path=Path("/bad/clang++"), version="clang 21", identity="bad")
    monkeypatch.setattr(
        compiler_trial, "faults", lambda compiler, arch: ("a byte",) if compiler.path == bad.path else ()
    )
    worse = dataclasses.replace(bad, version="clang 20", identity="worse")
    monkeypatch.setattr(search, "_find", lambda arch: bad)
    monkeypatch.setattr(compiler_trial, "other_compilers", lambda compiler, arch: [worse, good])
    search.forget()
    used: list[Path] = []
    compiler_trial.compiled("gfx950", lambda: used.append(find_compiler("gfx950").path))
    assert used == [bad.path, good.path]  # The trial ran beside the first compilation.
    taken = find_compiler("gfx950")
    assert taken.path == good.path
    assert taken.passed_over[-1] == ("/bad/clang++", "makes wrong code of a byte")
    assert wb.compile(KERNEL, arch="gfx950")["k"]

    monkeypatch.setattr(compiler_trial, "other_compilers", lambda compiler, arch: [worse])
    search.forget()
    with pytest.warns(UntrustedCompiler, match=r"clang 21 \(/bad/clang\+\+\) makes wrong code of a byte"):
        compiler_trial.check("gfx950")
    assert find_compiler("gfx950").path == bad.path
