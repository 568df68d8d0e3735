"""abi.h as read by cffi, against the C compiler's layout."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from workbench.emulator.native import NATIVE_FOLDER, abi
from workbench.toolchain import native as build

# Others are opaque to Python; cffi 2.1 aborts where it is asked for such a structure's fields.
STRUCTURES = [
    name
    for name in abi.ffi.list_types()[0]
    if abi.ffi.typeof(name).kind == "struct" and re.search(rf"\bstruct {name} {{", abi.HEADER.read_text())
]


def test_sizes_and_offsets_are_the_compilers(tmp_path: Path) -> None:
    defined = {name: abi.ffi.typeof(name).fields for name in STRUCTURES}
    expressions = [f"sizeof({name})" for name in defined]
    expressions += [f"offsetof({name}, {field})" for name, fields in defined.items() for field, _ in fields]
    source = tmp_path / "offsets.c"
    source.write_text(f'#include "abi.h"\nconst size_t offsets[] = {{{", ".join(expressions)}}};\n')
    path = build.build(
        "offsets", [source], depends=[abi.HEADER], include=NATIVE_FOLDER, flags=["-fvisibility=default"]
    )
    offsets = list((ctypes.c_size_t * len(expressions)).in_dll(ctypes.CDLL(str(path)), "offsets"))
    ours = [abi.ffi.sizeof(name) for name in defined]
    ours += [abi.offset(name, field) for name, fields in defined.items() for field, _ in fields]
    assert len(expressions) > 200
    assert dict(zip(expressions, ours, strict=True)) == dict(zip(expressions, offsets, strict=True))


def test_numbers_have_their_names_in_c_without_the_prefix() -> None:
    assert (abi.MAX_LANES, abi.FAULT, abi.SAN_HAZARD, abi.MATRIX_LINKED) == (64, -3, 12, 1 << 31)
    with pytest.raises(AttributeError, match="no number HK_LANE or LANE"):
        _ = abi.LANE


def test_names_of_one_enumeration_have_different_numbers() -> None:
    """Two branches that each add the next one merge without a conflict."""
    enumerations = [
        re.findall(r"^ *HK_(\w+) =", body, re.MULTILINE)
        for body in re.findall(r"^enum \w*\s*\{(.*?)^\}", abi.HEADER.read_text(), re.MULTILINE | re.DOTALL)
    ]
    assert "FAULT_MASK" in {name for names in enumerations for name in names}
    for names in enumerations:
        numbers = [getattr(abi, name) for name in names]
        assert len(set(numbers)) == len(numbers), dict(zip(names, numbers, strict=True))
