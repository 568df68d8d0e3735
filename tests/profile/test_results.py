"""Stored profiles: their content, and omitted parts."""

from __future__ import annotations

import gc
import weakref

import torch

import workbench as wb
from workbench.profile.results import waits_of

SOURCE = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void doubled(float *x) {
    x[blockIdx.x * 64 + threadIdx.x] *= 2.0f;
}
"""


def test_a_profile_keeps_no_tensor_alive() -> None:
    module = wb.compile(SOURCE, arch="gfx950", name="doubled.hip")
    x = torch.ones(256)
    gone = weakref.ref(x)
    result = wb.profile(module["doubled"][4, 64], x)
    waits = waits_of(module["doubled"])
    assert waits, "the load's wait is found by the code, whoever holds the kernel"
    del module, x
    gc.collect()
    assert gone() is None
    # A profile's views of its code need no launch.
    assert result.kernel is not None
    assert result.kernel.last is None
    assert result.timeline is not None
    assert result.stalls is not None
    assert result.what_if(bank_conflicts=0).seconds > 0
