"""Wrong programs are refused with one error, whose first line explains the mistake. All wrong programs of a
target are compiled together, each a function on its own line; the compiler continues after an error, and the
line identifies the program.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from tile_cases import SHAPES, ST_SHAPES

import workbench as wb
from workbench.errors import CompileError
from workbench.targets import TILE_TARGETS
from workbench.toolchain import Diagnostic
from workbench.toolchain.compiler import kernel_headers

TYPES = ("float", "bf16", "half", "fp8e4m3")

NO_TYPE = "no such element type; kittens has float, bf16, "
UNSATISFIED = "constraints not satisfied"

Programs = list[tuple[str, str]]
"""A function's body and the error's message. A wrong type appears in one message only."""


def no_match(name: str) -> str:
    return f"no matching function for call to '{name}'"


SAME_TYPE = (
    "dst and src have the same type; `b` is rt_bf<32, 32>, `a` is rt_fl<32, 32>; copy(to, from) converts"
)


def register_types() -> Programs:
    wrong: Programs = []
    for shape, (rows, cols, _) in SHAPES.items():
        for dtype in TYPES:
            tall, wide = f"{rows + 8}, {cols}", f"{rows}, {cols + 8}"
            says = "is a multiple of the base shape's"
            wrong.append((f"rt<{dtype}, {tall}, row_l, {shape}> t; zero(t);", f"the number of rows {says}"))
            wrong.append(
                (f"rt<{dtype}, {wide}, row_l, {shape}> t; zero(t);", f"the number of columns {says}")
            )
    for dtype in TYPES:
        for layout in ("align_l", "ortho_l"):
            says = "a multiple of the base tile's side"
            wrong.append((f"detail::register_vector<{dtype}, 24, {layout}, rt_16x16_s> v; zero(v);", says))
    wrong += [
        # A base shape is refused once, whatever its type.
        ("rt_bf<16, 128, col_l, rt_16x128_s> t; zero(t);", "this base shape has no such layout"),
        ("rt_bf<16, 12, row_l, rt_shape<16, 12, 1>> t; zero(t);", "a whole number of packed elements"),
        ("rt<short, 32, 32> t;", NO_TYPE),
        ("rt<double, 32, 32> t;", NO_TYPE),
        ("rv<short, 64> v; zero(v);", NO_TYPE),
        ("rt_bf<32, 32, int> t;", "the third argument of rt_bf is the layout"),
        ("rt_bf<32, 32, row_l, st_16x16_s> t;", "the fourth argument of rt_bf is the base shape"),
        ("detail::register_vector<bf16, 64, row_l, rt_16x16_s> v;", UNSATISFIED),
        ("rv_fl<0> v; zero(v);", "rv: the length is positive"),
    ]
    return wrong


def shared_types() -> Programs:
    wrong: Programs = []
    for shape, (rows, cols) in ST_SHAPES.items():
        for dtype in TYPES:
            for size, axis in ((f"{rows + 4}, {cols}", "rows"), (f"{rows}, {cols + 4}", "columns")):
                body = f"__shared__ st<{dtype}, {size}, {shape}> s; (void)s;"
                wrong.append((body, f"st: the number of {axis} is a multiple"))
    wrong += [
        ("__shared__ st<long long, 16, 16> s; (void)s;", NO_TYPE),
        ("__shared__ sv<long, 16> s; (void)s;", NO_TYPE),
        ("__shared__ sv_bf<0> s; (void)s;", "sv: the length is positive"),
        ("st_bf<32, 32, rt_16x16_s> *s = nullptr; (void)s;", "the third argument of st_bf is the base shape"),
        ("__shared__ st_bf<32, 32> s; (void)subtile_inplace<24, 32>(s, {0, 0});", "whole base tiles"),
        ("__shared__ st_bf<64, 32> s; (void)subtile_inplace<48, 32>(s, {0, 0});", "whole number of subtiles"),
        (
            "__shared__ st_bf<64, 64> s; auto p = subtile_inplace<32, 32>(s, {0, 0}); "
            "(void)subtile_inplace<16, 16>(p, {0, 0});",
            no_match("subtile_inplace"),
        ),
        ("int m; shared_allocator<12> al(&m); (void)al;", "the alignment is a power of two"),
        (
            "int m; shared_allocator al(&m); (void)al.allocate_aligned<24, sv_bf<64>>();",
            "the alignment is a power of two",
        ),
    ]
    return wrong


def global_types() -> Programs:
    return [
        ("gl<bf16, 1, 1, 0, 1> *p = nullptr; (void)p->rows();", "a dimension is positive, or -1"),
        ("gl<bf16, 1, -2, 1, 1> *p = nullptr; (void)p->depth();", "a dimension is positive, or -1"),
        ("gl<char, 1, 1, 1, 1> *p = nullptr; (void)p->rows();", NO_TYPE),
        ("(void)x.shape<4>();", "gl::shape: the axes are 0 (batch)"),
        ("(void)x.stride<-1>();", "gl::stride: the axes are 0 (batch)"),
        ("(void)coord<>(1).dim<5>();", "coord::dim: the axes are 0 (batch)"),
        ("(void)coord<rt_bf<16, 16>>(1).unit_coord<2, 2>();", "columns lie along axis 3"),
        ("(void)coord<rt_bf<16, 32>>(1).unit_coord<3, 3>();", "rows of a tile lie along axis 0, 1 or 2"),
    ]


def memory() -> Programs:
    wrong: Programs = [
        ("__shared__ st_bf<32, 32> s; rt_bf<16, 32> r; load(r, s);", "have the same size; subtile_inplace"),
        ("__shared__ st_bf<32, 32> s; rt_bf<32, 16> r; store(s, r);", "have the same size; subtile_inplace"),
        ("__shared__ st_fl<32, 32> s; group<4>::load(s, x, {0, 0, 0, 0});", "have the same element type"),
        ("__shared__ st_fl<32, 64> s; group<4>::store(x, s, {0, 0, 0, 0});", "have the same element type"),
        ("__shared__ sv_fl<64> s; group<4>::load(s, x, {0, 0, 0, 0});", "have the same element type"),
        ("(void)group<0>::laneid();", "group: a work-group has 1 to 16 waves"),
        ("(void)group<17>::laneid();", "group: a work-group has 1 to 16 waves"),
        ("__shared__ sv_bf<64> s; rv_bf<128> r; load(r, s);", "have the same length"),
        ("__shared__ sv_bf<64> s; rv_bf<192> r; store(s, r);", "have the same length"),
        ("rt_bf<32, 32> r; load(r, x, coord<sv_bf<32>>{0});", "the coordinate counts in vectors"),
        ("rv_bf<64> r; load(r, x, coord<rt_bf<32, 32>>{0});", "the coordinate counts in tiles"),
        ("rt_bf<32, 32> r; store(r, x, {0, 0, 0, 0});", "the destination comes first"),
        ("rt_bf<32, 32> r; load(r, r, {0, 0, 0, 0});", "`r` is rt_bf<32, 32>; src is a tensor (gl)"),
        (
            "__shared__ st_fp6e2m3_4<16, 32> s; rt_fp6e2m3_4<16, 32, row_l, rt_16x32_4_s> r; load(r, s);",
            "tiles of fp6 are in the row layout with a stride of 8",
        ),
        ("wait_vmcnt<64>();", "the counter has six bits"),
        ("wait_vmcnt<-1>();", "the counter has six bits"),
        ("wait_lgkmcnt<16>();", "the counter has four bits"),
    ]
    return wrong


def maps() -> Programs:
    wrong: Programs = []
    for number, name in enumerate(("add", "sub", "mul", "div")):
        tile = f"rt_fl<{16 * (number + 1)}, {16 * (number + 2)}>"
        row, col = (f"{tile} a; zero(a); {tile}::{kind} v; zero(v);" for kind in ("row_vec", "col_vec"))
        wrong.append((f"{row} {name}_row(a, a, v);", "a row map takes the tile's own col_vec"))
        wrong.append((f"{col} {name}_col(a, a, v);", "a column map its row_vec"))
    row, col = (f"rt_fl<80, 32> a; rt_fl<80, 32>::{kind} v; zero(v);" for kind in ("row_vec", "col_vec"))
    wrong.append((f"{row} zero(a); broadcast_row(a, v);", "a row map takes the tile's own col_vec"))
    wrong.append((f"{col} zero(a); broadcast_col(a, v);", "a column map its row_vec"))
    for name in ("add", "sub", "mul", "div", "max", "min"):
        for kind, other, operand in (
            ("rt_fl<32, 32>", "rt_bf<32, 32>", "tile"),
            ("rt_fl<32, 32>", "rt_fl<32, 48>", "tile"),
            ("rv_fl<64>", "rv_fl<128>", "vector"),
        ):
            body = f"{kind} a; zero(a); {other} b; zero(b); {name}(a, a, b);"
            wrong.append((body, f"{name}: the right-hand side is a {operand} of the same type, or one value"))
    wrong += [
        (
            "__shared__ st_fl<32, 32> s; __shared__ st_bf<32, 32> t; add(s, s, t);",
            "the operands of an operation on shared tiles or vectors have its type",
        ),
        (
            "__shared__ st_fl<32, 32> s; __shared__ sv_fl<48> v; add_row(s, s, v);",
            "has a value of its type for each row (column)",
        ),
    ]
    for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "rcp", "neg", "abs", "relu"):
        wrong.append((f"rt_fl<32, 32> a; rt_bf<32, 32> b; {name}(b, a);", f"{name}(dst, src): {SAME_TYPE}"))
    for name in ("sqrt", "rsqrt", "rcp", "neg"):
        wrong.append(
            (f"__shared__ st_fl<32, 32> s; __shared__ st_bf<32, 32> t; {name}(s, t);", no_match(name))
        )
    for name in ("tril", "triu", "make_causal", "make_causal_t"):
        wrong.append((f"rt_fl<32, 32> a; rt_bf<32, 32> b; {name}(b, a);", SAME_TYPE))
    for name in ("left_fill", "right_fill", "upper_fill", "lower_fill"):
        wrong.append((f"rt_fl<32, 32> a; rt_bf<32, 32> b; {name}(b, a, 1);", SAME_TYPE))
    return wrong


def reductions() -> Programs:
    wrong: Programs = []
    for number, name in enumerate(("max", "min", "sum", "prod")):
        tile = f"rt_fl<{16 * (number + 1)}, 16>"
        says = "a row reduction gives the tile's own col_vec, a column reduction its row_vec"
        wrong.append((f"{tile} a; zero(a); {tile}::row_vec v; row_{name}(v, a);", says))
        wrong.append((f"{tile} a; zero(a); {tile}::col_vec v; col_{name}(v, a);", says))
        fp8 = f"rt_fp8e4m3<{16 * (number + 1)}, 128, row_l, rt_16x128_s>"
        says = "copy an fp8 tile to another type first"
        wrong.append((f"{fp8} a; zero(a); {fp8}::col_vec v; row_{name}(v, a);", says))
        wrong.append((f"{fp8} a; zero(a); {fp8}::row_vec v; col_{name}(v, a);", says))
        fp8 = f"rt_fp8e4m3<16, {128 * (number + 2)}, row_l, rt_16x128_s>::row_vec"
        wrong.append((f"{fp8} v; zero(v); fp8e4m3 r; {name}(r, v);", "copy an fp8 vector to another type"))
    return wrong


def conversions() -> Programs:
    wide = "rt_fl<32, 64> a; zero(a);"
    middle = "rt_fl<32, 48> a; zero(a);"
    square = "rt_fl<32, 32> a; zero(a);"
    return [
        (f"{square} rt_bf<32, 32, col_l> b; copy(b, a);", "swap_layout changes the layout"),
        (f"{square} rt_bf<32, 64> b; copy(b, a);", "have the same size, layout and base"),
        (f"{square} rt_bf<32, 32, row_l, rt_32x32_s> b; copy(b, a);", "same size, layout and base"),
        (f"{wide} rt_fl<32, 64, col_l> b; transpose(b, a);", "as many rows as src has columns"),
        (f"{wide} rt_bf<64, 32, col_l> b; transpose(b, a);", "the same element type"),
        (
            "using S = rt_16x32_s; rt_fl<32, 64, row_l, S> a; zero(a); rt_fl<64, 32, col_l, S> b; "
            "transpose(b, a);",
            "with rows and columns exchanged",
        ),
        (f"{middle} rt_fl<48, 32, col_l> b; swap_layout(b, a);", "have the same size"),
        (f"{middle} rt_bf<32, 48, col_l> b; swap_layout(b, a);", "the same element type"),
        (f"{middle} rt_fl<32, 48> b; swap_layout(b, a);", "another layout or base shape than src"),
        (
            "using S = rt_shape<16, 128, 32>; rt_fl<16, 128, row_l, S> a; zero(a); "
            "rt_fp6e2m3_4<16, 64> b; copy(b, a);",
            "the wider tile has as many numbers along each side",
        ),
        (
            "rt_fl<16, 128, row_l, rt_16x128_s> a; zero(a); rt_fp4e2m1_2<16, 64> b; copy(b, a);",
            "base shape is that of the tile of fp4, fp6 or int4 with its numbers",
        ),
        (
            "rt_fl<16, 128, row_l, rt_16x128_s> a; zero(a); rt<int4_2, 16, 64> b; copy(b, a);",
            "base shape is that of the tile of fp4, fp6 or int4 with its numbers",
        ),
        (
            "using S = rt_shape<16, 128, 32>; rt_fp8e4m3<16, 128, row_l, S> a; zero(a); "
            "rt_fp4e2m1_2<16, 64> b; copy(b, a);",
            "tiles of fp4, fp6 and int4 are converted from and to float, bf16 and half",
        ),
        ("__shared__ st_fl<32, 32> s; __shared__ st_fl<32, 48> t; copy(s, t);", "of the same size"),
        ("rv_fl<64> a; zero(a); rv_bf<128> b; copy(b, a);", "have the same length, layout and base shape"),
        (
            "using S = rt_16x128_s; rt_fl<16, 128, row_l, S>::row_vec a; zero(a); "
            "rt_fp8e4m3<16, 128, row_l, S>::row_vec b; copy(b, a);",
            "converts by way of a tile",
        ),
    ]


def multiplication() -> Programs:
    wrong: Programs = []
    forms = {
        "AB": ("row_l", "col_l"),
        "ABt": ("row_l", "row_l"),
        "AtB": ("col_l", "col_l"),
        "AtBt": ("col_l", "row_l"),
    }
    other = {"row_l": "col_l", "col_l": "row_l"}
    for number, (form, (a_layout, b_layout)) in enumerate(forms.items()):
        n = 32 * (number + 1)
        d, a, b = f"rt_fl<{n}, {n}>", f"rt_bf<{n}, {n}, {a_layout}>", f"rt_bf<{n}, {n}, {b_layout}>"
        sizes = [f"{n}, {n + 16}", f"{n + 16}, {n}"]
        longer, taller = (f"rt_bf<{s}, {a_layout}>" for s in (sizes if a_layout == "row_l" else sizes[::-1]))
        for types, says in (
            ((d, f"rt_bf<{n}, {n}, {other[a_layout]}>", b), "mma: a is in the row layout in mma_AB and"),
            ((d, a, f"rt_bf<{n}, {n}, {other[b_layout]}>"), "mma: b is in the row layout in mma_ABt and"),
            ((d, longer, b), "mma: a and b have the same size along K"),
            ((d, taller, b), "mma: the accumulator is M x N"),
            ((f"rt_bf<{n}, {n}>", a, b), "mma: the accumulators are of float"),
            ((d, a, f"rt_hf<{n}, {n}, {b_layout}>"), "mma: a and b have the same element type"),
            (
                (f"rt_fl<{n}, {n}, row_l, rt_32x32_s>", a, b),
                "mma: the base shape of `d` is rt_32x32_s; beside `a`",
            ),
        ):
            declared = " ".join(f"{t} {v}; zero({v});" for t, v in zip(types, "dab", strict=True))
            wrong.append((f"{declared} mma_{form}(d, a, b, d);", says))
    start = "rt_fl<32, 32> d; zero(d);"
    wrong += [
        (
            "rt_fl<16, 16> d; zero(d); rt_fp8e4m3<16, 16, row_l, rt_16x16_s> a, b; zero(a); zero(b); "
            "mma_ABt(d, a, b, d);",
            "no instruction for these",
        ),
        (
            f"{start} rt_bf<32, 32, row_l, rt_16x32_s> a; zero(a); "
            "rt_bf<32, 32, row_l, rt_16x32_4_s> b; zero(b); mma_ABt(d, a, b, d);",
            "mma: the base shape of `b` is rt_16x32_4_s; beside `a`",
        ),
        (
            "rt_fl<32, 32> d; __shared__ st_bf<32, 32> s; mma_ABt(d, s, s, d);",
            "`s` is st_bf<32, 32>; a is a register tile; load brings it",
        ),
    ]
    return wrong


FAMILIES = {
    "register types": register_types(),
    "shared types": shared_types(),
    "global types": global_types(),
    "memory": memory(),
    "maps": maps(),
    "reductions": reductions(),
    "conversions": conversions(),
    "multiplication": multiplication(),
}

RIGHT = "rt_bf<32, 32> a; zero(a); rt_bf<32, 32>::col_vec v; row_max(v, a); store(x, a, {0, 0, 0, 0});"


def source(bodies: list[str]) -> str:
    functions = [
        f"__global__ void f{number}(gl<bf16, -1, -1, -1, -1> x) {{ (void)x; {body} }}"
        for number, body in enumerate(bodies)
    ]
    return "\n".join(['#include "kittens.cuh"', "using namespace kittens;", *functions])


FIRST_LINE = 3
"""Line of the first function in `source`."""


@cache
def errors(arch: str) -> dict[str, list[Diagnostic]]:
    """The compiler's diagnostics of each program."""
    bodies = [body for programs in FAMILIES.values() for body, _ in programs] + [RIGHT]
    with pytest.raises(CompileError) as caught:
        wb.compile(source(bodies), arch=arch, name="wrong.hip", flags=("-ferror-limit=0",))
    diagnostics: dict[str, list[Diagnostic]] = {body: [] for body in bodies}
    body = bodies[0]
    for diagnostic in caught.value.diagnostics:
        if diagnostic.severity == "error":
            # A message without a line follows from the error before it.
            if diagnostic.cell_line >= FIRST_LINE:
                body = bodies[diagnostic.cell_line - FIRST_LINE]
            diagnostics[body].append(diagnostic)
    return diagnostics


