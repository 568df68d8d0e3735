"""layout.py against what the C compiler makes of wave.h."""

from __future__ import annotations

import ctypes

from workbench.emulator.native import abi, native_library


class _Entry(ctypes.Structure):
    _fields_ = [("structure", ctypes.c_char_p), ("field", ctypes.c_char_p), ("value", ctypes.c_uint64)]


def _from_c() -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    sizes: dict[str, int] = {}
    fields: dict[str, dict[str, int]] = {}
    table = (_Entry * 1000).in_dll(native_library(), "hklayout_entries")
    for entry in table:
        if entry.structure is None:
            break
        name = entry.structure.decode()
        if entry.field is None:
            sizes[name] = entry.value
        else:
            fields.setdefault(name, {})[entry.field.decode()] = entry.value
    return sizes, fields


def test_every_structure_has_the_size_and_offsets_of_wave_h() -> None:
    sizes, fields = _from_c()
    assert set(sizes) == set(abi.STRUCTURES)
    for name, structure in abi.STRUCTURES.items():
        ours = {
            field: getattr(structure, field).offset
            for field, *_ in structure._fields_
            if not field.startswith("_")
        }
        assert ours == fields[name], name
        assert ctypes.sizeof(structure) == sizes[name], name
