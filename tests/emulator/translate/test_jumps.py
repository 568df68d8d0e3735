"""Jumps to addresses that a kernel computes from the program counter, as in Tensile's kernels."""

from __future__ import annotations

import pytest
import torch

import workbench as wb

LONG_BRANCH = r"""
        "s_getpc_b64 s[40:41]\n\t"
        "s_add_i32 s42, {label}, 4\n\t"
        "s_cmp_ge_i32 s42, 0\n\t"
        "s_cbranch_scc1 9f\n\t"
        "s_abs_i32 s42, s42\n\t"
        "s_sub_u32 s40, s40, s42\n\t"
        "s_subb_u32 s41, s41, 0\n\t"
        "s_setpc_b64 s[40:41]\n\t"
        "9: s_add_u32 s40, s40, s42\n\t"
        "s_addc_u32 s41, s41, 0\n\t"
        "s_setpc_b64 s[40:41]\n\t"
"""
SOURCE = (
    r"""
#include <hip/hip_runtime.h>
__global__ void both_ways(int *out) {
    int lane = threadIdx.x;
    asm volatile(
        "s_branch 2f\n\t"
        "1: v_add_u32 %[lane], 100, %[lane]\n\t"
        "s_branch 4f\n\t"
        "2:\n\t"
"""
    + LONG_BRANCH.format(label="3f")
    + r"""
        "v_add_u32 %[lane], 1000, %[lane]\n\t"
        "3: v_add_u32 %[lane], 10, %[lane]\n\t"
"""
    + LONG_BRANCH.format(label="1b")
    + r"""
        "4: s_nop 0"
        : [lane] "+v"(lane) : : "s40", "s41", "s42", "scc");
    out[threadIdx.x] = lane;
}

__global__ void straight(int *out) {
    int lane = threadIdx.x;
    asm volatile(
        "s_getpc_b64 s[40:41]\n\t"
        "s_add_i32 s42, 1f, 4\n\t"
        "s_add_u32 s40, s40, s42\n\t"
        "s_addc_u32 s41, s41, 0\n\t"
        "s_setpc_b64 s[40:41]\n\t"
        "v_add_u32 %[lane], 1000, %[lane]\n\t"
        "1: v_add_u32 %[lane], 10, %[lane]"
        : [lane] "+v"(lane) : : "s40", "s41", "s42", "scc");
    out[threadIdx.x] = lane;
}

// The address of one of two places, which is jumped to behind a barrier.
__global__ void selected(int *out, int which) {
    int lane = threadIdx.x;
    asm volatile(
        "s_getpc_b64 s[40:41]\n\t"
        "s_add_i32 s42, 1f, 4\n\t"
        "s_add_u32 s40, s40, s42\n\t"
        "s_addc_u32 s41, s41, 0\n\t"
        "s_getpc_b64 s[44:45]\n\t"
        "s_add_i32 s42, 2f, 4\n\t"
        "s_add_u32 s44, s44, s42\n\t"
        "s_addc_u32 s45, s45, 0\n\t"
        "s_cmp_eq_u32 %[which], 0\n\t"
        "s_cselect_b32 s40, s40, s44\n\t"
        "s_cselect_b32 s41, s41, s45\n\t"
        "s_barrier\n\t"
        "s_setpc_b64 s[40:41]\n\t"
        "1: v_add_u32 %[lane], 1, %[lane]\n\t"
        "s_branch 3f\n\t"
        "2: v_add_u32 %[lane], 2, %[lane]\n\t"
        "3: s_nop 0"
        : [lane] "+v"(lane) : [which] "s"(which) : "s40", "s41", "s42", "s44", "s45", "scc");
    out[threadIdx.x] = lane;
}
"""
)


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx942")


@pytest.mark.parametrize(("kernel", "added"), [("both_ways", 110), ("straight", 10)])
def test_long_branches(module: wb.Module, kernel: str, added: int) -> None:
    out = torch.zeros(64, dtype=torch.int32)
    module[kernel][1, 64](out)
    assert torch.equal(out, torch.arange(64, dtype=torch.int32) + added)


@pytest.mark.parametrize("which", [0, 1])
def test_a_place_selected_earlier(module: wb.Module, which: int) -> None:
    out = torch.zeros(64, dtype=torch.int32)
    module["selected"][1, 64](out, which)
    assert torch.equal(out, torch.arange(64, dtype=torch.int32) + 1 + which)
