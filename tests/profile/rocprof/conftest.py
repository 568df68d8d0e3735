"""The launch that these tests profile."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.operators.launch_target import Target, resolve

SOURCE = """#include <hip/hip_runtime.h>
__global__ void twice(float *out, const float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + x[i];
}
__global__ void count(int *out) { out[threadIdx.x] += 1; }
"""


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


@pytest.fixture
def target(module: wb.Module) -> Target:
    x = torch.arange(512, dtype=torch.float32)
    return resolve(module["twice"][2, 256], (torch.zeros(512), x, 512), device="emulated:gfx950")
