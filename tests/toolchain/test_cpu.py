"""CPUs that native code is compiled for: Linux's description of an Arm CPU, and the compiler's options."""

from __future__ import annotations

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
