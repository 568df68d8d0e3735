"""CDNA2 code, as far as it shares instructions with CDNA3: compiled kernels against NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.emulator.node.device import node
from workbench.errors import WorkbenchError

SOURCE = """#include <hip/hip_runtime.h>
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef double double4_ __attribute__((ext_vector_type(4)));
typedef short short4_ __attribute__((ext_vector_type(4)));

// Sums of work-groups by shuffles, LDS and an atomic.
__global__ void total(float *out, const float *x, int n) {
  __shared__ float parts[16];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int d = 32; d; d /= 2) sum += __shfl_xor(sum, d);
  if (threadIdx.x % 64 == 0) parts[threadIdx.x / 64] = sum;
  __syncthreads();
  if (threadIdx.x < 64) {
    sum = threadIdx.x < blockDim.x / 64 ? parts[threadIdx.x] : 0;
    for (int d = 8; d; d /= 2) sum += __shfl_xor(sum, d);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__global__ void functions(double *out, const double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sqrt(x[i] * x[i] + 1.0) / (1.0 + x[i] * x[i]) + (double)(float)x[i];
}

// a is 16 x 16 by rows, b by columns, both bf16: lane l holds row (column) l % 16, k = 4 (l / 16) + i.
__global__ void matrix_bf16(float *out, const short *a, const short *b) {
  int l = threadIdx.x;
  short4_ x = *(const short4_ *)(a + (l % 16) * 16 + 4 * (l / 16));
  short4_ y = *(const short4_ *)(b + (l % 16) * 16 + 4 * (l / 16));
  float4_ d = {0, 0, 0, 0};
  d = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, d, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(4 * (l / 16) + i) * 16 + l % 16] = d[i];
}

// a is 16 x 4 by rows, b 16 x 4 by columns: lane l holds row (column) l % 16, k = l / 16.
__global__ void matrix_f64(double *out, const double *a, const double *b) {
  int l = threadIdx.x;
  double4_ d = {0, 0, 0, 0};
  d = __builtin_amdgcn_mfma_f64_16x16x4f64(a[(l % 16) * 4 + l / 16], b[(l % 16) * 4 + l / 16], d, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(l / 16 + 4 * i) * 16 + l % 16] = d[i];
}
"""


@pytest.fixture(scope="module", params=["-O0", "-O3"])
def module(request: pytest.FixtureRequest) -> wb.Module:
    return wb.compile(SOURCE, arch="gfx90a", flags=[request.param])


@pytest.fixture
def generator() -> torch.Generator:
    seed = random.randrange(1 << 32)
    print("seed", seed)
    return torch.Generator().manual_seed(seed)


def test_a_reduction(module: wb.Module, generator: torch.Generator) -> None:
    x = torch.randint(-100, 100, (10_007,), generator=generator).float()
    out = torch.zeros(1)
    module["total"][7, 256](out, x, x.numel())
    assert out.item() == x.double().sum().item()


def test_arithmetic(module: wb.Module, generator: torch.Generator) -> None:
    x = torch.randn(500, generator=generator, dtype=torch.float64) * 100
    out = torch.zeros_like(x)
    module["functions"][2, 256](out, x, x.numel())
    terms = np.stack((np.sqrt(x.numpy() ** 2 + 1) / (1 + x.numpy() ** 2), x.float().double().numpy()))
    # The terms cancel near -0.79.
    assert (np.abs(out.numpy() - terms.sum(0)) <= 1e-15 * np.abs(terms).sum(0)).all()


def test_matrix_bf16(module: wb.Module, generator: torch.Generator) -> None:
    a, b = (torch.randint(-8, 9, (16, 16), generator=generator).bfloat16() for _ in "ab")
    out = torch.zeros(16, 16)
    module["matrix_bf16"][1, 64](out, a.view(torch.int16), b.view(torch.int16))
    assert torch.equal(out, a.float() @ b.float().T)


def test_matrix_f64(module: wb.Module, generator: torch.Generator) -> None:
    a, b = (torch.randint(-9, 9, (16, 4), generator=generator).double() for _ in "ab")
    out = torch.zeros(16, 16, dtype=torch.float64)
    module["matrix_f64"][1, 64](out, a, b)
    assert torch.equal(out, a @ b.T)


def test_there_is_no_timing_model(module: wb.Module) -> None:
    with pytest.raises(WorkbenchError, match=r"memory latency of MI210.*MI355X"):
        wb.time(module["total"][1, 64], torch.zeros(1), torch.zeros(64), 64)


def test_launches_do_not_reach_the_clock(module: wb.Module) -> None:
    clock = node().clock
    clock.event_made()
    try:
        before = clock.unmodelled
        module["total"][1, 64](torch.zeros(1), torch.zeros(64), 64)
        clock.settle()
        assert (clock.unmodelled, "total" in str(clock.kernel_seconds)) == (before + 1, False)
    finally:
        clock.event_gone()
