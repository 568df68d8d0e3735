"""Calls a second of the emulator's native operations on one core: matrix, LDS and global memory.

    python tests/benchmarks/native_ops.py [--exact]

All 64 lanes active, data in cache, best of several rounds of processor time. GFLOP/s counts two operations a
product. With --exact only matrix instructions, with `numerics=exact`.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from workbench.codeobject.instruction import Operand
from workbench.codeobject.instructions import MATRICES
from workbench.emulator.native import abi
from workbench.toolchain import native as build

_LOOP = """
#include <stdint.h>
void repeat(int32_t (*function)(void *, void *), void *wave, void *op, long count) {
  for (long i = 0; i < count; i++) function(wave, op);
}
"""
CALLS = 20_000
ROUNDS = 15


def _lone_wave():
    path = Path(__file__).parents[1] / "emulator" / "conftest.py"
    spec = importlib.util.spec_from_file_location("emulator_conftest", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _repeat():
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "repeat.c"
        source.write_text(_LOOP)
        library = ctypes.CDLL(str(build.build("repeat", [source], flags=["-fvisibility=default"])))
    return library.repeat


def v(number: int, width: int = 1) -> Operand:
    return Operand("v", number, width)


def main() -> None:
    exact = "--exact" in sys.argv
    conftest, repeat = _lone_wave(), _repeat()
    generator = np.random.default_rng(0)

    def measure(wave, opcode, dst, src, flops=0):
        function, op = wave.prepare(conftest.instruction(opcode, dst, src))
        arguments = (
            ctypes.cast(function, ctypes.c_void_p),
            ctypes.c_void_p(abi.address(wave.wave)),
            ctypes.c_void_p(abi.address(op)),
            ctypes.c_long(CALLS),
        )
        best = float("inf")
        for _ in range(ROUNDS):
            start = time.thread_time()
            repeat(*arguments)
            best = min(best, (time.thread_time() - start) / CALLS)
        rate = f"{flops / best / 1e9:6.0f} GFLOP/s" if flops else ""
        print(f"{opcode:34s} {best * 1e9:7.1f} ns {1e-6 / best:7.1f} M/s {rate}")

    for opcode in (
        "v_mfma_f32_16x16x32_bf16",
        "v_mfma_f32_32x32x16_bf16",
        "v_mfma_f32_16x16x16_bf16",
        "v_mfma_f32_32x32x8_bf16",
        "v_mfma_f32_16x16x32_f16",
        "v_mfma_f32_32x32x16_f16",
        "v_mfma_f32_16x16x32_fp8_fp8",
        "v_mfma_f32_32x32x16_fp8_fp8",
        "v_mfma_i32_32x32x32_i8",
    ):
        shape = MATRICES[opcode]
        wave = conftest.LoneWave("gfx950", exact=exact)
        wave.wave.mode = 0xF0
        values = generator.standard_normal(wave.v.shape).astype(np.float32)
        if shape.type_a == "bf16":
            wave.v[:] = (values.view(np.uint32) >> 16) * 0x10001
        elif shape.type_a == "f16":
            wave.v[:] = values.astype(np.float16).view(np.uint16).astype(np.uint32) * 0x10001
        else:
            wave.v[:] = generator.integers(0, 1 << 32, wave.v.shape) & 0xB6B6B6B6
        wave.v[256:] = 0
        work = 2 * shape.m * shape.n * shape.k * shape.blocks
        measure(wave, opcode, [v(300, 16)], [v(0, 8), v(16, 8), v(300, 16)], work)

    if exact:
        return
    memory = np.zeros(1 << 16, np.uint8)
    wave = conftest.LoneWave("gfx950", memory=[memory])
    lanes = np.arange(64)
    wave.set_s64(4, memory.ctypes.data)
    wave.v[1] = 16 * lanes
    wave.set_v64(2, memory.ctypes.data + 16 * lanes)
    scalar, off = Operand("s", 4, 2), Operand("off", 0, 0)
    for opcode in ("global_load_dword", "global_load_dwordx2", "global_load_dwordx4"):
        measure(wave, opcode, [v(16, 4)], [v(1), scalar])
    measure(wave, "global_load_dwordx4", [v(16, 4)], [v(2, 2), off])
    measure(wave, "global_store_dwordx4", [], [v(2, 2), v(16, 4), off])
    measure(wave, "global_load_lds_dwordx4", [], [v(1), scalar])
    for opcode in ("ds_read_b32", "ds_read_b64", "ds_read_b128", "ds_read_b64_tr_b16"):
        measure(wave, opcode, [v(16, 4)], [v(1)])
    for opcode in ("ds_write_b64", "ds_write_b128"):
        measure(wave, opcode, [], [v(1), v(16, 4)])


if __name__ == "__main__":
    main()
