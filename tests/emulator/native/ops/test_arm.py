"""Native operations on Arm: NEON's code gives the bits of x86-64's at each level, under QEMU."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from workbench.toolchain import cpu, native

OPS = Path(__file__).resolve().parents[4] / "workbench" / "emulator" / "native" / "ops"
EVERYTHING = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
CPUS = {"armv8": "cortex-a72", "armv8.2": "neoverse-n1", "armv8.6": "max"}
"""A CPU of each level, by QEMU's name, without features of the next level."""


def lines_of(level: cpu.Level, target: str, folder: Path, *runner: str) -> list[str]:
    """Lines that every_cpu.c prints, built for a level."""
    machine = native.Target(level.machine, "linux", level).arguments(None)[-1]
    program = folder / level.name
    command = [sys.executable, "-m", "ziglang", "cc", "-target", target, machine, "-static"]
    command += [flag for flag in native._FLAGS if flag not in ("-fPIC", "-shared")]
    sources = [Path(__file__).with_name("every_cpu.c"), OPS / "matrix.c"]
    built = [*command, "-Wextra", "-DHK_LANES=64", f"-I{OPS.parent}", *map(str, sources), "-o", str(program)]
    done = subprocess.run(built, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning:" not in done.stderr, done.stderr
    done = subprocess.run([*runner, str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@cache
def x86_64s(folder: Path) -> list[str]:
    return lines_of(cpu.LEVELS["x86-64-v3"], "x86_64-linux-musl", folder)


@pytest.mark.parametrize("name", CPUS)
def test_neon_gives_the_bits_of_x86_64(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if QEMU is None or not EVERYTHING:
        pytest.skip("takes half a minute, and wants qemu-user-static and HIPKITTENS_TEST_ALL=1")
    if cpu.machine() != "x86_64" or not cpu.LEVELS["x86-64-v3"].features <= cpu.host_features():
        pytest.skip("compares with code for x86-64-v3, which this CPU does not run")
    folder = tmp_path_factory.getbasetemp()
    lines = lines_of(cpu.LEVELS[name], "aarch64-linux-musl", folder, QEMU, "-cpu", CPUS[name])
    expected = x86_64s(folder)
    assert len(expected) > 40
    assert lines == expected
