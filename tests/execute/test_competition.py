"""A judge of kernels in the form of GPU MODE's: cases from a file, a pool of one process by spawn, results on
a file that its caller left open, times by Python's clock around calls and by events."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KERNEL = """#include <hip/hip_runtime.h>
extern "C" __global__ void scale(const float *x, float *out, float factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = factor * x[i];
}
"""
SUBMISSION = f"""
import torch, workbench as wb

KERNEL = wb.compile({KERNEL!r}, arch="gfx942")["scale"]

def custom_kernel(data):
    x, factor = data
    out = torch.empty_like(x)
    KERNEL[x.numel() // 64, 64](x, out, factor)
    return out
"""
JUDGE = """
import multiprocessing, os, sys, time
from dataclasses import dataclass
import torch

@dataclass
class Spent:
    clock: list
    events: list

def case_data(size, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    return torch.randn(size, device="cuda", generator=generator), 3.0

def check(size, seed):
    from submission import custom_kernel

    data = case_data(size, seed)
    torch.cuda.synchronize()
    result = custom_kernel(data)
    torch.cuda.synchronize()
    return bool(result.is_cuda and torch.equal(result, data[0] * data[1])), torch.cuda.get_device_name()

def spend(size, seed):
    from submission import custom_kernel

    data = case_data(size, seed)
    custom_kernel(data)
    spent = Spent([], [])
    for _ in range(3):
        torch.cuda.synchronize()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start = time.perf_counter_ns()
        first.record()
        custom_kernel(data)
        last.record()
        torch.cuda.synchronize()
        spent.clock.append(time.perf_counter_ns() - start)
        spent.events.append(first.elapsed_time(last) * 1e6)
    return spent

def profile(size, seed):
    from submission import custom_kernel
    from torch.profiler import ProfilerActivity

    with torch.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        custom_kernel(case_data(size, seed))
        torch.cuda.synchronize()
    return profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=20)

def main():
    mode, cases = sys.argv[1], [tuple(map(int, line.split())) for line in open(sys.argv[2])]
    with os.fdopen(int(os.environ["POPCORN_FD"]), "w") as log:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            for case in cases:
                if mode == "test":
                    print(*pool.apply(check, case), sep=";", file=log)
                elif mode == "benchmark":
                    spent = pool.apply(spend, case)
                    print(*spent.clock, *spent.events, file=log)
                else:
                    print(profile(*case), file=log)

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"submission.py": SUBMISSION, "judge.py": JUDGE, "cases.txt": "128 1\n640 2\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def judge(folder: Path, mode: str, *options: str) -> tuple[list[str], str]:
    """Lines that a mode writes, and the last of standard error."""
    reader, writer = os.pipe()
    with os.fdopen(reader) as log:
        try:
            command = ["-m", "workbench", "exec", "--device", "MI300X", *options, "--", sys.executable]
            ended = subprocess.run(
                [sys.executable, *command, "judge.py", mode, "cases.txt"],
                cwd=folder,
                env={**os.environ, "POPCORN_FD": str(writer)},
                pass_fds=[writer],
                capture_output=True,
                text=True,
                timeout=300,
            )
        finally:
            os.close(writer)
        lines = log.read().splitlines()
    assert ended.returncode == 0, ended.stderr
    return lines, ended.stderr.splitlines()[-1]


def test_cases_in_a_pools_process(folder: Path) -> None:
    lines, last = judge(folder, "test")
    assert lines == ["True;AMD Instinct MI300X"] * 2
    # The pool ends its process by a signal.
    assert last.startswith("hipkittens: 2 launches, ")
    assert last.endswith(" us modelled")


def test_times_are_modelled(folder: Path) -> None:
    lines, last = judge(folder, "benchmark", "--clock", "modelled")
    for line in lines:
        times = [float(word) for word in line.split()]
        # Its kernels take some microseconds on a GPU, and far longer when emulated.
        assert all(0 < time < 50_000 for time in times), times
        # Around the events, and so the same except for the time between a reading and an event.
        assert times[:3] == pytest.approx(times[3:], rel=0.5)
    assert last.startswith("hipkittens: 8 launches, ")


def test_a_profile(folder: Path) -> None:
    lines, _ = judge(folder, "profile")
    row = next(line.split() for line in lines if line.split()[:1] == ["scale"])
    assert row[-1] == "1"
