"""What docs/compilers.md says of the compilers' wrong code, on each compiler that is installed."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

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
    """What the device makes of it, and what C++ says."""
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
    got, wanted = run("-O0")
    np.testing.assert_array_equal(got, wanted)
    got, wanted = run("-O1")
    assert np.array_equal(got, wanted) == (int(release[1]) not in (19, 20, 21))
    np.testing.assert_array_equal(got[:, 1], wanted[:, 1])
    np.testing.assert_array_equal(got.astype(np.uint32), wanted.astype(np.uint32))
