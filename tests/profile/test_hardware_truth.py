"""Counters against what rocprofv3 read on a real gfx950 GPU (machine.json, bank conflict calibration)."""

from __future__ import annotations

import json
from importlib import resources

import pytest
import torch

import workbench as wb

SOURCE = """
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
    facts = json.loads(resources.files("workbench.profile").joinpath("data/machine.json").read_text())
    measured = facts["_sq_lds_bank_conflict_calibration"]["value"]
    found = counters(kernel, 256, 64)
    assert found["SQ_LDS_BANK_CONFLICT"].value == measured["SQ_LDS_BANK_CONFLICT"] == 60
    assert found["SQ_INSTS_LDS"].value == measured["SQ_INSTS_LDS"] == 1


def test_two_lanes_of_one_phase_conflict_once(kernel):
    assert counters(kernel, 256, 2)["SQ_LDS_BANK_CONFLICT"].value == 1


def test_neighbouring_lanes_do_not_conflict(kernel):
    found = counters(kernel, 8, 64)
    assert found["SQ_LDS_BANK_CONFLICT"].value == 0
    assert found["SQ_LDS_IDX_ACTIVE"].value > 0
    assert found["lds_bytes_written"].value == 512
