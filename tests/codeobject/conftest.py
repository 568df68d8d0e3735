"""Code objects that the tests of this folder read, compiled once a session."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import cache
from typing import Any

import msgpack
import pytest
from elftools.elf.elffile import ELFFile

from workbench.codeobject import CodeObject
from workbench.codeobject.instructions.isa.enumerate import find_llvm_mc
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


def with_kernels_changed(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """A code object whose metadata says something else of each kernel."""
    for section in ELFFile(io.BytesIO(data)).iter_sections("SHT_NOTE"):
        (note,) = section.iter_notes()
        record = msgpack.unpackb(note["n_descdata"])
        for kernel in record["amdhsa.kernels"]:
            # Room for what the change adds; nothing reads it.
            kernel.pop(".wavefront_size", None)
            change(kernel)
        packed = msgpack.packb(record)
        size, start = note["n_descsz"], note["n_offset"] + 12 + -(-note["n_namesz"] // 4) * 4
        assert len(packed) <= size
        changed = bytearray(data)
        changed[note["n_offset"] + 4 : note["n_offset"] + 8] = len(packed).to_bytes(4, "little")
        changed[start : start + size] = packed.ljust(size, b"\0")
        return bytes(changed)
    raise AssertionError("no notes")


@pytest.fixture(scope="session", params=TILE_TARGETS)
def code_object(request: pytest.FixtureRequest) -> CodeObject:
    """The source above, read, for each target."""
    return CodeObject.from_bytes(compiled(request.param))


@pytest.fixture(scope="session")
def llvm_mc() -> str:
    """Path of LLVM's disassembler; tests that need it are skipped where there is none."""
    path = find_llvm_mc()
    if path is None or "22" not in path:
        pytest.skip("llvm-mc of LLVM 22, the oracle of these tests, is not installed")
    return path
