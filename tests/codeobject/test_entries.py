"""Entries of DWARF found by their lengths, against pyelftools, which reads every one."""

from __future__ import annotations

import io
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import workbench as wb
from workbench.codeobject.entries import Entries

SOURCE = """
#include "kittens.cuh"
using namespace kittens;
namespace outer {
template<typename T, long N> struct box { T values[N]; enum { count = N }; struct { int a; }; };
}
struct globals { gl<bf16, -1, -1, -1, 64> x; outer::box<float, -3 + 70000> *boxes; };
__global__ void first(const globals g) {
    rt_bf<16, 64> tile;
    load(tile, g.x, {0, 0, 0, 0});
    mul(tile, tile, tile);
    store(g.x, tile, {0, 0, 0, 0});
}
__global__ void second(double *x, int (*table)[3]) {
    __shared__ int s[64];
    s[threadIdx.x] = table[0][1];
    x[0] = s[3];
}
"""


@pytest.fixture(params=["-gdwarf-4", "-gdwarf-5"])
def unit(request: pytest.FixtureRequest) -> Any:
    module = wb.compile(SOURCE, arch="gfx950", name="entries.hip", flags=[request.param])
    dwarf = ELFFile(io.BytesIO(module.result.code_object)).get_dwarf_info()
    (unit,) = dwarf.iter_CUs()
    assert unit["version"] == int(request.param[-1])
    return unit


def test_every_entry_is_found_with_its_parent(unit: Any) -> None:
    dies = [die for die in unit.iter_DIEs() if die.tag is not None]
    entries = Entries(unit)
    assert len(dies) > 300
    assert list(entries.tags.items()) == [(die.offset, die.tag) for die in dies]
    parents = {die.offset: die.get_parent() for die in dies}
    assert entries.parents == {
        offset: parent.offset for offset, parent in parents.items() if parent is not None
    }
    with_code = [d.offset for d in dies if {"DW_AT_low_pc", "DW_AT_ranges"} & set(d.attributes)]
    assert entries.with_code == with_code
    for die in dies[::7]:
        members = [c.offset for c in die.iter_children() if c.tag in ("DW_TAG_member", "DW_TAG_typedef")]
        assert [c.offset for c in entries.children(die, ("DW_TAG_member", "DW_TAG_typedef"))] == members
        parent = entries.parent(die)
        assert (None if parent is None else parent.offset) == entries.parents.get(die.offset)
