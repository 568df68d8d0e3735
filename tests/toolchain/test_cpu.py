"""CPUs that native code is compiled for: Linux's description of an Arm CPU, and the compiler's options."""

from __future__ import annotations

import os

import pytest

from workbench.toolchain import cpu, native

ATOMICS, HALVES, DOTS, HALVES_TO_FLOATS = 1 << 8, 3 << 9, 1 << 20, 1 << 23
"""Bits of AT_HWCAP in Linux' Documentation/arch/arm64/elf_hwcaps.rst: ATOMICS, FPHP and ASIMDHP, ASIMDDP,
ASIMDFHM."""
I8MM, BF16 = 1 << 13, 1 << 14
"""Bits of AT_HWCAP2 in Linux."""


@pytest.mark.parametrize(
    ("first", "second", "level"),
    [
        (0, 0, "armv8"),
        (ATOMICS | DOTS | 1 << 9, BF16, "armv8"),  # halves in scalar registers only
        (ATOMICS | HALVES | DOTS, I8MM, "armv8.2"),
        (ATOMICS | HALVES | DOTS | HALVES_TO_FLOATS, I8MM | BF16, "armv8.6"),
    ],
)
def test_the_level_of_an_arm_cpu(
    first: int, second: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpu, "machine", lambda: "aarch64")
    monkeypatch.setattr(cpu, "_auxiliary", {16: first, 26: second}.__getitem__)
    features = cpu.reported_features()
    assert [each.name for each in cpu.levels("aarch64") if each.features <= features][-1] == level
    assert ("bf16" in features, "i8mm" in features) == (bool(second & BF16), bool(second & I8MM))
    expected = native.Target("aarch64", "linux").arguments(None)[-1]
    assert expected == "-mcpu=" + "+".join(("native", *sorted(features)))


def test_nothing_is_reported_for_another_machines_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "machine", lambda: "x86_64")
    monkeypatch.setattr(cpu, "_auxiliary", lambda kind: pytest.fail("it was asked"))
    assert cpu.reported_features() == frozenset()


def test_a_level_in_software_is_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    level = cpu.LEVELS["x86-64-v4-software-amx"]
    real = cpu.LEVELS["x86-64-v4-amx"]
    monkeypatch.setattr(cpu, "machine", lambda: "x86_64")
    monkeypatch.setattr(cpu, "host_features", lambda: real.features)
    assert cpu.host_level.__wrapped__() == real
    monkeypatch.setattr(cpu, "host_features", lambda: real.features - level.software)
    assert level.runs_here
    assert not real.runs_here
    monkeypatch.setenv(cpu.VARIABLE, level.name)
    assert cpu.features() == real.features
    assert "-DHK_SOFTWARE_TILES" in native.host().arguments(None)
    assert "-DHK_SOFTWARE_TILES" not in native.Target("x86_64", "linux", real).arguments(None)


@pytest.mark.parametrize("variable", ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"])
def test_a_thread_that_openmp_has_pinned_may_use_all_places(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith(("OMP_", "GOMP_", "KMP_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2}, raising=False)
    monkeypatch.setattr(cpu, "_openmp_places", lambda: [{1}, {2}])
    assert cpu.usable_processors() == {2}
    monkeypatch.setenv(variable, "1")
    assert cpu.usable_processors() == {1, 2}
