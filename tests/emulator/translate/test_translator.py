"""From a code object to a translation: reachable code, refusals, the cache."""

from __future__ import annotations

import ctypes
import random
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

from workbench import runtime
from workbench.codeobject.decoder import decode
from workbench.codeobject.elf import CodeObject
from workbench.codeobject.instructions import isa
from workbench.emulator.native import abi
from workbench.emulator.translate import emission, engine, flow, translator
from workbench.emulator.translate.options import Mode, Options
from workbench.emulator.translate.translator import translate
from workbench.errors import CodeObjectError, UnsupportedInstruction
from workbench.toolchain import CompileOptions, compile_device, cpu

SOURCE = r"""
#include <hip/hip_runtime.h>

__device__ __attribute__((noinline)) int twice(int x) { return x * 2; }
__device__ __attribute__((noinline)) int thrice(int x) { return x * 3; }
__device__ __attribute__((noinline)) int unused_by_direct(int x) { return x - 1; }

extern "C" __global__ void straight(int *out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void direct(int *out, int n) {
    int i = threadIdx.x;
    for (int j = 0; j < n; j++) i = (j & 1) ? twice(i) : thrice(i) - j;
    out[threadIdx.x] = i;
}

extern "C" __global__ void indirect(int *out, int which) {
    int (*f)(int) = which == 0 ? twice : which == 1 ? thrice : unused_by_direct;
    out[threadIdx.x] = f(threadIdx.x);
}

extern "C" __global__ void unsupported(float *out) {
    float x = out[threadIdx.x];
    asm volatile("s_cbranch_join s0\n\tv_screen_partition_4se_b32 %0, %0" : "+v"(x));
    out[threadIdx.x] = x;
}

extern "C" __global__ void flushing(float *out) {
    float x = out[threadIdx.x], y;
    if (__builtin_amdgcn_readfirstlane(__float_as_int(x)) != 0)
        asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n\tv_mul_f32 %0, 1.0, %1\n\t"
                     "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3" : "=v"(y) : "v"(x));
    else
        y = x * 2.0f;
    out[threadIdx.x] = y + x;
}
"""


@pytest.fixture(scope="module")
def data() -> bytes:
    return compile_device(SOURCE, CompileOptions("gfx950", name="translate", flags=("-O1",))).code_object


@pytest.fixture(scope="module")
def code_object(data: bytes) -> CodeObject:
    return CodeObject.from_bytes(data)


def launch(data: bytes, kernel: str, array: np.ndarray, *numbers: int) -> np.ndarray:
    module = runtime.device("emulated:gfx950").load(data)
    result = array.copy()
    arguments = struct.pack(f"<Q{len(numbers)}i", result.ctypes.data, *numbers)
    buffers = [(result.ctypes.data, result.nbytes)]
    module.function(kernel).launch((1, 1, 1), (64, 1, 1), 0, arguments, buffers=buffers)
    return result


def test_blocks_cover_the_code_once(code_object: CodeObject) -> None:
    translation = translate(code_object, "direct")
    ends = 0
    indices = dict(zip(*translation.places, strict=True))
    for block in translation.blocks:
        assert block.address >= ends
        assert block.instructions[0].address == block.address
        assert sum(instruction.size for instruction in block.instructions) == block.size
        ends = block.address + block.size
        assert indices[block.address] == block.index
    assert translation.blocks[translation.entry].address == code_object.kernels["direct"].entry
    assert all(translation.functions)
    assert translation.row_count <= code_object.kernels["direct"].descriptor.vgpr_count


def test_calls_are_followed(code_object: CodeObject, data: bytes) -> None:
    """Only the functions that a kernel calls are translated with it, or all if it calls a pointer."""
    functions = {
        name: symbol.address
        for name, symbol in code_object.symbols.items()
        if symbol.kind == "function" and name not in code_object.kernels
    }
    assert len(functions) == 3

    def translated(kernel: str) -> set[str]:
        addresses, _ = translate(code_object, kernel).places
        return {name for name, address in functions.items() if address in addresses}

    assert translated("straight") == set()
    assert {name for name in translated("direct") if "unused" in name} == set()
    assert len(translated("direct")) == 2
    assert translated("indirect") == set(functions)

    lanes = np.arange(64)
    expected = lanes
    for j in range(5):
        expected = expected * 2 if j & 1 else expected * 3 - j
    np.testing.assert_array_equal(launch(data, "direct", np.zeros(64, np.int32), 5), expected)
    for which, meaning in enumerate((lanes * 2, lanes * 3, lanes - 1)):
        np.testing.assert_array_equal(launch(data, "indirect", np.zeros(64, np.int32), which), meaning)


