"""Code that needs exactly rounded results of transcendental instructions, and code that does not."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import UsageError

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void quotient(const unsigned *a, const unsigned *b, unsigned *out) {
    const int i = threadIdx.x;
    const float unrelated = __builtin_amdgcn_rcpf(1.0f + i);
    out[i] = unrelated > 2.0f ? 0 : (a[i] & 0xffffff) / (b[i] & 0xffffff);
}
__global__ void wide(const unsigned *a, const unsigned *b, unsigned *out) {
    out[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
}
__global__ void scaled(const float *x, float *out) {
    out[threadIdx.x] = __expf(x[threadIdx.x]) * __builtin_amdgcn_rsqf(x[threadIdx.x]);
}
"""
A, B = (torch.full((64,), n, dtype=torch.uint32) for n in (0xBF2758, 0xBF2759))


@pytest.fixture(scope="module")
def module():
    return wb.compile(SOURCE, arch="gfx942", name="exact.hip")


def quotients(kernel, **options):
    inputs = {"a": A, "b": B, "out": torch.zeros(64, dtype=torch.uint32)}
    launch = kernel[1, 64]
    return wb.verify(
        launch,
        lambda a, b: (a.long() // b.long()).to(torch.uint32),
        inputs=inputs,
        outputs=("out",),
        **options,
    )


def test_verify_names_the_reciprocal_and_its_line(module):
    assert quotients(module["quotient"]).passed
    result = quotients(module["quotient"], approximate=True)
    assert not result.passed
    (finding,) = result.inexact
    assert finding.instruction.startswith("v_rcp_iflag_f32")
    assert finding.place == "exact.hip:6"
    assert "out[0] is 1 instead of 0 (64 of 64 elements)" in finding.message
    assert "exact.hip:6: results depend on how v_rcp_iflag_f32 rounds" in str(result)


def test_the_sanitizer_names_the_instruction_and_keeps_the_results(module):
    out = torch.full((64,), 7, dtype=torch.uint32)
    launch = module["quotient"][1, 64]
    assert wb.sanitize(launch, A, B, out).passed
    result = wb.sanitize(launch, A, B, out, approximate=True)
    (finding,) = result.findings
    assert finding.category == "exactness"
    assert finding.line == 6
    assert set(out.tolist()) == {0}
    assert wb.sanitize(launch, A, B, out, approximate=2).findings == result.findings


@pytest.mark.parametrize("seed", range(4))
def test_what_corrects_or_leaves_a_margin_passes(module, seed):
    assert quotients(module["wide"], approximate=seed).passed
    x, out = torch.linspace(0.1, 9, 64), torch.zeros(64)
    assert wb.sanitize(module["scaled"][1, 64], x, out, approximate=seed).passed
    assert wb.verify("normalization/rmsnorm", shape={"rows": 4, "cols": 1024}, approximate=seed).passed


def test_launches_that_differ_by_themselves_are_not_judged(module):
    clock = wb.compile(
        """
#include <hip/hip_runtime.h>
__global__ void late(unsigned *out) {
    atomicAdd(out, 1 + (unsigned)(1.0f / __builtin_amdgcn_rcpf(threadIdx.x + 3.0f)));
    out[1 + threadIdx.x] = (unsigned)wall_clock64();
}
""",
        arch="gfx942",
    )
    result = wb.sanitize(clock["late"][1, 64], torch.zeros(65, dtype=torch.uint32), approximate=True)
    assert result.passed
    assert "results differ from launch to launch" in result.notes[-1].message


def test_a_seed_is_a_whole_number():
    for wrong in (-1, 1.5, "often"):
        with pytest.raises(UsageError, match=r"approximate is .*; expected a seed"):
            wb.verify("normalization/rmsnorm", approximate=wrong)
    with pytest.raises(UsageError, match="approximate is -1; expected a seed"), wb.approximate(-1):
        pass
