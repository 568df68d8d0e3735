"""`torch.profiler` inside `torch_as_gpu` lists the device's kernels at their modelled times."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.profiler import ProfilerActivity

import workbench as wb
from workbench.kernel import Kernel

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void twice(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
"""
BOTH = [ProfilerActivity.CPU, ProfilerActivity.CUDA]


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    return wb.compile(SOURCE, arch="gfx950")["twice"]


@pytest.fixture(autouse=True)
def door() -> Iterator[None]:
    with wb.torch_as_gpu("emulated:gfx950"):
        yield


@pytest.mark.parametrize("activities", [BOTH, [ProfilerActivity.CUDA], None])
def test_kernels_are_in_the_table(
    kernel: Kernel, activities: list[ProfilerActivity] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    x = torch.ones(256, device="cuda")
    kernel[4, 64](x)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    with torch.profiler.profile(activities=activities) as profiler:
        events[0].record()
        for _ in range(3):
            kernel[4, 64](x)
        events[1].record()
        x.sum()
    averages = {entry.key: entry for entry in profiler.key_averages()}
    assert averages["twice"].count == 3
    # Between events there are the gaps between launches too.
    assert 0 < averages["twice"].self_device_time_total <= events[0].elapsed_time(events[1]) * 1e3
    assert ("aten::sum" in averages) == (activities != [ProfilerActivity.CUDA])
    text = profiler.key_averages().table(sort_by="self_cuda_time_total", row_limit=5)
    assert "Self CUDA time total" in text
    assert "Failed to record CUDA event" not in capfd.readouterr().err


def test_what_ran_outside_is_not(kernel: Kernel) -> None:
    x = torch.ones(256, device="cuda")
    kernel[4, 64](x)
    with torch.profiler.profile(activities=BOTH) as profiler:
        x.sum()
    kernel[4, 64](x)
    assert "twice" not in {entry.key for entry in profiler.key_averages()}


def test_a_schedule(kernel: Kernel) -> None:
    x = torch.ones(256, device="cuda")
    counts: list[int] = []
    with torch.profiler.profile(
        activities=BOTH,
        schedule=torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=lambda p: counts.extend(e.count for e in p.key_averages() if e.key == "twice"),
    ) as profiler:
        for _ in range(5):
            kernel[4, 64](x)
            profiler.step()
    assert counts == [2]
