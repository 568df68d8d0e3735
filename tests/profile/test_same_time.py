"""A modelled time is a function of kernel, problem and GPU, not of the process or its threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from workbench.operators.launch_target import Target
from workbench.profile import timing


def modelled_figures() -> str:
    """The figures of a GEMM's modelled time, to the last bit."""
    shape = {"m": 512, "n": 512, "k": 256}
    model = wb.time("gemm/bf16", shape=shape, device="emulated:MI355X", warm=True).model
    assert model is not None
    figures = {"seconds": model.seconds, "clock": model.clock_hz, **model.parts, **model.activity}
    return " ".join(f"{name}={float(value).hex()}" for name, value in sorted(figures.items()))


def figures_elsewhere(threads: int) -> str:
    """The figures from a separate process, in which strings have other hashes."""
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
    reports = {2: figures_elsewhere(2)}
    for threads in (1, 3):
        monkeypatch.setenv("HIPKITTENS_THREADS", str(threads))
        reports[threads] = modelled_figures()
    assert "seconds=0x" in reports[1]
    assert reports[1] == reports[2] == reports[3]


def test_gpus_of_one_target_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU's time is independent of other GPUs, also for an operator of several launches."""
    gpus = ("emulated:MI325X", "emulated:MI350X", "emulated:MI300X")
    operator, shape = "normalization/rmsnorm_backward", {"rows": 256, "cols": 2048, "weight": 1}
    alone = [wb.time(operator, shape=shape, device=gpu) for gpu in gpus]
    counted, ran = timing.counted, []

    def noted(target: Target, *, warm: bool = False) -> object:
        ran.append(target.device.arch)
        return counted(target, warm=warm)

    monkeypatch.setattr(timing, "counted", noted)
    results = timing.time_on(gpus, operator, shape=shape)
    launches = len(results[0].steps)
    assert launches > 1
    assert sorted(ran) == ["gfx942"] * launches + ["gfx950"] * launches
    assert [(result.device, result.median) for result in results] == [
        (result.device, result.median) for result in alone
    ]
    assert results[0].median.value < results[2].median.value


if __name__ == "__main__":
    print(modelled_figures())
