"""The clock by the values of operands."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.operators.launch_target import resolve
from workbench.profile.counting import live_operands
from workbench.profile.operands import live_share

# Sixteen successive MFMAs, repeated, whose operands come from memory.
MFMA = """#include <hip/hip_runtime.h>
typedef float f16 __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void matrices(const h4 *from, float *to) {
    f16 c = 0;
    h4 a = from[threadIdx.x];
    asm volatile(".rept 2048\\nv_mfma_f32_32x32x8_f16 %0, %1, %1, %0\\n.endr" : "+v"(c) : "v"(a));
    to[blockIdx.x * blockDim.x + threadIdx.x] = c[0];
}
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_the_part_that_is_not_zero(dtype):
    ones, zeros = torch.ones(100).to(dtype), torch.zeros(300).to(dtype)
    assert live_share((ones,)) == 1
    assert live_share((zeros, 3, "name")) == 0
    assert live_share((ones, zeros)) == pytest.approx(0.25)
    assert live_share(()) == 1


@pytest.mark.parametrize("left", [0.0, 1.0])
def test_old_contents_of_a_result_are_not_an_operand(left):
    """Only a part of a large launch runs, and the rest of its output keeps its previous content."""
    target = resolve("gemm/bf16", shape={"m": 256, "n": 256, "k": 256}, device="emulated:MI355X")
    target.run(None)
    for result in target.results:
        result.fill_(left)
    assert live_operands(target) > 0.99


def test_large_tensors_are_sampled():
    large = torch.zeros(1024, 4096)
    large[:, ::2] = 1
    assert live_share((large,)) == pytest.approx(0.5, abs=0.02)
    assert live_share((large.t(),)) == pytest.approx(0.5, abs=0.02)


def test_zeros_keep_a_higher_clock():
    kernel = wb.compile(MFMA, arch="gfx942", name="matrices.hip")["matrices"]
    groups, threads = 304, 256

    def clock(operands):
        result = wb.time(
            kernel[groups, threads], operands, torch.zeros(groups * threads), device="emulated:MI300X"
        )
        return result.model.clock_hz

    data = torch.ones(4 * threads, dtype=torch.float16)
    assert clock(torch.zeros_like(data)) > 1.2 * clock(data)
