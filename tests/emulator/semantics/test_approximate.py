"""Transcendental instructions with requested errors, against the same functions in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.approximation import Approximation
from workbench.codeobject.instructions import accuracy_of
from workbench.errors import UsageError
from workbench.launches import LaunchOptions

FUNCTIONS = {
    "rcp": lambda x: 1 / x,
    "rsq": lambda x: 1 / np.sqrt(x),
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
    "sin": lambda x: np.sin(2 * math.pi * x),
    "cos": lambda x: np.cos(2 * math.pi * x),
}
TYPES = {
    "f16": (np.float16, "_Float16", 10),
    "f32": (np.float32, "float", 23),
    "f64": (np.float64, "double", 52),
}
OPCODES = [
    f"v_{name}_{kind}"
    for kind in TYPES
    for name in FUNCTIONS
    if kind != "f64" or name in ("rcp", "rsq", "sqrt")
] + ["v_rcp_iflag_f32"]
LANES = 4096


def parts(opcode):
    name, kind = opcode.removeprefix("v_").replace("_iflag", "").rsplit("_", 1)
    return FUNCTIONS[name], *TYPES[kind]


@pytest.fixture(scope="module")
def module():
    kernels = [
        f'extern "C" __global__ void {opcode}(const {parts(opcode)[2]} *x, {parts(opcode)[2]} *out) {{'
        f" const int i = blockIdx.x * 64 + threadIdx.x;"
        f' asm volatile("{opcode} %0, %1" : "=v"(out[i]) : "v"(x[i])); }}'
        for opcode in OPCODES
    ]
    return wb.compile("#include <hip/hip_runtime.h>\n" + "\n".join(kernels), arch="gfx942")


def results(module, opcode, x, seed=None):
    out = torch.zeros(len(x), dtype=torch.from_numpy(x).dtype)
    options = LaunchOptions(approximate=None if seed is None else Approximation(seed))
    module[opcode].launch(wb.kernel.Launch(len(x) // 64, 64), (torch.from_numpy(x), out), {}, options=options)
    return out.numpy()


@pytest.mark.parametrize("opcode", OPCODES)
def test_errors_stay_below_the_published_bound(module, opcode):
    function, dtype, _, mantissa = parts(opcode)
    x = np.random.default_rng(1).uniform(0.1, 9.9, LANES).astype(dtype)
    with np.errstate(all="ignore"):
        truth = function(x.astype(np.float64))
    exact, first, again, other = (results(module, opcode, x, seed) for seed in (None, 1, 1, 2))
    # Half turns: the reference's zeros are 1e-15.
    here = np.abs(truth) > 1e-12
    unit = np.exp2(np.floor(np.log2(np.abs(truth[here]))) - mantissa)
    errors = np.abs(first.astype(np.float64) - truth)[here] / unit
    bound = accuracy_of(opcode).ulps
    # In double precision the reference itself is off by less than one unit.
    assert errors.max() < bound + (1 if dtype == np.float64 else 1e-3)
    assert errors.max() > 0.9 * bound
    assert np.array_equal(first, again)
    assert (first != exact).any()
    assert (first != other).any()


def test_exact_results_and_special_values_stay(module):
    powers = np.exp2(np.arange(-32, 32)).astype(np.float32)
    assert np.array_equal(results(module, "v_rcp_f32", powers, 5), 1 / powers)
    assert np.array_equal(results(module, "v_sqrt_f32", powers**2, 5), powers)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -1.0] * 8, np.float32)
    for opcode in ("v_rcp_f32", "v_rsq_f32", "v_log_f32", "v_exp_f32"):
        assert np.array_equal(
            results(module, opcode, special, 5)[[0, 1, 2, 3, 4]],
            results(module, opcode, special)[[0, 1, 2, 3, 4]],
            equal_nan=True,
        )


def test_only_the_named_instructions_err(module):
    x = np.linspace(1.1, 7.7, 64, dtype=np.float32)
    exact = results(module, "v_rcp_f32", x)
    address = next(i.address for i in module["v_rcp_f32"].instructions if i.opcode == "v_rcp_f32")

    def erring(**where):
        with wb.approximate(Approximation(3, **where)):
            return results(module, "v_rcp_f32", x)

    assert (erring() != exact).any()
    assert np.array_equal(erring(first=address, end=address + 1), erring())
    assert np.array_equal(erring(first=address + 4), exact)
    assert np.array_equal(erring(kernel="v_exp_f32"), exact)


def test_the_variable_is_the_default(module, monkeypatch):
    x = np.linspace(1.1, 7.7, 64, dtype=np.float32)
    exact, erring = results(module, "v_rcp_f32", x), results(module, "v_rcp_f32", x, 9)
    monkeypatch.setenv("HIPKITTENS_APPROXIMATE", "9")
    assert np.array_equal(results(module, "v_rcp_f32", x), erring)
    assert not np.array_equal(exact, erring)
    monkeypatch.setenv("HIPKITTENS_APPROXIMATE", "often")
    with pytest.raises(UsageError, match="HIPKITTENS_APPROXIMATE is 'often'; expected a seed"):
        results(module, "v_rcp_f32", x)


DIVISION = """
#include <hip/hip_runtime.h>
__global__ void narrow(const unsigned *a, const unsigned *b, unsigned *q) {
    q[threadIdx.x] = (a[threadIdx.x] & 0xffffff) / (b[threadIdx.x] & 0xffffff);
}
__global__ void wide(const unsigned *a, const unsigned *b, unsigned *q) {
    q[threadIdx.x] = a[threadIdx.x] / b[threadIdx.x];
}
__global__ void floats(const float *a, const float *b, float *q) {
    const int i = threadIdx.x;
    q[i] = a[i] / b[i];
}
__global__ void doubles(const double *a, const double *b, double *q) {
    const int i = threadIdx.x;
    q[i] = a[i] / b[i];
}
__global__ void roots(const float *a, const float *b, float *q) {
    const int i = threadIdx.x;
    q[i] = sqrtf(a[i] * b[i]);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_quotients_of_24_bits_need_an_exact_reciprocal_and_others_do_not(arch):
    """0xbf2758 / 0xbf2759 is 1 if the reciprocal errs upwards: llvm-project 202753. Other divisions correct
    it."""
    module = wb.compile(DIVISION, arch=arch)
    a, b = (torch.full((64,), n, dtype=torch.uint32) for n in (0xBF2758, 0xBF2759))
    quotients = set()
    for seed in range(8):
        with wb.approximate(seed):
            q = torch.zeros(64, dtype=torch.uint32)
            module["narrow"][1, 64](a, b, q)
            quotients |= set(q.tolist())
            module["wide"][1, 64](a, b, q)
            assert set(q.tolist()) == {0}
            draw = np.random.default_rng(seed)
            n, d = draw.integers(0, 2**32, 1024, np.uint32), draw.integers(1, 2**32, 1024, np.uint32)
            d >>= draw.integers(0, 20, 1024, np.uint32)
            q = torch.zeros(1024, dtype=torch.uint32)
            module["wide"][1, 1024](torch.from_numpy(n), torch.from_numpy(d | 1), q)
            assert np.array_equal(q.numpy(), n // (d | 1))
            for kernel, dtype in (("floats", np.float32), ("doubles", np.float64), ("roots", np.float32)):
                x, y = draw.lognormal(size=(2, 1024)).astype(dtype)
                out = torch.zeros(1024, dtype=torch.from_numpy(x).dtype)
                module[kernel][1, 1024](torch.from_numpy(x), torch.from_numpy(y), out)
                assert np.array_equal(out.numpy(), np.sqrt(x * y) if kernel == "roots" else x / y)
    assert quotients == {0, 1}
