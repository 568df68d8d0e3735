"""Code objects from the compiler: kernels, descriptors, symbols, relocations."""

from __future__ import annotations

import struct

import msgpack
import pytest

from tests.codeobject.conftest import compiled, metadata_of, with_metadata, with_notes
from workbench.codeobject import CodeObject, KernelDescriptor
from workbench.errors import CodeObjectError
from workbench.targets import TILE_TARGETS


def test_kernels_and_their_arguments(code_object: CodeObject) -> None:
    (kernel,) = (entry for entry in code_object.kernels.values() if entry.short_name == "typed")
    assert kernel.demangled in ("void typed<double>(globals, double*, unsigned long)", kernel.name)
    explicit = [arg for arg in kernel.args if not arg.hidden]
    assert [(arg.offset, arg.size, arg.value_kind) for arg in explicit] == [
        (0, 56, "by_value"),
        (56, 8, "global_buffer"),
        (64, 8, "by_value"),
    ]
    assert kernel.kernarg_size >= 72
    assert kernel.group_segment_size == 256
    assert kernel.max_workgroup_size == 1024
    assert code_object.kernels["loops"].max_workgroup_size == 256
    assert kernel.private_segment_size == 0
    assert kernel.vgpr_spill_count == kernel.sgpr_spill_count == 0


def test_target_and_version(code_object: CodeObject) -> None:
    assert code_object.target in TILE_TARGETS
    assert code_object.processor == code_object.target
    assert 4 <= code_object.version <= 6
    assert code_object.features["xnack"] in ("any", "unsupported", "on", "off")


def test_kernel_code_is_in_the_text_section(code_object: CodeObject) -> None:
    text = code_object.text
    for kernel in code_object.kernels.values():
        assert text.address <= kernel.entry < text.address + len(text.data)
        assert kernel.entry % 256 == 0
        assert kernel.entry + kernel.size <= text.address + len(text.data)
        assert code_object.symbols[kernel.name].address == kernel.entry


def test_descriptor_fits_the_metadata(code_object: CodeObject) -> None:
    for kernel in code_object.kernels.values():
        descriptor = kernel.descriptor
        assert descriptor.kernarg_size == kernel.kernarg_size
        assert descriptor.group_segment_fixed_size == kernel.group_segment_size
        assert descriptor.vgpr_count >= kernel.vgpr_count
        assert descriptor.sgpr_count >= kernel.sgpr_count
        assert descriptor.accum_offset <= descriptor.vgpr_count
        assert descriptor.enable_kernarg_ptr
        assert not descriptor.wave32
        assert descriptor.float_denorm_mode_16_64 == 3


def test_descriptor_fields_by_hand() -> None:
    rsrc1 = 5 | 6 << 6 | 0xC0 << 12 | 1 << 21 | 1 << 23
    rsrc2 = 1 | 9 << 1 | 1 << 7 | 1 << 9 | 2 << 11
    rsrc3 = 7 | 1 << 16
    data = struct.pack("<III4xq20xIIIHH4x", 1024, 16, 88, -0x400, rsrc3, rsrc1, rsrc2, 0b1001011, 3 | 2 << 7)
    descriptor = KernelDescriptor.from_bytes(data, "gfx950")
    assert (
        descriptor.group_segment_fixed_size,
        descriptor.private_segment_fixed_size,
        descriptor.kernarg_size,
    ) == (
        1024,
        16,
        88,
    )
    assert descriptor.entry_offset == -0x400
    assert (descriptor.vgpr_count, descriptor.sgpr_count, descriptor.accum_offset) == (48, 64, 32)
    assert (descriptor.float_mode, descriptor.dx10_clamp, descriptor.ieee_mode) == (0xC0, True, True)
    assert (descriptor.enable_private_segment, descriptor.user_sgpr_count, descriptor.workitem_id_mode) == (
        True,
        9,
        2,
    )
    assert (
        descriptor.enable_workgroup_id_x,
        descriptor.enable_workgroup_id_y,
        descriptor.enable_workgroup_id_z,
    ) == (
        True,
        False,
        True,
    )
    assert descriptor.tg_split
    assert (
        descriptor.enable_private_segment_buffer,
        descriptor.enable_dispatch_ptr,
        descriptor.enable_queue_ptr,
    ) == (
        True,
        True,
        False,
    )
    assert (descriptor.enable_kernarg_ptr, descriptor.enable_private_segment_size) == (True, True)
    assert (descriptor.kernarg_preload_length, descriptor.kernarg_preload_offset) == (3, 2)
    with pytest.raises(CodeObjectError, match="10 bytes of 64"):
        KernelDescriptor.from_bytes(bytes(10), "gfx950")


def test_relocated_pointer_points_to_its_variable(code_object: CodeObject) -> None:
    base = 0x7F1200000000
    image = code_object.load(base)
    assert len(image) == code_object.image_size
    table, second = code_object.symbols["table"], code_object.symbols["second"]
    assert struct.unpack_from("<4i", image, table.address) == (1, 2, 3, 4)
    (pointer,) = struct.unpack_from("<Q", image, second.address)
    assert pointer == base + table.address + 4
    kernel = code_object.kernels["loops"]
    offset = kernel.entry - code_object.text.address
    assert (
        image[kernel.entry : kernel.entry + kernel.size]
        == code_object.text.data[offset : offset + kernel.size]
    )


