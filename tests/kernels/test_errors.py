"""Wrong programs are refused with a sentence that says what is wrong."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.errors import CompileError

WRONG = {
    "rt_bf<20, 32> t;": "the number of rows is a multiple of the base shape's",
    "rt_bf<32, 20> t;": "the number of columns is a multiple of the base shape's",
    "rt_bf<16, 128, col_l, rt_16x128_s> t; zero(t);": "this base shape has no such layout",
    "rt_fl<32, 32> d; rt_bf<32, 32, col_l> a; rt_bf<32, 32> b; mma_ABt(d, a, b, d);": "row layout in mma_AB",
    "rt_fl<32, 32> d; rt_bf<32, 32> a; rt_bf<32, 48> b; mma_ABt(d, a, b, d);": "the same size along K",
    "rt_fl<32, 48> d; rt_bf<32, 32> a; rt_bf<32, 32> b; mma_ABt(d, a, b, d);": "the accumulator is M x N",
    "rt_bf<32, 32> d, a, b; mma_ABt(d, a, b, d);": "the accumulators are of float",
    "rt_fl<32, 32> d, a, b; mma_ABt(d, a, b, d);": "no instruction for these operands",
    "rt_fl<32, 32> d; rt_bf<32, 32> a; rt_hf<32, 32> b; mma_ABt(d, a, b, d);": "the same element type",
    "rt_fl<32, 32> a; rt_fl<32, 32>::row_vec v; row_max(v, a);": "gives the tile's own col_vec",
    "rt_fl<32, 32> a; rt_fl<32, 32>::row_vec v; mul_row(a, a, v);": "a row map takes the tile's own col_vec",
    "rt_fl<32, 32> a; rt_bf<32, 32, col_l> b; copy(b, a);": "swap_layout changes the layout",
    "st_bf<32, 24> *s = nullptr; if (s) (*s).data[0] = {};": "st: the number of columns is a multiple",
    "__shared__ st_bf<32, 32> s; rt_bf<16, 32> r; load(r, s);": "have the same size; subtile_inplace",
    "__shared__ st_bf<32, 32> s; auto p = subtile_inplace<24, 32>(s, {0, 0}); (void)p;": "whole base tiles",
    "__shared__ st_fl<32, 32> s; group<4>::load(s, x, {0, 0, 0, 0});": "have the same element type",
    "rt<int, 32, 32> t;": "kittens has no such element type",
    "gl<bf16, 1, 1, 0, 1> *p = nullptr; (void)p->rows();": "a dimension is positive, or -1",
}


@pytest.mark.parametrize(("body", "says"), WRONG.items())
def test_wrong_program(body: str, says: str) -> None:
    source = f"""#include "kittens.cuh"
using namespace kittens;
__global__ void wrong(gl<bf16, -1, -1, -1, -1> x) {{
    {body}
    (void)x;
}}"""
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch="gfx950", name="wrong.hip")
    first = next(d for d in caught.value.diagnostics if d.severity == "error")
    assert says in first.message


def test_target_must_be_known() -> None:
    with pytest.raises(CompileError, match="written for gfx950"):
        wb.compile('#include "kittens.cuh"', arch="gfx90a", name="old.hip")
