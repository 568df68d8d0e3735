"""Packed operations on pairs of registers: a dword that op_sel does not name is not read."""

from __future__ import annotations

import pytest
import torch

import workbench as wb

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void packed(const float *x, float *out) {
    float low, high;
    asm volatile("s_mov_b32 s30, 1.0\\nv_mov_b32 v10, %2\\nv_mov_b32 v11, %2\\nINSTRUCTION\\n"
                 "v_mov_b32 %0, v10\\nv_mov_b32 %1, v11"
                 : "=v"(low), "=v"(high) : "v"(x[threadIdx.x]) : "v10", "v11", "s30", "s31");
    out[threadIdx.x] = low + high;
}
"""


@pytest.mark.parametrize(
    ("instruction", "clean"),
    [
        ("v_pk_fma_f32 v[10:11], v[10:11], v[10:11], s[30:31] op_sel_hi:[1,1,0]", True),
        ("v_pk_fma_f32 v[10:11], v[10:11], v[10:11], s[30:31]", False),
        ("v_mov_b64 v[10:11], s[30:31]", False),
        # v11 takes the unwritten s31, and nothing reads v11.
        (
            "v_mov_b64 v[10:11], s[30:31]\\nv_pk_mul_f32 v[10:11], v[10:11], v[10:11] op_sel_hi:[0,0]",
            True,
        ),
    ],
)
def test_the_unwritten_half_of_a_scalar_pair(instruction: str, clean: bool) -> None:
    kernel = wb.compile(SOURCE.replace("INSTRUCTION", instruction), arch="gfx942")["packed"]
    report = wb.sanitize(kernel[1, 64], x=torch.ones(64), out=torch.zeros(64))
    assert report.passed == clean, str(report)