def test_relocation_types(code_object: CodeObject) -> None:
    """Each relocation type of the ABI, at the same place with the same symbol, against its formula."""
    from workbench.codeobject.elf import Relocation

    place = code_object.symbols["table"].address
    base, target, addend = 0x1_2345_6000, 0x40, 8
    expected = {
        1: ((base + target + addend) & 0xFFFFFFFF, "<I"),
        2: ((base + target + addend) >> 32, "<I"),
        3: (base + target + addend, "<Q"),
        4: ((target + addend - place) & 0xFFFFFFFF, "<I"),
        5: ((target + addend - place) & (1 << 64) - 1, "<Q"),
        13: (base + addend, "<Q"),
    }
    for type_, (value, pattern) in expected.items():
        code_object.relocations, relocations = (
            (Relocation(place, type_, "x", target, True, addend),),
            code_object.relocations,
        )
        try:
            assert struct.unpack_from(pattern, code_object.load(base), place)[0] == value
        finally:
            code_object.relocations = relocations


def test_read_gives_zero_where_the_file_has_nothing(code_object: CodeObject) -> None:
    assert code_object.read(code_object.symbols["table"].address, 8) == struct.pack("<2i", 1, 2)
    with pytest.raises(CodeObjectError, match="has no 16 bytes at"):
        code_object.read(code_object.image_size + 4096, 16)


def test_other_target_is_refused() -> None:
    with pytest.raises(CodeObjectError, match="is for gfx942, expected gfx950"):
        CodeObject.from_bytes(compiled("gfx942"), "gfx950")
    assert CodeObject.from_bytes(compiled("gfx942"), "gfx942:xnack-").target == "gfx942"


@pytest.mark.parametrize(
    ("offset", "value", "message"),
    [
        (48, 0x7F, "unknown processor"),
        (48, 0x48, "for gfx1200, whose instructions can be decoded but not run"),
        (8, 0, "version 2 is not supported"),
        (8, 77, "ABI number 77 is not supported"),
        (7, 0, "OS ABI 0"),
        (16, 1, "not linked"),
        (4, 1, "not a 64-bit"),
    ],
)
def test_headers_that_do_not_fit(offset: int, value: int, message: str) -> None:
    data = bytearray(compiled("gfx950"))
    data[offset] = value
    with pytest.raises(CodeObjectError, match=message):
        CodeObject(bytes(data))


def in_notes(data: bytes) -> bytes:
    """A code object with a note for each kernel, as Tensile's libraries have."""
    record = metadata_of(data)
    rest = {key: value for key, value in record.items() if key != "amdhsa.kernels"}
    contents = [
        {**rest, "amdhsa.kernels": [kernel], "amdhsa.printf": [f"{number}:0:x"]}
        for number, kernel in enumerate(record["amdhsa.kernels"])
    ]
    return with_notes(data, [msgpack.packb(content) for content in contents])


def test_every_note_of_metadata_counts() -> None:
    whole = CodeObject.from_bytes(compiled("gfx950"))
    split = CodeObject.from_bytes(in_notes(compiled("gfx950")))
    assert len(whole.kernels) == 3
    assert list(split.kernels) == list(whole.kernels)
    assert dict(split.kernels) == dict(whole.kernels)
    assert split.metadata["amdhsa.printf"] == ["0:0:x", "1:0:x", "2:0:x"]
    assert split.metadata["amdhsa.version"] == whole.metadata["amdhsa.version"]


def test_notes_of_other_kinds_are_passed_over() -> None:
    data = bytearray(in_notes(compiled("gfx950")))
    first = data.rindex(b"AMDGPU", 0, data.rindex(b"AMDGPU"))
    struct.pack_into("<I", data, first - 4, 33)
    assert len(CodeObject.from_bytes(bytes(data)).kernels) == 2


def test_a_kernel_is_read_when_it_is_asked_for() -> None:
    """Libraries have thousands; an error in one is reported when that one is used."""
    record = metadata_of(compiled("gfx950"))
    (loops,) = (kernel for kernel in record["amdhsa.kernels"] if kernel[".name"] == "loops")
    missing = [{**loops, ".name": f"k{number}", ".symbol": f"k{number}.kd"} for number in range(3000)]
    record["amdhsa.kernels"] += missing
    code_object = CodeObject.from_bytes(with_metadata(compiled("gfx950"), msgpack.packb(record)))
    assert len(code_object.kernels) == 3003
    assert code_object.kernels["loops"].max_workgroup_size == 256
    assert "and 2995 more" in repr(code_object)
    with pytest.raises(CodeObjectError, match="kernel 'k7' has no descriptor symbol"):
        code_object.kernels["k7"]


def test_symbols_one_by_one_and_whole(code_object: CodeObject) -> None:
    names = list(code_object.symbols)
    assert {"table", "second", "loops", "loops.kd"} <= set(names)
    fresh = CodeObject.from_bytes(code_object.data)
    assert {name: fresh.symbols[name] for name in names} == dict(code_object.symbols)
    assert "tabl" not in fresh.symbols
    assert "able" not in fresh.symbols
    assert sorted(fresh.symbols.ending(".kd")) == sorted(f"{name}.kd" for name in fresh.kernels)
    for kind in ("function", "object"):
        by_kind = {symbol.name for symbol in fresh.symbols.of_kind(kind)}
        assert by_kind == {name for name in names if fresh.symbols[name].kind == kind}
    assert "table" in by_kind
