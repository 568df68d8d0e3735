"""Counters against those of rocprofv3 on real gfx950 GPUs (rocprof/data/SOURCES.md has the sources)."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

import workbench as wb

SOURCE = """#include <hip/hip_runtime.h>
__global__ void store(unsigned long long *out, int stride, int lanes) {
  __shared__ unsigned long long kept[2048];
  unsigned address = (unsigned)(unsigned long long)(__attribute__((address_space(3))) void *)kept;
  address += threadIdx.x * stride;
  unsigned long long value = threadIdx.x;
  if ((int)threadIdx.x < lanes) asm volatile("ds_write_b64 %0, %1" : : "v"(address), "v"(value) : "memory");
  __syncthreads();
  if (stride < 0) out[threadIdx.x] = kept[threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def kernel():
    return wb.compile(SOURCE, arch="gfx950")["store"]


def counters(kernel, stride, lanes):
    result = wb.profile(kernel[1, 64], torch.zeros(64, dtype=torch.int64), stride, lanes)
    return result.counters


def test_all_lanes_in_one_bank(kernel):
    # HipKittens' analysis/paper_experiments/phases/ds_write_b64: one instruction of one wave lost 60 cycles.
    figures = counters(kernel, 256, 64)
    assert figures["SQ_LDS_BANK_CONFLICT"].value == 60
    assert figures["SQ_INSTS_LDS"].value == 1


def test_two_lanes_of_one_phase_conflict_once(kernel):
    assert counters(kernel, 256, 2)["SQ_LDS_BANK_CONFLICT"].value == 1


def test_neighbouring_lanes_do_not_conflict(kernel):
    figures = counters(kernel, 8, 64)
    assert figures["SQ_LDS_BANK_CONFLICT"].value == 0
    assert figures["SQ_LDS_IDX_ACTIVE"].value > 0
    assert figures["lds_bytes_written"].value == 512


ELEMENTWISE = """#include <hip/hip_runtime.h>
typedef float f4 __attribute__((ext_vector_type(4)));
__global__ void add(const f4 *a, const f4 *b, f4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[i];
}
__global__ void positive(const f4 *a, unsigned *out) {
  for (int k = 0; k < 4; k++) {
    int i = (blockIdx.x * 4 + k) * blockDim.x + threadIdx.x;
    out[i] = (a[i][0] > 0) | (a[i][1] > 0) << 8 | (a[i][2] > 0) << 16 | (a[i][3] > 0) << 24;
  }
}
"""


@pytest.mark.parametrize(
    ("measured", "kernel", "elements", "dtype"),
    [
        ("CUDAFunctor_add<float>", "add", 4, torch.float32),
        ("compare_scalar_kernel<float>", "positive", 16, torch.uint8),
    ],
)
def test_accesses_of_l1(measured, kernel, elements, dtype):
    """PyTorch's vectorized elementwise kernels with 4 floats at a time, counted on a GPU, and the same here.
    Accesses of a wave's 64 lanes count once for every 64 bytes: three vectors of 1024 bytes in an addition.
    The figure of the comparison is that of 16 elements a thread: 1024 bytes read, 256 written, four times.
    """
    path = Path(__file__).parent / "rocprof" / "data" / "elementwise_counter_collection.csv"
    with path.open(newline="") as file:
        (row,) = [r for r in csv.DictReader(file) if measured in r["Kernel_Name"]]
    assert row["Counter_Name"] == "TCP_TOTAL_CACHE_ACCESSES_sum"
    per_wave = float(row["Counter_Value"]) / (int(row["Grid_Size"]) / 64)
    module = wb.compile(ELEMENTWISE, arch="gfx950")
    raw = [torch.zeros(8 * 256 * elements + 16) for _ in range(2)]
    # rocprof's tensors begin at whole lines.
    inputs = [r[-r.data_ptr() % 64 // 4 :][: 8 * 256 * elements] for r in raw]
    out = torch.zeros(8 * 256 * elements + 64, dtype=dtype)
    out = out[-out.data_ptr() % 64 // dtype.itemsize :][: 8 * 256 * elements]
    if kernel == "positive":
        inputs, out = inputs[:1], out.view(torch.int32)
    result = wb.profile(module[kernel][8, 256], *inputs, out, device="emulated:gfx950")
    assert result["TCP_TOTAL_CACHE_ACCESSES_sum"].value / result["SQ_WAVES"].value == per_wave