def test_unsupported_instructions_are_named_before_anything_runs(
    code_object: CodeObject, data: bytes
) -> None:
    with pytest.raises(UnsupportedInstruction) as caught:
        translate(code_object, "unsupported")
    message = str(caught.value)
    assert "'unsupported'" in message
    assert "s_cbranch_join s0" in message
    assert "0x" in message
    assert "1 more instruction" in message
    assert "v_screen_partition_4se_b32" in message
    assert "translate" in message.split("0x")[1], "the source line"
    array = np.ones(64, np.float32)
    with pytest.raises(UnsupportedInstruction):
        launch(data, "unsupported", array)


def test_unknown_kernel(code_object: CodeObject) -> None:
    with pytest.raises(CodeObjectError, match=r"no kernel 'absent'; it has: .*straight"):
        translate(code_object, "absent")


def test_cache(code_object: CodeObject, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    first = translate(code_object, "direct")

    def never(*arguments: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(translator, "_compile", never)
    second = translate(code_object, "direct")
    assert second.blocks == first.blocks
    assert second.entry == first.entry
    assert second.functions[0] != first.functions[0]
    # A kernel does not use the cache entry of another.
    with pytest.raises(AssertionError, match="compiled again"):
        translate(code_object, "straight")


def test_the_version_covers_what_is_imported() -> None:
    covered = set(translator.sources())
    packages = ("workbench.codeobject", "workbench.emulator.translate", "workbench.emulator.semantics")
    loaded = [module for name, module in sys.modules.items() if name.startswith(packages)]
    assert {Path(str(module.__file__)) for module in loaded} <= covered
    assert Path(str(isa.__file__)).with_name("opcodes.csv") in covered


def test_damaged_cache_entry(code_object: CodeObject, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    translate(code_object, "straight")
    (entry,) = (path for path in (tmp_path / "translations").rglob("*") if path.is_file())
    whole = entry.read_bytes()
    flipped = bytearray(whole)
    flipped[random.randrange(len(whole))] ^= 1 << random.randrange(8)
    for damage in (whole[:100], bytes(flipped)):
        entry.write_bytes(damage)
        assert translate(code_object, "straight").blocks
        assert entry.read_bytes() == whole


def test_long_blocks_are_cut(monkeypatch: pytest.MonkeyPatch, code_object: CodeObject) -> None:
    info = code_object.kernels["direct"]
    code = flow.reachable(code_object, info.entry)
    whole = flow.blocks_of(code)
    monkeypatch.setattr(flow, "PIECE", 3)
    pieces = flow.blocks_of(code)
    assert max(map(len, pieces)) <= 3
    assert [i.address for b in pieces for i in b] == [i.address for b in whole for i in b]


def test_modes_follow_the_flow_of_control(code_object: CodeObject, data: bytes) -> None:
    info = code_object.kernels["flushing"]
    blocks = flow.blocks_of(flow.reachable(code_object, info.entry))
    index_of = {block[0].address: index for index, block in enumerate(blocks)}
    modes = flow.float_modes(blocks, index_of, [index_of[info.entry]], Mode.from_register(0x3F0))
    assert all(mode == Mode.from_register(0x3F0) for mode in modes)
    tiny = np.full(64, 1e-40, np.float32)
    np.testing.assert_array_equal(launch(data, "flushing", tiny), tiny)
    np.testing.assert_array_equal(
        launch(data, "flushing", np.full(64, 1.5, np.float32)), np.full(64, 3, np.float32)
    )


@pytest.mark.parametrize("has_null", [True, False])
def test_null_reads_as_zero_and_drops_writes(has_null: bool) -> None:
    """s_mov_b32 s4, s125; s_mov_b32 s125, 5; v_mov_b32 v1, s125; s_mov_b32 s5, s125; s_endpgm."""
    words = (0xBE84007D, 0xBEFD0085, 0x7E02027D, 0xBE85007D, 0xBF810000)
    block = decode(struct.pack("<5I", *words), 0, "gfx942")
    options = Options("gfx942", 32, Mode(), cpu.features(), 64, 64, has_null=has_null)
    emitted = emission.emit([block], {0: 0}, options, lambda failures: pytest.fail(str(failures)))
    data = engine.compile_object(emitted.functions, emitted.constants, emitted.declarations)
    code = engine.LoadedCode(data, emitted.symbols, ["block0"], 64)
    memory = np.zeros(abi.ffi.sizeof("Wave") + 64 * 256 + 128, np.uint8)
    rows = memory[-memory.ctypes.data % 64 :][: 64 * 256]
    wave = abi.ffi.cast("Wave *", rows.ctypes.data + rows.nbytes)
    wave.v = abi.ffi.cast("uint32_t *", rows.ctypes.data)
    wave.s[abi.NULL], wave.s[abi.EXEC], wave.s[abi.EXEC + 1] = 77, 0xFFFFFFFF, 0xFFFFFFFF
    rows[:] = 0xFF
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.addresses["block0"])(abi.address(wave))
    values = wave.s[4], wave.s[abi.NULL], wave.s[5], set(rows.view(np.uint32)[64:128].tolist())
    assert values == ((0, 77, 0, {0}) if has_null else (77, 5, 5, {5}))
