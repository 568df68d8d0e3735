"""Damaged code objects raise CodeObjectError and no other exception."""

from __future__ import annotations

import io
import random

import pytest
from elftools.elf.elffile import ELFFile

from tests.codeobject.conftest import compiled, with_kernels_changed, with_metadata
from tests.codeobject.test_bundle import HOST, bundle
from tests.codeobject.test_elf import in_notes
from workbench.codeobject import CodeObject
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode
from workbench.codeobject.printer import text
from workbench.errors import CodeObjectError


def read_all(data: bytes) -> None:
    """Reads everything in a code object that the workbench uses."""
    code_object = CodeObject.from_bytes(data)
    code_object.load(0x7F0000000000)
    assert all(kernel.name in code_object.symbols for kernel in code_object.kernels.values())
    for instruction in decode(code_object.text.data, code_object.text.address, code_object.target):
        text(instruction)


def read_debug(data: bytes) -> None:
    code_object = CodeObject.from_bytes(data)
    debug = DebugInfo(code_object)
    for kernel in code_object.kernels.values():
        debug.frames_of(kernel.entry)
        debug.parameters(kernel.name)


def survive(data: bytes, reader: object) -> bool:
    assert callable(reader)
    try:
        reader(data)
    except CodeObjectError:
        return False
    return True


def test_an_integer_type_without_bytes() -> None:
    """The exponent of its range would be negative."""
    data = bytearray(compiled("gfx950"))
    elf = ELFFile(io.BytesIO(data))
    section = elf.get_section_by_name(".debug_info")["sh_offset"]
    for unit in elf.get_dwarf_info().iter_CUs():
        for die in unit.iter_DIEs():
            if die.tag == "DW_TAG_base_type":
                data[section + die.attributes["DW_AT_byte_size"].offset] = 0
    debug = DebugInfo(CodeObject.from_bytes(bytes(data)))
    with pytest.raises(
        CodeObjectError, match=r"debug information .* damaged \(the integer type 'int' has 0 bytes"
    ):
        debug.parameters("lines")


def test_every_truncation() -> None:
    data = compiled("gfx950")
    read_all(data)
    for size in (*range(0, 256), *range(256, len(data), 97)):
        assert not survive(data[:size], read_all) or size > 4096


@pytest.mark.parametrize("reader", [read_all, read_debug])
def test_random_damage(reader: object, draw: random.Random) -> None:
    original = compiled("gfx950")
    refused = 0
    for _ in range(150):
        data = bytearray(original)
        for _ in range(draw.choice((1, 4, 64))):
            # Half of the damage hits the headers, where it matters most.
            limit = draw.choice((64, 0x400, len(data), len(data)))
            data[draw.randrange(min(limit, len(data)))] = draw.randrange(256)
        refused += not survive(bytes(data), reader)
    print(f"{refused} of 150 refused")


def test_damaged_section_headers(draw: random.Random) -> None:
    original = compiled("gfx950")
    start = int.from_bytes(original[40:48], "little")
    for _ in range(150):
        data = bytearray(original)
        position = draw.randrange(start, len(data) - 8)
        data[position : position + 8] = draw.choice((b"\xff" * 8, draw.randbytes(8), bytes(8)))
        survive(bytes(data), read_all)
        survive(bytes(data), read_debug)


def test_damaged_fat_binary(draw: random.Random) -> None:
    original = bundle([HOST, ("hipv4-amdgcn-amd-amdhsa--gfx950", compiled("gfx950"))])
    for _ in range(150):
        data = bytearray(original)
        data[draw.randrange(160)] = draw.randrange(256)
        survive(bytes(data), CodeObject.from_bytes)


SIZES = (
    ".kernarg_segment_size",
    ".kernarg_segment_align",
    ".group_segment_fixed_size",
    ".private_segment_fixed_size",
    ".max_flat_workgroup_size",
    ".sgpr_count",
    ".vgpr_count",
    ".agpr_count",
    ".sgpr_spill_count",
    ".vgpr_spill_count",
)


@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("value", [-1, 1 << 32, 1.5, "4", None])
def test_sizes_that_are_none(key: str, value: object) -> None:
    data = with_kernels_changed(compiled("gfx950"), lambda kernel: kernel.update({key: value}))
    with pytest.raises(CodeObjectError, match=rf"{key} of kernel '\w+' is {value!r}"):
        read_all(data)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (".offset", -8, r"\.offset of kernel '\w+' is -8"),
        (".size", -1, r"\.size of kernel '\w+' is -1"),
        (".size", 1 << 20, r"argument '\w*' of kernel '\w+' ends at byte \d+ of an argument block of \d+"),
    ],
)
def test_arguments_outside_their_block(key: str, value: int, message: str) -> None:
    data = with_kernels_changed(compiled("gfx950"), lambda kernel: kernel[".args"][0].update({key: value}))
    with pytest.raises(CodeObjectError, match=message):
        read_all(data)


def test_arguments_that_end_behind_their_block() -> None:
    """Hand-written metadata may look like this; ROCm passes what fits, so it is not damage."""
    data = with_kernels_changed(
        compiled("gfx950"), lambda kernel: kernel.update({".kernarg_segment_size": 4})
    )
    for kernel in CodeObject.from_bytes(data).kernels.values():
        assert kernel.kernarg_size == 4
        assert kernel.not_passed == kernel.args
        assert kernel.own_bytes > 4


def test_damaged_notes(draw: random.Random) -> None:
    original = in_notes(compiled("gfx950"))
    start = original.index(b"AMDGPU", len(compiled("gfx950"))) - 12
    for _ in range(150):
        data = bytearray(original)
        data[draw.randrange(start, len(data))] = draw.randrange(256)
        survive(bytes(data), read_all)


@pytest.mark.parametrize(
    "packed", [b"", b"\x90", b"\xc0", b"\x81\xaeamdhsa.kernels\x91\x80", b"\x81\xa1x\x92"]
)
def test_metadata_that_is_none(packed: bytes) -> None:
    with pytest.raises(CodeObjectError, match="damaged"):
        read_all(with_metadata(compiled("gfx950"), packed))
