"""Kernels whose descriptors exceed every device: refused before they run. The fuzzers found these."""

from __future__ import annotations

import ctypes
import io
import struct
import tracemalloc

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.codeobject.conftest import with_kernels_changed
from tests.fuzz.streams import S_ENDPGM
from tests.fuzz.template import template
from workbench import errors
from workbench.emulator.node.allocations import MemoryKind
from workbench.emulator.node.device import node
from workbench.emulator.node.dispatch import Geometry
from workbench.emulator.node.limits import MAX_ARGUMENT_BYTES
from workbench.launches import LaunchOptions
from workbench.toolchain import CompileOptions, compile_device


def launch(**words: int) -> None:
    """Run an empty kernel whose descriptor has changed dwords; `at52=3` is the one at byte 52."""
    device = node().devices[0]
    changes = {int(name.removeprefix("at")): value for name, value in words.items()}
    loaded = device.load(template(device.product.arch).filled(S_ENDPGM, changes))
    try:
        device.launch(loaded, "fuzz", Geometry.of_blocks((1, 1, 1), (64, 1, 1)), 0, bytes(32))
    finally:
        device.unload(loaded)


def test_an_empty_kernel_runs() -> None:
    launch()


@pytest.mark.parametrize("size", [1 << 18, 1 << 28, (1 << 32) - 1])
def test_private_memory_without_bound(size: int) -> None:
    with pytest.raises(errors.LaunchError, match=rf"{size} bytes of private memory for each work-item"):
        launch(at4=size)


def test_more_user_sgprs_than_there_are() -> None:
    template_word = template(node().devices[0].product.arch).word(52)
    properties = struct.unpack("<I", struct.pack("<HH", 0x7F, 100))[0]
    with pytest.raises(errors.CodeObjectError, match="user SGPRs"):
        launch(at52=template_word & ~0x3E, at56=properties)


def test_an_argument_block_without_bound_costs_nothing() -> None:
    device = node().devices[0]
    size = (1 << 32) - 1
    plain = template(device.product.arch).filled(S_ENDPGM, {})
    data = with_kernels_changed(plain, lambda kernel: kernel.update({".kernarg_segment_size": size}))
    loaded = device.load(data)
    tracemalloc.start()
    try:
        with pytest.raises(errors.LaunchError, match=f"{size} bytes of arguments, and at most 65536"):
            device.launch(loaded, "fuzz", Geometry.of_blocks((1, 1, 1), (64, 1, 1)), 0, bytes(32))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        device.unload(loaded)
    assert most < 1 << 24


LAST = """struct large { int values[COUNT]; };
extern "C" __global__ void last(int *out, large x) { *out = x.values[COUNT - 1]; }"""


def launch_last(size: int, segment: int | None = None, *, sanitize: bool = False) -> tuple[int, list[str]]:
    """The last of `size` bytes of arguments, as a kernel reads it, and the sanitizer's findings.

    Args:
        segment: `.kernarg_segment_size` that the metadata claims; None for the compiler's.
    """
    device = node().devices[0]
    count = (size - 8) // 4
    options = CompileOptions(device.product.arch, name="cell", define=[f"COUNT={count}"])
    data = compile_device(LAST, options).code_object
    if segment is not None:
        data = with_kernels_changed(data, lambda kernel: kernel.update({".kernarg_segment_size": segment}))
    loaded = device.load(data)
    out = node().memory.allocate(4, MemoryKind.DEVICE, device.ordinal)
    arguments = struct.pack("<Q", out.base) + np.arange(count, dtype=np.int32).tobytes()
    assert len(arguments) == size
    try:
        geometry = Geometry.of_blocks((1, 1, 1), (1, 1, 1))
        with node().observe(LaunchOptions(sanitize=sanitize)):
            record = device.launch(loaded, "last", geometry, 0, arguments)
        return ctypes.c_int32.from_address(out.base).value, [f.message for f in record.findings]
    finally:
        node().memory.free(out)
        device.unload(loaded)


def test_the_largest_argument_block_is_read_to_its_end() -> None:
    assert launch_last(MAX_ARGUMENT_BYTES) == ((MAX_ARGUMENT_BYTES - 8) // 4 - 1, [])
    with pytest.raises(errors.LaunchError, match="65544 bytes of arguments, and at most 65536"):
        launch_last(MAX_ARGUMENT_BYTES + 8)


@pytest.mark.parametrize("sanitize", [False, True])
def test_arguments_end_where_their_block_does(sanitize: bool) -> None:
    """Four of AITER's kernels for gfx950 declare arguments to byte 440 of a block of 436."""
    assert launch_last(40, 40, sanitize=sanitize) == (7, [])
    value, notes = launch_last(40, 36, sanitize=sanitize)
    assert value == 0
    assert len(notes) == sanitize
    for note in notes:
        assert "declares 40 bytes of arguments and a block of 36 (.kernarg_segment_size); cut off" in note
        assert "at byte 8" in note or ": x." in note


def with_symbol_at(data: bytes, name: str, address: int) -> bytes:
    """A code object whose symbol tables put a symbol somewhere else."""
    changed = bytearray(data)
    elf = ELFFile(io.BytesIO(data))
    for table in elf.iter_sections():
        if isinstance(table, SymbolTableSection):
            for number, symbol in enumerate(table.iter_symbols()):
                if symbol.name == name:
                    place = table["sh_offset"] + number * table["sh_entsize"] + 8
                    changed[place : place + 8] = address.to_bytes(8, "little")
    assert changed != data
    return bytes(changed)


VARIABLES = {
    "hipkittens_console": """#include <hip/hip_runtime.h>
__global__ void k(int *p) { printf("%d", *p); }""",
    "hipkittens_heap": """#include <hip/hip_runtime.h>
__global__ void k(void **p) { *p = malloc(8); }""",
}


@pytest.mark.parametrize("name", VARIABLES)
@pytest.mark.parametrize("address", [1 << 40, (1 << 64) - 4])
def test_a_variable_outside_the_image_is_not_written(name: str, address: int) -> None:
    device = node().devices[0]
    source = "#include <hip/hip_runtime.h>\n" + VARIABLES[name]
    good = compile_device(source, CompileOptions(device.product.arch, name="cell")).code_object
    device.unload(device.load(good))
    used = node().memory.used
    with pytest.raises(errors.DeviceError, match=f"variable '{name}' at 0x.* is outside its image"):
        device.load(with_symbol_at(good, name, address))
    assert node().memory.used == used
