"""Attribution of a wrong result to the compiler or to the kernel."""

from __future__ import annotations

import pickle

import pytest
import torch

import workbench as wb
from workbench.check import diagnosis
from workbench.errors import UsageError

# ROCm issue 6412, as in the trial of a compiler.
UNROLLED = """
#include <hip/hip_runtime.h>
__global__ void unrolled(const int *in, long n, int t, int *flag, int *val) {
    for (long o = 0; o < n; o++) {
        int a[2], b[2];
        a[0] = 0;
        b[0] = 0;
        for (long i = 0; i < 2; i++) {
            const long v = t + i;
            int f = 1;
            if (v != 0) {
                const long j = v - 1;
                if (j >= n) break;
                f = in[j];
            }
            a[i] = f;
            b[i] = 1;
        }
        flag[t] = a[0];
        val[t] = b[0];
    }
}
"""
REVERSED = """
#include <hip/hip_runtime.h>
__global__ void reversed(const int *in, int *out) {
    __shared__ int row[128];
    row[threadIdx.x] = in[threadIdx.x];
    if (WAITS) __syncthreads();
    out[threadIdx.x] = row[127 - threadIdx.x];
}
"""
IN = torch.arange(10, 18, dtype=torch.int32)


def flags_of(module):
    """The kernel's flags for n = 3 and t = 0 to 5, as a function of tensors."""

    def function(x):
        flag, val = torch.full((2, 6), -1, dtype=torch.int32)
        for t in range(6):
            module["unrolled"][1, 1](x, 3, t, flag, val)
        return flag, val

    return function


def right(x):
    flag = torch.tensor([1, *x[:3].tolist(), 0, 0], dtype=torch.int32)
    return flag, (flag > 0).int()


def reverse(kernel, reference, **options):
    row = torch.arange(128, dtype=torch.int32)
    inputs = {"in": row, "out": torch.zeros_like(row)}
    launch = kernel[1, 128]
    return wb.verify(
        launch, lambda **arguments: reference(arguments["in"]), inputs=inputs, outputs=("out",), **options
    )


def test_wrong_code_is_the_compilers_fault_with_a_flag_against_it(monkeypatch):
    monkeypatch.setenv("HIPKITTENS_COMPILER", "zig")
    module = wb.compile(UNROLLED, arch="gfx942")
    result = wb.verify(flags_of(module), right, inputs={"x": IN}, diagnose=True)
    assert not result.passed
    assert result.diagnosis.culprit == "compiler"
    assert "clang" in result.diagnosis.text
    assert "the sanitizer finds nothing" in str(result)
    mended = wb.compile(UNROLLED, arch="gfx942", flags=result.diagnosis.flags)
    assert wb.verify(flags_of(mended), right, inputs={"x": IN}).passed
    # A later request gives the same, and a result from another process cannot run anything.
    later = wb.verify(flags_of(module), right, inputs={"x": IN})
    assert later.diagnose().culprit == "compiler"
    with pytest.raises(UsageError, match="nothing to diagnose"):
        pickle.loads(pickle.dumps(later)).diagnose()


def test_wrong_results_at_both_levels_are_the_kernels_fault():
    kernel = wb.compile(REVERSED, define={"WAITS": 1})["reversed"]
    result = reverse(kernel, lambda x: x, diagnose=True)
    assert result.diagnosis.culprit == "kernel"
    assert "wrong at -O1 as well as at -O3" in result.diagnosis.text
    passed = reverse(kernel, lambda x: x.flip(0), diagnose=True)
    assert passed.passed
    assert passed.diagnosis is None


def test_undefined_behaviour_that_o1_hides_is_the_kernels_fault(monkeypatch):
    """The barrier represents what -O1 happens to do to a race."""
    racy = wb.compile(REVERSED, define={"WAITS": 0})["reversed"]
    lucky = wb.compile(REVERSED, define={"WAITS": 1})
    monkeypatch.setattr(diagnosis, "compile_source", lambda source, options: lucky)
    result = reverse(racy, lambda x: x.flip(0), diagnose=True)
    assert not result.passed
    assert result.diagnosis.culprit == "kernel"
    assert "the sanitizer finds" in result.diagnosis.text


def test_loaded_code_cannot_be_compiled_again():
    kernel = wb.load(wb.compile(REVERSED, define={"WAITS": 1}).code)["reversed"]
    result = reverse(kernel, lambda x: x, diagnose=True)
    assert result.diagnosis.culprit == "unknown"
    assert "was not compiled by wb.compile" in result.diagnosis.text


def test_of_several_results_each_is_diagnosed():
    kernel = wb.compile(REVERSED, arch="gfx942", define={"WAITS": 1})["reversed"]
    results = reverse(kernel, lambda x: x, diagnose=True, numerics=("fast", "exact"))
    assert [result.diagnosis.culprit for result in results] == ["kernel", "kernel"]
