"""A modelled time is a function of kernel, problem and GPU: not of the process, nor of its threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb


def told() -> str:
    """Every figure of a GEMM's modelled time, to the last bit."""
    shape = {"m": 512, "n": 512, "k": 256}
    model = wb.time("gemm/bf16", shape=shape, device="emulated:MI355X", warm=True).model
    assert model is not None
    figures = {"seconds": model.seconds, "clock": model.clock_hz, **model.parts, **model.activity}
    return " ".join(f"{name}={float(value).hex()}" for name, value in sorted(figures.items()))


def told_elsewhere(threads: int) -> str:
    """The same by a process of its own, in which strings have other hashes."""
    ran = subprocess.run(
        [sys.executable, __file__],
        env={
            **os.environ,
            "HIPKITTENS_THREADS": str(threads),
            "PYTHONHASHSEED": "7",
            "PYTHONPATH": str(Path(wb.__file__).parents[1]),
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return ran.stdout.splitlines()[-1]


def test_a_gemm_takes_the_same_time_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {2: told_elsewhere(2)}
    for threads in (1, 3):
        monkeypatch.setenv("HIPKITTENS_THREADS", str(threads))
        found[threads] = told()
    assert "seconds=0x" in found[1]
    assert found[1] == found[2] == found[3]


if __name__ == "__main__":
    print(told())
