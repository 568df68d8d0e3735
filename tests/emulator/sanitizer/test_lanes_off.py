"""Reads of a disabled lane: a note, except where hardware or a compiler intends them."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SOURCE = r"""
#include <hip/hip_runtime.h>
__global__ void read_lane(const int *in, int *out, int lane) {
    const int x = in[threadIdx.x] * 2;
    out[threadIdx.x] = x;
    if (threadIdx.x < 32) out[64 + threadIdx.x] = __builtin_amdgcn_readlane(x, lane);
}
__global__ void permute(const int *in, int *out, int lane) {
    if (threadIdx.x < 32) {
        int x = __shfl(in[threadIdx.x], lane);
        asm volatile("" ::"v"(x)); // not used otherwise
        out[threadIdx.x] = 1;
    }
}
__global__ void spilled(const int *in, int *out, int lane) {
    int kept, x;
    asm volatile("v_writelane_b32 %0, %1, 40" : "=v"(kept) : "s"(5));
    if (threadIdx.x < 32) {
        asm volatile("v_readlane_b32 %0, %1, 40\n\ts_nop 3" : "=s"(x) : "v"(kept));
        out[threadIdx.x] = x;
    }
}
__global__ void first_lane(const int *in, int *out, int lane) {
    if (threadIdx.x > 31) out[threadIdx.x] = __builtin_amdgcn_readfirstlane(in[threadIdx.x]);
}
#ifdef __gfx950__
__global__ void swap(const int *in, int *out, int last) {
    const int x = in[threadIdx.x];
    out[threadIdx.x] = x;
    if (threadIdx.x <= last) out[64 + threadIdx.x] = __builtin_amdgcn_permlane32_swap(x, x, false, false)[0];
}
#endif
"""


def run(name: str, arch: str, lane: int) -> tuple[Any, Any]:
    launcher = wb.compile(SOURCE, arch=arch, name="lanes.hip")[name][1, 64]
    out = torch.zeros(128, dtype=torch.int32)
    source = torch.arange(64, dtype=torch.int32)
    return wb.sanitize(launcher, source, out, lane, device=f"emulated:{arch}").check(), out


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(
    ("name", "opcode"), [("read_lane", "v_readlane_b32"), ("permute", "ds_bpermute_b32")]
)
def test_a_lane_that_is_off_is_a_note(name: str, opcode: str, arch: str) -> None:
    result, _ = run(name, arch, 40)
    [note] = result.notes
    assert note.category == "note"
    assert f"{opcode} reads from lane 40, which is off" in note.message
    assert SOURCE.splitlines()[note.line - 1].strip()
    assert not run(name, arch, 8)[0].notes


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["spilled", "first_lane"])
def test_what_is_meant_is_no_note(name: str, arch: str) -> None:
    result, out = run(name, arch, 0)
    assert not result.notes
    assert (out[:32] == 5).all() if name == "spilled" else (out[32:64] == 32).all()


def test_a_swap_with_a_disabled_lane_is_a_note() -> None:
    [note] = run("swap", "gfx950", 31)[0].notes
    assert "v_permlane32_swap_b32 reads from lane 32, which is off" in note.message
    assert not run("swap", "gfx950", 63)[0].notes