CASES = [
    pytest.param(arch, body, says, id=f"{arch}-{family}-{number}")
    for arch in TILE_TARGETS
    for family, programs in FAMILIES.items()
    for number, (body, says) in enumerate(programs)
]


@pytest.mark.parametrize(("arch", "body", "says"), CASES)
def test_wrong_program(arch: str, body: str, says: str) -> None:
    diagnostics = errors(arch)[body]
    assert diagnostics, f"compiles: {body}"
    first_line = diagnostics[0].message.partition("\n")[0]
    assert says in first_line, f"{body}\n{diagnostics[0].text}"
    assert len(first_line) < 240, first_line
    assert len(diagnostics) == 1, "\n".join(each.message for each in diagnostics)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_error_of_an_element_type_names_those_there_are(arch: str) -> None:
    header = (kernel_headers() / "common/base_types.cuh").read_text()
    there = set(re.findall(r"struct packing<(\w+)> : detail::packing_of<\1, \w+, 1>", header))
    assert {"float", "bf16", "uint8", "int4_2"} <= there
    body = next(body for body, says in FAMILIES["global types"] if says == NO_TYPE)
    named = errors(arch)[body][0].message.partition("; kittens has ")[2].partition(", each")[0]
    assert set(re.findall(r"\w+", named)) == there


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_right_program_beside_wrong_ones(arch: str) -> None:
    assert errors(arch)[RIGHT] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_first_line_alone(family: str) -> None:
    """Compiled alone, a wrong program has the same error as its first."""
    body, says = FAMILIES[family][0]
    with pytest.raises(CompileError) as caught:
        wb.compile(source([body]), arch="gfx950", name="wrong.hip")
    diagnostics = [d for d in caught.value.diagnostics if d.severity == "error"]
    assert says in diagnostics[0].message
    assert len(diagnostics) == 1


def test_target_must_be_known() -> None:
    with pytest.raises(CompileError, match="written for gfx950"):
        wb.compile('#include "kittens.cuh"', arch="gfx90a", name="old.hip")
