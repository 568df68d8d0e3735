"""References offered for a cell's kernel: the last verified, and those that fit its arguments."""

from __future__ import annotations

import torch

import workbench as wb
from workbench.events import hub
from workbench.lab import reference

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void mine(const float *x, const float *weight, float *out, float eps) { out[threadIdx.x] = eps; }
__global__ void shifted(float *x, int by) { x[threadIdx.x] += by; }
"""


def test_a_name_is_enough_before_the_cell_has_run():
    assert reference.likely("rmsnorm", None) == {"used": [], "fitting": ["normalization/rmsnorm"]}
    assert reference.likely("mine", None) == {"used": [], "fitting": []}


def test_arguments_and_shapes_fit():
    module = wb.compile(SOURCE, name="mine")
    fitting = reference.likely("mine", module)["fitting"]
    assert "normalization/rmsnorm" in fitting
    assert "gemm/bf16" not in fitting
    assert len(fitting) <= reference.LIKELY
    x, weight, out = torch.randn(4, 64), torch.randn(64), torch.empty(4, 64)
    module["mine"][1, 64](x=x, weight=weight, out=out, eps=1e-5)
    assert "normalization/rmsnorm" in reference.likely("mine", module)["fitting"]
    module["mine"][1, 64](x=x, weight=torch.randn(7), out=out, eps=1e-5)
    assert "normalization/rmsnorm" not in reference.likely("mine", module)["fitting"]


def test_what_was_used_comes_first():
    module = wb.compile(SOURCE, name="mine")
    verification = {"passed": True, "shape": {}, "device": "d", "code": f"{module.digest}+other"}
    for name in ("gemm/bf16", "normalization/rmsnorm", "a lambda"):
        hub.publish("verify", name, verification)
    hub.publish("verify", "activations/softmax", {**verification, "code": "another"})
    offered = reference.likely("mine", module)
    assert offered["used"] == ["normalization/rmsnorm", "gemm/bf16"]
    assert "normalization/rmsnorm" not in offered["fitting"]
