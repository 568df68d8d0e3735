"""Code objects that the tests of this folder read, compiled once a session."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import msgpack
import pytest
from elftools.elf.elffile import ELFFile

from workbench.codeobject import CodeObject
from workbench.targets import TILE_TARGETS
from workbench.toolchain import CompileOptions, compile_device

# No header is included, so that lines and offsets are the tests' own.
SOURCE = """\
#define GLOBAL __attribute__((global))
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
#define LANE __builtin_amdgcn_workitem_id_x()

DEVICE int table[4] = {1, 2, 3, 4};
DEVICE int *second = &table[1];

namespace tiles {
struct dynamic { unsigned long v; };
template <int N> struct fixed {};
template <class T, int R> struct gl {
    T *raw_ptr;
    [[no_unique_address]] fixed<R> rows;
    dynamic cols;
};
}

struct globals {
    tiles::gl<_Float16, 4> x;
    tiles::gl<const float, -1> y;
    float eps;
    int counts[3];
    bool flag;
};

DEVICE __attribute__((always_inline)) float deep(float a) {
    return __builtin_sqrtf(a);  // line 31
}
DEVICE __attribute__((always_inline)) float outer(float a) {
    return deep(a) * 3.0f;  // line 34
}

extern "C" GLOBAL void lines(float *p, int n) {
    float value = p[LANE];
    value = outer(value);  // line 39
    p[LANE] = value + n;   // line 40
}

template <class T> GLOBAL void typed(globals g, T *out, unsigned long count) {
    SHARED float store[64];
    store[LANE] = g.eps;
    __builtin_amdgcn_s_barrier();
    out[LANE] = store[63 - LANE] + *second + (float)g.x.raw_ptr[count] + g.counts[1];
}
template GLOBAL void typed<double>(globals, double *, unsigned long);

extern "C" GLOBAL __attribute__((amdgpu_flat_work_group_size(64, 256))) void loops(int *p, int n) {
    for (int i = 0; i < n; ++i) p[i] = p[i + 1] * p[i] + LANE;
}
"""


@cache
def compiled(arch: str, debug: bool = True) -> bytes:
    """The source above as a code object."""
    return compile_device(SOURCE, CompileOptions(arch, name="cell", debug=debug)).code_object


def metadata_of(data: bytes) -> dict[str, Any]:
    """The metadata of a code object, to be changed and given to `with_metadata`."""
    (section,) = ELFFile(io.BytesIO(data)).iter_sections("SHT_NOTE")
    (note,) = section.iter_notes()
    record: dict[str, Any] = msgpack.unpackb(note["n_descdata"])
    return record


def with_metadata(data: bytes, packed: bytes) -> bytes:
    """A code object with other metadata, of any size: its note is at the file's end."""
    return with_notes(data, [packed])


def with_notes(data: bytes, contents: Sequence[bytes]) -> bytes:
    """The same with a note of metadata for each content, as a linker's output of several objects."""
    note = b"".join(
        struct.pack("<III", 7, len(packed), 32) + b"AMDGPU\0\0" + packed + bytes(-len(packed) % 4)
        for packed in contents
    )
    changed = bytearray(data) + bytes(-len(data) % 4)
    elf = ELFFile(io.BytesIO(data))
    header = elf.header
    for number in range(header["e_shnum"]):
        if elf.get_section(number)["sh_type"] == "SHT_NOTE":
            place = header["e_shoff"] + number * header["e_shentsize"]
            struct.pack_into("<QQ", changed, place + 24, len(changed), len(note))
    for number in range(header["e_phnum"]):
        if elf.get_segment(number)["p_type"] == "PT_NOTE":
            place = header["e_phoff"] + number * header["e_phentsize"]
            struct.pack_into("<Q", changed, place + 8, len(changed))
            struct.pack_into("<Q", changed, place + 32, len(note))
    return bytes(changed) + note


def with_kernels_changed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A code object with other metadata of each kernel."""
    record = metadata_of(data)
    for kernel in record["amdhsa.kernels"]:
        change(kernel)
    return with_metadata(data, msgpack.packb(record))


@pytest.fixture(scope="session", params=TILE_TARGETS)
def code_object(request: pytest.FixtureRequest) -> CodeObject:
    """The source above, read, for each target."""
    return CodeObject.from_bytes(compiled(request.param))
