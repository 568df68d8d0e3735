"""The wrong code in docs/compilers.md, on each installed compiler."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest
import torch

import workbench as wb
from workbench import runtime, toolchain
from workbench.errors import CompilerNotFound
from workbench.toolchain import CompileOptions, compile_device

NEGATED_BYTE = """
extern "C" __attribute__((global)) void k(const unsigned long long *in, unsigned long long *out) {
    const int i = __builtin_amdgcn_workitem_id_x();
    const unsigned long long x = static_cast<unsigned char>(in[i]);
    out[2 * i] = ~x | in[64 + i];
    out[2 * i + 1] = x << 10 | 1;
}
"""


def run(flags: str) -> tuple[np.ndarray, np.ndarray]:
    """Results on the device, and by the rules of C++."""
    values = np.arange(128, dtype=np.uint64) * np.uint64(0x0123456789ABCDEF)
    code = compile_device(NEGATED_BYTE, CompileOptions("gfx942", flags=flags)).code_object
    out = np.zeros((64, 2), np.uint64)
    buffers = [(array.ctypes.data, array.nbytes) for array in (values, out)]
    arguments = struct.pack("<QQ", *(address for address, _ in buffers))
    function = runtime.device("emulated:gfx942").load(code).function("k")
    function.launch((1, 1, 1), (64, 1, 1), 0, arguments, buffers=buffers)
    x = values[:64] & np.uint64(0xFF)
    return out, np.stack([~x | values[64:], x << np.uint64(10) | np.uint64(1)], 1)


@pytest.mark.parametrize("name", ["zig", "clang"])
def test_a_negated_byte_in_64_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong in clang 19 to 21, from -O1 on, in the upper half of the `or`; right without optimization."""
    monkeypatch.setenv("HIPKITTENS_COMPILER", name)
    try:
        compiler = toolchain.find_compiler("gfx942")
    except CompilerNotFound as error:
        pytest.skip(str(error).splitlines()[0])
    release = re.search(r"clang (\d+)", compiler.version)
    assert release
    got, expected = run("-O0")
    np.testing.assert_array_equal(got, expected)
    got, expected = run("-O1")
    assert np.array_equal(got, expected) == (int(release[1]) not in (19, 20, 21))
    np.testing.assert_array_equal(got[:, 1], expected[:, 1])
    np.testing.assert_array_equal(got.astype(np.uint32), expected.astype(np.uint32))


TWO_WAYS_BEHIND_A_MATRIX_INSTRUCTION = """#include <hip/hip_runtime.h>
typedef float f16v __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
__global__ void k(const h4 *a, float *out, int n, int m, float c) {
    f16v d = {};
    d = __builtin_amdgcn_mfma_f32_32x32x8f16(a[threadIdx.x], a[threadIdx.x + 64], d, 0, 0, 0);
    if (n > 3 || ({ __builtin_amdgcn_s_setprio(1); __builtin_amdgcn_s_setprio(0); m > 5; }))
        for (int i = 0; i < 16; i++) d[i] *= c;
    for (int i = 0; i < 16; i++) out[64 * i + threadIdx.x] = d[i];
}
"""


@pytest.mark.parametrize("name", ["zig", "clang"])
def test_wait_states_along_the_shorter_of_two_ways(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few in clang 21 and 22 if the first condition holds; the sanitizer reports it."""
    monkeypatch.setenv("HIPKITTENS_COMPILER", name)
    try:
        compiler = toolchain.find_compiler("gfx942")
    except CompilerNotFound as error:
        pytest.skip(str(error).splitlines()[0])
    release = re.search(r"clang (\d+)", compiler.version)
    assert release
    module = wb.compile(TWO_WAYS_BEHIND_A_MATRIX_INSTRUCTION, arch="gfx942", name="ways.hip")
    x, out = torch.ones(128, 4).half(), torch.zeros(1024)
    for n, is_short in ((0, False), (8, True)):
        findings = wb.sanitize(module["k"][1, 64], x, out, n, 9, 2.0, device="emulated:gfx942").findings
        assert [f.category for f in findings[:1]] == (["hazard"] if is_short else [])
        # The emulated device waits, so results are right on both paths.
        assert (out == 16).all()
    assert int(release[1]) in (20, 21, 22), "does docs/compilers.md hold for this release?"
