"""Advice mentions a grid that does not fit its tensors, and no other."""

from __future__ import annotations

import pytest
import torch

import workbench as wb

GROUP = 64
SOURCE = """\
#include <hip/hip_runtime.h>
__global__ void scale(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i] + x[n - 1 - i];
}
__global__ void rows(const float *x, float *out, int height, int width) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (row < height && column < width) out[row * width + column] = 2.0f * x[row * width + column];
}
__global__ void sum(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(out, x[i]);
}
"""


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


def scaled(module: wb.Module, groups: int, n: int = 64 * GROUP) -> tuple[str, ...]:
    return wb.profile(module["scale"][groups, GROUP], torch.rand(n), torch.empty(n), n).remarks


def test_a_grid_that_fits(module: wb.Module) -> None:
    assert scaled(module, 64) == ()
    # The last work-group has some elements.
    assert scaled(module, 64, 64 * GROUP - 7) == ()


def test_a_work_group_too_many(module: wb.Module) -> None:
    (remark,) = scaled(module, 65)
    assert remark.startswith("1 of 65 work-groups write nothing and end at once: 64 in place of 65 in x")
    result = wb.profile(module["scale"][65, GROUP], torch.rand(4096), torch.empty(4096), 4096)
    assert "64 in place of 65" in result._repr_html_()


def test_a_work_group_too_few(module: wb.Module) -> None:
    (remark,) = scaled(module, 63)
    assert remark.startswith("The last 64 of 4,096 elements of 'out' (float32 tensor 4096)")
    assert remark.endswith("The 63 that write it cover 64 each: 1 more would reach its end.")


def test_in_two_dimensions(module: wb.Module) -> None:
    x, out = torch.rand(5, 128), torch.empty(5, 128)

    def remarks_of(grid: tuple[int, int]) -> tuple[str, ...]:
        return wb.profile(module["rows"][grid, GROUP], x, out, 5, 128).remarks

    assert remarks_of((2, 5)) == ()
    assert "2 in place of 3 in x" in remarks_of((3, 5))[0]
    assert "5 in place of 8 in y" in remarks_of((2, 8))[0]
    assert "The last 128 of 640" in remarks_of((2, 4))[0]


def test_what_only_some_write_is_no_fault(module: wb.Module) -> None:
    """All work-items add to one element, and only the last writer of an element is known."""
    n = 16 * GROUP
    assert wb.profile(module["sum"][16, GROUP], torch.rand(n), torch.zeros(1), n).remarks == ()


@pytest.mark.parametrize("name", ["normalization/rmsnorm", "gemm/bf16"])
def test_operators_fit(name: str) -> None:
    assert wb.profile(name).remarks == ()
