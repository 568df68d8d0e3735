"""Each known mistake, compiled: its message, its position, and its fix, which compiles.

One-line mistakes are compiled together, each a function on its own line, so that the compiler starts twice
for all of them: for the mistakes, and for the fixed code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import CompileError
from workbench.paths import include_dir
from workbench.toolchain import Diagnostic
from workbench.toolchain.diagnostics import FixIt
from workbench.toolchain.mistakes import ACCEPTED, CUDA, REFUSED, explained, unsaid
from workbench.toolchain.mistakes.cell_text import Cell

ARCH = "gfx950"
HEAD = '#include "kittens.cuh"\nusing namespace kittens;\n'


@dataclass(frozen=True)
class Case:
    """A body with a mistake; its name, words of the sentence, the underlined text, the fixed text."""

    mistake: str
    body: str
    says: str
    at: str
    mended: str = ""


ARGUMENT = "A template argument in the wrong place"
NO_FUNCTION = "A call that fits no function of tiles"
SHAPES = "A base shape that does not go with the other operand"
RANGES = "ducks::art::type_list<ducks::art::range<{}, {}>, ducks::art::range<{}, {}>>"
CASES = (
    Case(
        ARGUMENT,
        "using shape = rt_16x16_s; rt_fl<16, 64, shape> t; zero(t);",
        "the third argument of rt_fl is the layout (row_l or col_l); `shape` is a shape",
        "shape> t",
        "using shape = rt_16x16_s; rt_fl<16, 64, row_l, shape> t; zero(t);",
    ),
    Case(
        ARGUMENT,
        "__shared__ st_bf<32, 32, rt_32x32_s> s; zero(s);",
        "the third argument of st_bf is the base shape of a shared tile",
        "rt_32x32_s",
        "__shared__ st_bf<32, 32, st_32x32_s> s; zero(s);",
    ),
    Case(
        "A size that is not a multiple of the base shape",
        "rt_bf<24, 32> t; zero(t);",
        "the number of rows is a multiple of the base shape's: 24 is not a multiple of 16; 16 and 32 are",
        "24, 32",
        "rt_bf<32, 32> t; zero(t);",
    ),
    Case(
        "A size that is not a multiple of the base shape",
        "__shared__ st_bf<64, 40> s; zero(s);",
        "the number of columns is a multiple of the base shape's: 40 is not a multiple of 16; 32 and 48 are",
        "40> s",
        "__shared__ st_bf<64, 48> s; zero(s);",
    ),
    *(
        Case(
            "An operand of mma in the wrong layout",
            f"rt_bf<{n}, {n}, {a}> a; rt_bf<{n}, {n}, {b}> b; rt_fl<{n}, {n}> d; zero(a); zero(b); zero(d); "
            f"mma_{form}(d, a, b, d);",
            f"`b` is in {b}; expected {other}",
            "b, d);",
            f"rt_bf<{n}, {n}, {a}> a; rt_bf<{n}, {n}{', col_l' if other == 'col_l' else ''}> b; "
            f"rt_fl<{n}, {n}> d; zero(a); zero(b); zero(d); mma_{form}(d, a, b, d);",
        )
        for n, (form, a, b, other) in enumerate(
            (
                ("AB", "row_l", "row_l", "col_l"),
                ("ABt", "row_l", "col_l", "row_l"),
                ("AtB", "col_l", "row_l", "col_l"),
                ("AtBt", "col_l", "col_l", "row_l"),
            )
        )
        for n in (16 * (n + 1),)
    ),
    Case(
        "An operand of mma in the wrong layout",
        "rt_bf<80, 80, col_l> a; rt_bf<80, 80> b; rt_fl<80, 80> d; mma_ABt(d, a, b, d);",
        "`a` is in col_l; expected row_l",
        "a, b, d);",
        "rt_bf<80, 80> a; rt_bf<80, 80> b; rt_fl<80, 80> d; mma_ABt(d, a, b, d);",
    ),
    Case(
        "An accumulator that is not of float",
        "rt_bf<16, 48> a; rt_bf<16, 48> b; rt_bf<16, 16> d; zero(d); mma_ABt(d, a, b, d);",
        "the accumulators are of float, those of int8 operands of int: `d` is rt_bf<16, 16>",
        "d, a, b, d);",
        "rt_bf<16, 48> a; rt_bf<16, 48> b; rt_fl<16, 16> d; zero(d); mma_ABt(d, a, b, d);",
    ),
    Case(
        "Operands of mma of different sizes",
        "rt_bf<16, 32> a; rt_bf<16, 64> b; rt_fl<16, 16> d; zero(d); mma_ABt(d, a, b, d);",
        "have the same size along K: `d` is rt_fl<16, 16>, `a` is rt_bf<16, 32>, `b` is rt_bf<16, 64>",
        "mma_ABt",
    ),
    Case(
        "Operands of mma of different types",
        "rt_bf<16, 80> a; rt_hf<16, 80> b; rt_fl<16, 16> d; zero(d); mma_ABt(d, a, b, d);",
        "mma: a and b have the same element type: ",
        "mma_ABt",
    ),
    Case(
        "Accumulators of mma of different types",
        "rt_bf<16, 32> a, b; rt_fl<16, 16> d; rt_fl<16, 16, col_l> c; zero(c); mma_ABt(d, a, b, c);",
        "mma: the accumulators c and d have the same type: ",
        "mma_ABt",
    ),
    Case(
        "Operands that no matrix instruction takes",
        "rt_int<16, 32> a, b; rt_fl<16, 16> d; zero(d); mma_ABt(d, a, b, d);",
        "they take float, bf16, half, int8, fp8",
        "mma_ABt",
    ),
    Case(
        "A map with a vector that is not the tile's own",
        "rt_fl<32, 48> a; zero(a); rv_fl<32> v; zero(v); mul_row(a, a, v);",
        "mul_row takes rt_fl<32, 48>::col_vec, `v` is rv_fl<32>",
        "v);",
        "rt_fl<32, 48> a; zero(a); rt_fl<32, 48>::col_vec v; zero(v); mul_row(a, a, v);",
    ),
    Case(
        "A reduction into a vector that is not the tile's own",
        "rt_fl<32, 80> a; zero(a); rt_fl<32, 80>::col_vec v; col_sum(v, a);",
        "col_sum gives rt_fl<32, 80>::row_vec, `v` is rt_fl<32, 80>::col_vec",
        "v, a);",
        "rt_fl<32, 80> a; zero(a); rt_fl<32, 80>::row_vec v; col_sum(v, a);",
    ),
    Case(
        "Operands of a map of different types",
        "rt_fl<32, 32> a; rt_bf<32, 32> b; zero(a); zero(b); add(a, a, b);",
        "`a` is rt_fl<32, 32>, `b` is rt_bf<32, 32>; copy(to, from) converts",
        "add(a, a, b)",
    ),
    Case(
        "A copy between layouts",
        "rt_fl<48, 48> a; zero(a); rt_fl<48, 48, col_l> b; copy(b, a);",
        "copy keeps the layout, swap_layout changes it",
        "copy(b, a)",
        "rt_fl<48, 48> a; zero(a); rt_fl<48, 48, col_l> b; swap_layout(b, a);",
    ),
    Case(
        "A register tile and a shared tile of different sizes",
        "__shared__ st_bf<32, 32> s; rt_bf<16, 32> r; load(r, s);",
        "subtile_inplace<16, 32>(s, {i, j}) is as large as rt_bf<16, 32>",
        "s);",
    ),
    Case(
        "Ranges of registers without their namespace",
        "art_fl<16, 16, row_l, rt_16x16_s, art::type_list<art::range<32, 35>>> t; zero(t);",
        "ranges of registers are in the namespace ducks::art",
        "art::type_list",
        "art_fl<16, 16, row_l, rt_16x16_s, ducks::art::type_list<ducks::art::range<32, 35>>> t; zero(t);",
    ),
    Case(
        "Ranges of registers that overlap",
        f"art_fl<32, 16, row_l, rt_16x16_s, {RANGES.format(32, 35, 36, 39)}> d; "
        f"art_bf<32, 16, row_l, rt_16x16_s, {RANGES.format(38, 39, 40, 41)}> a; "
        f"art_bf<16, 16, row_l, rt_16x16_s, ducks::art::type_list<ducks::art::range<42, 43>>> b; "
        "mma_ABt(d, a, b);",
        "the accumulators' registers are apart from the operands'",
        "mma_ABt",
    ),
    Case(
        "An element type that tiles do not have",
        "rt<double, 32, 32> t; zero(t);",
        "no such element type; kittens has float, bf16",
        "t; zero",
    ),
    Case(
        "A call with arguments in the wrong order",
        "rt_fl<32, 32> a; zero(a); store(a, y, {0, 0, 0, 0});",
        "the destination comes first, store(to, from, at): the tensor stands before the tile",
        "store(a",
        "rt_fl<32, 32> a; zero(a); store(y, a, {0, 0, 0, 0});",
    ),
    Case(
        "A call with arguments in the wrong order",
        "rt_bf<32, 32> a; load(a, x, {0, 0, 0, 0, 0}); zero(a);",
        "a coordinate has at most four indices, {batch, depth, row, column}; 5 are given",
        "{0, 0, 0, 0, 0}",
    ),
    Case(
        "A call with arguments in the wrong order",
        "rt_bf<32, 32> a; load(a, x, coord<rv_bf<32>>{0}); zero(a);",
        "the coordinate counts in vectors (coord<rv...>), `a` is a tile",
        "coord<rv_bf<32>>{0}",
    ),
    Case(
        "A call with arguments in the wrong order",
        "rt_fl<32, 32> a; zero(a); a = exp(a);",
        "functions of tiles write to their first argument and give nothing: exp(a, a)",
        "a = exp(a)",
        "rt_fl<32, 32> a; zero(a); exp(a, a);",
    ),
    Case(
        "An index of a coordinate that is not an int",
        "rt_bf<32, 32> a; load(a, x, {0, 0, blockIdx.x, 0}); store(x, a, {0, 0, 0, 0});",
        "indices of a coordinate are int: `blockIdx.x` is an unsigned int; int(blockIdx.x) is one",
        "blockIdx.x",
        "rt_bf<32, 32> a; load(a, x, {0, 0, int(blockIdx.x), 0}); store(x, a, {0, 0, 0, 0});",
    ),
    Case(
        "An operator between tiles",
        "rt_fl<32, 32> a, b; zero(a); zero(b); a = a * b;",
        "tiles have no operators: mul(a, a, b)",
        "a = a * b",
        "rt_fl<32, 32> a, b; zero(a); zero(b); mul(a, a, b);",
    ),
    Case(
        "A float beside a bf16",
        "bf16 v = x[{0, 0, 0, 0}]; v = v * 2.0f; x[{0, 0, 0, 0}] = v;",
        "`*` takes two operands of one type: `2.0f` is a float, the other a bf16; write bf16(2.0f)",
        "2.0f",
        "bf16 v = x[{0, 0, 0, 0}]; v = v * bf16(2.0f); x[{0, 0, 0, 0}] = v;",
    ),
    Case(
        "Two indices for a shared tile",
        "__shared__ st_bf<32, 32> s; bf16 v = s[3][4]; (void)v;",
        "a shared tile is swizzled, its rows are not arrays: element {row, column} is s[{3, 4}]",
        "s[3][4]",
        "__shared__ st_bf<32, 32> s; bf16 v = s[{3, 4}]; (void)v;",
    ),
    Case(
        "The address of an array for shared_allocator",
        "extern __shared__ int m[]; shared_allocator al(&m); (void)al;",
        "shared_allocator takes the first word of shared memory: `m` is an array",
        "&m",
        "extern __shared__ int m[]; shared_allocator al(m); (void)al;",
    ),
    Case(
        SHAPES,
        "rt_bf<32, 64, row_l, rt_32x32_s> a; rt_bf<32, 64> b; rt_fl<32, 32, row_l, rt_32x32_s> d; zero(d); "
        "mma_ABt(d, a, b, d);",
        "the base shape of `b` is rt_16x16_s; beside `a`, which is rt_bf<32, 64, row_l, rt_32x32_s>, "
        "it is rt_32x32_s",
        "b, d);",
        "rt_bf<32, 64, row_l, rt_32x32_s> a; rt_bf<32, 64, row_l, rt_32x32_s> b; "
        "rt_fl<32, 32, row_l, rt_32x32_s> d; zero(d); mma_ABt(d, a, b, d);",
    ),
    Case(
        SHAPES,
        "rt_bf<16, 96, row_l, rt_16x32_s> a; rt_bf<96, 16, col_l, rt_16x16_s> b; rt_fl<16, 16> d; zero(d); "
        "mma_AB(d, a, b, d);",
        "the base shape of `b` is rt_16x16_s; beside `a`, which is rt_bf<16, 96, row_l, rt_16x32_s>, "
        "it is rt_32x16_s",
        "b, d);",
        "rt_bf<16, 96, row_l, rt_16x32_s> a; rt_bf<96, 16, col_l, rt_32x16_s> b; rt_fl<16, 16> d; zero(d); "
        "mma_AB(d, a, b, d);",
    ),
    Case(
        SHAPES,
        "rt_bf<64, 32, row_l, rt_32x32_s> a; rt_bf<64, 32, row_l, rt_32x32_s> b; rt_fl<64, 64> d; zero(d); "
        "mma_ABt(d, a, b, d);",
        "the base shape of `d` is rt_16x16_s; beside `a`, which is rt_bf<64, 32, row_l, rt_32x32_s>, "
        "it is rt_32x32_s",
        "d, a, b, d);",
        "rt_bf<64, 32, row_l, rt_32x32_s> a; rt_bf<64, 32, row_l, rt_32x32_s> b; "
        "rt_fl<64, 64, row_l, rt_32x32_s> d; zero(d); mma_ABt(d, a, b, d);",
    ),
    Case(
        "Operands of a map of different types",
        "rt_bf<48, 32> a; rt_fl<48, 32> b; zero(a); zero(b); mul(a, a, b);",
        "`a` is rt_bf<48, 32>, `b` is rt_fl<48, 32>; copy(to, from) converts",
        "mul(a, a, b)",
    ),
    Case(
        "Operands of a map of different types",
        "rt_fl<48, 32> a; rt_fl<48, 32>::col_vec v; zero(a); zero(v); mul(a, a, v);",
        "`v` is rt_fl<48, 32>::col_vec; mul_row and mul_col take a vector",
        "mul(a, a, v)",
    ),
    Case(
        NO_FUNCTION,
        "rt_bf<32, 32> a; rt_fl<32, 32> d; zero(a); zero(d); mul(d, a, d);",
        "mul(dst, lhs, rhs): dst and lhs have the same type; `d` is rt_fl<32, 32>, `a` is rt_bf<32, 32>; "
        "copy(to, from) converts",
        "a, d);",
    ),
    Case(
        NO_FUNCTION,
        "rt_fl<32, 32> a; float total; zero(a); row_sum(total, a);",
        "row_sum(row_values, src): `total` is float; row_values is a register vector, rt_fl<32, 32>::col_vec",
        "total, a)",
        "rt_fl<32, 32> a; rt_fl<32, 32>::col_vec total; zero(a); row_sum(total, a);",
    ),
    Case(
        NO_FUNCTION,
        "rt_fl<32, 32> a; zero(a); float total = row_sum(a); (void)total;",
        "row_sum(row_values, src) takes 2 arguments; 1 is given. It gives nothing: what it writes "
        "is `row_values`",
        "row_sum(a)",
    ),
    Case(
        NO_FUNCTION,
        "rt_fl<32, 48> a; zero(a); rt_fl<32, 48>::row_vec v; col_max(a, v);",
        "col_max(col_values, src): `a` is rt_fl<32, 48>; col_values is a register vector, "
        "rt_fl<32, 48>::row_vec",
        "a, v)",
        "rt_fl<32, 48> a; zero(a); rt_fl<32, 48>::row_vec v; col_max(v, a);",
    ),
    Case(
        NO_FUNCTION,
        "rt_fl<32, 32> a; zero(a); add_row(a, a, 2.0f);",
        "add_row(dst, src, row_values): `2.0f` is float; row_values is a register vector, "
        "rt_fl<32, 32>::col_vec; add takes one value",
        "2.0f",
        "rt_fl<32, 32> a; zero(a); add(a, a, 2.0f);",
    ),
    Case(
        NO_FUNCTION,
        "rt_bf<32, 32> a, b; rt_fl<32, 32> d; zero(a); zero(b); zero(d); mma_ABt(d, a, b);",
        "mma_ABt(d, a, b, c) takes 4 arguments; 3 are given",
        "mma_ABt",
    ),
    Case(
        NO_FUNCTION,
        "rt_bf<32, 32> a; rt_fl<32, 32> d; zero(a); zero(d); mma_ABt(d, a, x, d);",
        "`x` is gl<bf16, -1, -1, -1, -1>; b is a register tile; load brings a part into registers",
        "x, d)",
    ),
    Case(
        NO_FUNCTION,
        "rt_bf<32, 32> a; load(a, {0, 0, 0, 0}); zero(a);",
        "load(dst, src, idx) takes 3 arguments; 2 are given",
        "load(a",
    ),
    Case(
        NO_FUNCTION,
        "rt_fl<32, 64> a; rt_fl<32, 32> d; zero(a); exp(d, a);",
        "exp(dst, src): dst and src have the same type; `d` is rt_fl<32, 32>, `a` is rt_fl<32, 64>",
        "a);",
    ),
    Case(
        "An index into a register tile",
        "rt_fl<32, 32> a; zero(a); a[0] = 1;",
        "have no index: map(dst, src, [](float value, int row, int column) { ... }) "
        "goes through rt_fl<32, 32>",
        "[0]",
    ),
)
FIRST_LINE = HEAD.count("\n") + 1


def line_of(number: int, body: str) -> str:
    tensors = "gl<bf16, -1, -1, -1, -1> x, gl<float, -1, -1, -1, -1> y"
    return f"__global__ void f{number}({tensors}) {{ (void)x; (void)y; {body} }}"


def failure(source: str, *flags: str) -> tuple[Diagnostic, ...]:
    with pytest.raises(CompileError) as caught:
        wb.compile(source, arch=ARCH, name="cell.hip", flags=flags)
    return tuple(found for found in caught.value.diagnostics if found.severity == "error")


def mend(source: str, fixits: Sequence[FixIt]) -> str:
    """The source with all changes, the last first."""
    lines = source.split("\n")
    for fix in sorted(fixits, key=lambda each: (each.line, each.column), reverse=True):
        assert fix.line == fix.end_line
        old = lines[fix.line - 1]
        lines[fix.line - 1] = old[: fix.column - 1] + fix.text + old[fix.end_column - 1 :]
    return "\n".join(lines)


@cache
def reported() -> dict[int, list[Diagnostic]]:
    """Errors of the batch by case."""
    lines = [line_of(number, case.body) for number, case in enumerate(CASES)]
    by_case: dict[int, list[Diagnostic]] = {number: [] for number in range(len(CASES))}
    for error in failure(HEAD + "\n".join(lines), "-ferror-limit=0"):
        by_case[error.cell_line - FIRST_LINE].append(error)
    return by_case


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.mistake for case in CASES])
def test_mistake_has_one_finding_with_sentence_place_and_fix(number: int) -> None:
    case = CASES[number]
    diagnostics = reported()[number]
    assert len(diagnostics) == 1, [each.message for each in diagnostics]
    (error,) = diagnostics
    assert error.mistake == case.mistake
    assert case.says in error.message
    assert "\n" not in error.message
    sentence, _, page = error.message.partition(" (docs/")
    assert len(sentence) < 240
    assert bool(page) == any(mistake.page for mistake in REFUSED if mistake.name == case.mistake)
    assert error.file is None, "it is the cell's"
    line = line_of(number, case.body)
    assert line[error.column - 1 :].startswith(case.at), line[error.column - 1 :]
    source = HEAD + "\n" * number + line
    expected = line_of(number, case.mended) if case.mended else line
    assert mend(source, error.fixits).split("\n")[-1] == expected
    assert "../" not in error.text
    assert error.printed, "what the compiler printed is kept"


def test_errors_about_matrix_instructions_name_the_page_with_the_table() -> None:
    pages = {mistake.name: mistake.page for mistake in REFUSED if "mma:" in mistake.says.pattern}
    # The registers that an assembly tile may share do not depend on shapes.
    assert {name for name, page in pages.items() if not page} == {"Ranges of registers that overlap"}
    for page in filter(None, pages.values()):
        path, _, section = page.partition("#")
        text = (Path(__file__).parents[2] / path).read_text()
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert section in [heading.lower().replace(" ", "-") for heading in headings]


UNKNOWN = """#include <hip/hip_runtime.h>
__global__ void f(float *x) {
  { unknown_t a = 1; float scale = 2; }
  x[0] = scale;
  for (unknown_t c = 0; c < 2; c++) { x[1] = c; }
  x[2] = c;
  float4<3> w = {1};
  x[4] = w.x;
}
__global__ void g(unknown_t p, float *x) { x[0] = p; x[1] = q; }
__global__ void h(float *x) { x[0] = p; }
"""
"""Undeclared names, one of which follows from an error in its declaration: that of `w`."""


def test_an_undeclared_name_is_an_error_unless_its_declaration_is_wrong() -> None:
    errors = failure(UNKNOWN)
    undeclared = [
        (error.line, match[1])
        for error in errors
        if (match := re.match(r"use of undeclared identifier '(\w+)'", error.message))
    ]
    assert undeclared == [(4, "scale"), (6, "c"), (10, "q"), (11, "p")]
    assert len({(error.line, error.column) for error in errors}) == len(errors), "one finding a place"
    assert {error.line: error.follows for error in errors if error.follows} == {4: 1, 7: 1}


def test_a_name_beside_a_mistake_with_tiles_is_its_own_error() -> None:
    errors = failure(f"{HEAD}__global__ void f(float *x) {{ rt_fl<16, 64, rt_16x16_s> t; x[0] = other; }}")
    assert [error.message[:28] for error in errors] == [
        "the third argument of rt_fl ",
        "use of undeclared identifier",
    ]


def test_what_the_fixes_make_compiles() -> None:
    lines = [line_of(number, case.mended) for number, case in enumerate(CASES) if case.mended]
    assert len(lines) > 15
    wb.compile(HEAD + "\n".join(lines), arch=ARCH, name="cell.hip")


@pytest.mark.parametrize(
    "head",
    ["using namespace kittens;\n", ""],
    ids=["using", "qualified"],
)
def test_missing_include_is_one_finding(head: str) -> None:
    scope = "" if head else "kittens::"
    source = (
        f"{head}__global__ void f({scope}gl<{scope}bf16, -1, -1, -1, -1> x) {{\n"
        f"  {scope}rt_bf<16, 32> a;\n  {scope}st_bf<32, 32> s;\n  {scope}load(a, x, {{0, 0, 0, 0}});\n"
        f"  {scope}mul(a, a, 2.0f);\n  {scope}store(x, a, {{0, 0, 0, 0}});\n}}\n"
    )
    (error,) = failure(source)
    assert error.mistake == "The header is missing"
    assert error.message == 'the tile library is not included: `#include "kittens.cuh"` is missing'
    assert error.follows > 1
    assert f"({error.follows} findings that may follow from this left out)" in error.text
    wb.compile(mend(source, error.fixits), arch=ARCH, name="cell.hip")


def test_missing_runtime_header_is_one_finding() -> None:
    source = (
        "__global__ void f(float *x) {\n  x[threadIdx.x] = float4{1, 2, 3, 4}.x;\n  __syncthreads();\n}\n"
    )
    (error,) = failure(source)
    assert error.mistake == "HIP's header is missing"
    assert error.line == 2
    wb.compile(mend(source, error.fixits), arch=ARCH, name="cell.hip")


def test_missing_namespace_is_one_finding() -> None:
    source = (
        '#include "kittens.cuh"\n__global__ void f(gl<bf16, -1, -1, -1, -1> x) { rt_bf<16, 32> a; zero(a); }'
    )
    (error,) = failure(source)
    assert error.mistake == "The namespace is missing"
    wb.compile(mend(source, error.fixits), arch=ARCH, name="cell.hip")


def test_findings_of_one_instance_stand_at_the_line_that_asked_for_it() -> None:
    """Clang prints the origin of a template with the first finding of an instance only."""
    source = HEAD + (
        "__device__ void clean(rt_bf<32, 32> &a, rt_fl<32, 32> &b) {\n  swap_layout(a, b);\n}\n"
        "__device__ void multiply(rt_fl<32, 32> &d, rt_bf<32, 32, col_l> &a, rt_bf<32, 32, col_l> &b) {\n"
        "  mma_ABt(d, a, b, d);\n}"
    )
    errors = failure(source)
    assert [(error.line, error.message.partition(": ")[2][:2]) for error in errors] == [
        (4, "th"),
        (7, "a "),
        (7, "b "),
    ]
    assert errors[0].message.startswith(
        "swap_layout: the tiles have the same element type: `a` is rt_bf<32, 32>"
    )
    assert "`b` is in col_l; expected row_l" in errors[2].message


def test_argument_of_a_template_in_a_template() -> None:
    source = HEAD + (
        "template <int COLS, typename shape> __global__ void k(gl<float, -1, -1, -1, -1> y) {\n"
        "  rt_fl<1, COLS, shape> t; zero(t); store(y, t, {0, 0, 0, 0});\n}\n"
        "template __global__ void k<64, rt_16x16_s>(gl<float, -1, -1, -1, -1>);"
    )
    (error,) = failure(source)
    assert error.message == "the third argument of rt_fl is the layout (row_l or col_l); `shape` is a shape"
    assert (error.line, error.column) == (4, 18)
    assert [(note.line, note.message) for note in error.notes] == [(6, "asked for here")]
    assert "row_l, shape" in mend(source, error.fixits)


def test_too_much_shared_memory() -> None:
    (error,) = failure(
        "__global__ void k(float *x, int i) {\n  __shared__ float s[50000]; s[i] = i; x[0] = s[i ^ 1];\n}"
    )
    assert error.mistake == "Too much shared memory"
    assert error.message.startswith(
        "k asks for 200,000 bytes of shared memory (195 KiB), a work-group of this target has 163,840 (160 "
    )
    assert error.line == 1


def test_template_without_an_end_folds() -> None:
    source = (
        "template <int N> struct F { static constexpr int v = F<N - 1>::v + 1; };\n"
        "__global__ void k(int *p) { *p = F<3>::v; }"
    )
    (error,) = failure(source)
    assert error.mistake == "A template that instantiates itself endlessly"
    assert "F<3> asks for F<2> asks for F<1>, and so on" in error.message
    assert len(error.text.splitlines()) < 8
    assert [(note.line, note.message) for note in error.notes] == [(2, "asked for here")]


def test_candidates_fold() -> None:
    """A call that fits no function has a few notes, and all of them on demand."""
    overloads = "\n".join(f"__device__ void g({', '.join(['int *'] * count)});" for count in range(2, 22))
    source = f"{overloads}\n__device__ void f(int *p) {{ g(p); }}"
    (error,) = failure(source)
    assert len(error.notes) <= 5
    assert re.fullmatch(r"\d+ more notes left out", error.notes[-1].message)
    assert len(error.printed.splitlines()) > 2 * len(error.text.splitlines())


SILENT_CASES = (
    (
        "A shared tile read in the order of memory",
        "__shared__ st_bf<32, 64> s; int r = threadIdx.x, c = 3; bf16 v = s.data[r * 64 + c]; (void)v;",
        "s.data[r * 64 + c]",
        "__shared__ st_bf<32, 64> s; int r = threadIdx.x, c = 3; bf16 v = s[{r, c}]; (void)v;",
    ),
    (
        "A coordinate that counts elements",
        "int block = blockIdx.x; rt_bf<32, 64> a; load(a, x, {0, 0, block * 32, 0}); store(x, a, {0});",
        "block * 32",
        "int block = blockIdx.x; rt_bf<32, 64> a; load(a, x, {0, 0, block, 0}); store(x, a, {0});",
    ),
    (
        "A coordinate that counts elements",
        "rt_bf<32, 64> a; for (int k = 0; k < 256; k += 64) load(a, x, {0, 0, 0, k});",
        "k});",
        "rt_bf<32, 64> a; for (int k = 0; k < 256; k += 64) load(a, x, {0, 0, 0, k / 64});",
    ),
)


@pytest.mark.parametrize(("mistake", "body", "at", "mended"), SILENT_CASES)
def test_mistake_that_compiles_is_a_warning(mistake: str, body: str, at: str, mended: str) -> None:
    line = line_of(0, body)
    (warning,) = unsaid(Cell(line), "cell.hip")
    assert (warning.severity, warning.mistake) == ("warning", mistake)
    assert line[warning.column - 1 :].startswith(at)
    assert mend(line, warning.fixits) == line_of(0, mended)
    assert not unsaid(Cell(line_of(0, mended)), "cell.hip")


def test_warnings_of_what_compiles_come_with_the_result() -> None:
    source = HEAD + line_of(0, SILENT_CASES[1][1])
    for _ in range(2):  # the second result is the cache's
        result = wb.compile(source, arch=ARCH, name="cell.hip").result
        assert result is not None
        assert [found.mistake for found in result.diagnostics] == [SILENT_CASES[1][0]]


@pytest.mark.parametrize(
    "body",
    [
        "__shared__ st_bf<32, 64> s; for (int i = threadIdx.x; i < 2048; i += 64) s.data[i] = x[{0}];",
        "__shared__ float m[32 * 64]; int r = 1, c = 2; m[r * 64 + c] = 1;",
        "rt_bf<32, 64> a; load(a, x, coord<>{0, 0, blockIdx.x * 32, 0});",
        "rt_bf<32, 64> a; load(a, x, {0, 0, blockIdx.x * 4 + threadIdx.y, 0});",
        "rt_bf<32, 64> a; for (int k = 0; k < 8; k += 2) load(a, x, {0, 0, 0, k}); // {0, 0, k * 32, 0}",
    ],
)
def test_right_code_has_no_warning(body: str) -> None:
    assert not unsaid(Cell(line_of(0, body)), "cell.hip")


def test_the_house_s_kernels_have_no_warning() -> None:
    files = list(include_dir().parent.rglob("*.cuh"))
    assert len(files) > 50
    assert not [found.text for path in files for found in unsaid(Cell(path.read_text()), path.name)]


def test_every_mistake_is_tested() -> None:
    alone = {
        "The header is missing",
        "HIP's header is missing",
        "The namespace is missing",
        "Too much shared memory",
        "A template that instantiates itself endlessly",
    }
    assert {case.mistake for case in CASES} | alone == {mistake.name for mistake in REFUSED}
    warnings = {mistake.name for mistake in ACCEPTED if mistake.severity == "warning"}
    assert {case[0] for case in SILENT_CASES} == warnings  # notes: tests/toolchain/test_warps.py


def test_sentences_of_checks_are_those_of_the_headers() -> None:
    """A record that is recognised by the text of a check has one in the headers."""
    text = "\n".join(path.read_text() for path in include_dir().rglob("*.cuh"))
    text = re.sub(r'"\s*\\?\s*"', "", text)  # sentences from several literals
    clang = {
        "The header is missing",
        "HIP's header is missing",
        "The namespace is missing",
        "Ranges of registers without their namespace",
        ARGUMENT,
        "A call with arguments in the wrong order",
        NO_FUNCTION,
        "An index of a coordinate that is not an int",
        "An operator between tiles",
        "A float beside a bf16",
        "Two indices for a shared tile",
        "An index into a register tile",
        "Too much shared memory",
        "The address of an array for shared_allocator",
        "A template that instantiates itself endlessly",
    }
    for mistake in REFUSED:
        if mistake.name not in clang:
            assert mistake.says.search(text), mistake.name


def test_the_table_lists_every_mistake() -> None:
    page = (Path(__file__).parents[2] / "docs/mistakes.md").read_text()
    rows = re.findall(r"^\| ([^|`]+?) \|", page, re.MULTILINE)
    names = [mistake.name for mistake in (*REFUSED, *ACCEPTED, *CUDA)]
    assert [row for row in rows if row != "Mistake"] == names


CUDA_CASES = (
    Case(
        "A header of CUDA's", "#include <cuda_runtime.h>", "HIP's is `#include <hip/hip_runtime.h>`", "cuda_r"
    ),
    Case("A header of CUDA's", '#include "cuda_bf16.h"', "HIP's is `#include <hip/hip_bf16.h>`", "cuda_b"),
    Case("A header of CUDA's", "#include <mma.h>", "use the tile library's mma_AB", "mma.h"),
    Case("A name of CUDA's", "__device__ __nv_bfloat16 v;", "HIP's is `__hip_bfloat16`", "__nv_bfloat16"),
    Case("A name of CUDA's", "__device__ nv_bfloat162 v;", "HIP's is `__hip_bfloat162`", "nv_bfloat162"),
    Case("A name of CUDA's", "void f(int *p) { cudaFree(p); }", "HIP's is `hipFree`", "cudaFree"),
    Case("A name of CUDA's", "auto f() { return cudaSuccess; }", "HIP's is `hipSuccess`", "cudaSuccess"),
    Case("A name of CUDA's", "cudaStream_t f();", "HIP's is `hipStream_t`", "cudaStream_t"),
    Case(
        "A name of CUDA's", "using namespace nvcuda;", "nvcuda::wmma drives NVIDIA's tensor cores", "nvcuda"
    ),
    Case("A name of CUDA's", "cuda::barrier<int> *b;", "libcu++ has no counterpart here", "cuda::"),
    Case(
        "Assembly of NVIDIA's (PTX)",
        '__global__ void k(float *o) { asm("mul.f32 %0, %1, %1;" : "=f"(o[0]) : "f"(o[1])); }',
        "inline PTX is NVIDIA's instruction set",
        "asm(",
    ),
    Case(
        "Assembly of NVIDIA's (PTX)",
        '__global__ void k() { asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "v"(1), "v"(2)); }',
        "cp.async copies to shared memory on NVIDIA GPUs",
        "asm volatile",
    ),
)


@pytest.mark.parametrize("case", CUDA_CASES, ids=lambda case: case.body[:30])
def test_cuda_is_said_with_hip_s_names(case: Case) -> None:
    (error, *_) = failure(case.body)
    assert error.mistake == case.mistake
    assert case.says in error.message
    assert case.body[error.column - 1 :].startswith(case.at)
    if "HIP's is" in case.says:
        assert case.says.split("`")[1].removeprefix("#include <").rstrip(">") in mend(case.body, error.fixits)


@pytest.mark.parametrize(
    ("type_", "reported"),
    [
        ("unsigned int", "`0xffffffff` is of type unsigned int and has 32: all lanes"),
        ("int", "`0xffffffff` is of type int and has 32: all lanes"),
        ("unsigned char", "is of type unsigned char and has 8: all"),
        ("signed char", "is of type signed char and has 8: all"),
        ("short", "is of type short and has 16: all"),
        ("bool", "is of type bool and has 8: all"),
        ("unsigned __int128", "and has 128: all"),
        ("mask_t", "is of type mask_t: all"),
    ],
)
def test_a_mask_of_32_lanes_is_one_of_64(type_: str, reported: str) -> None:
    """The headers make this check, as in ROCm 7."""
    source = "__device__ int f(int v) { return __shfl_xor_sync(0xffffffff, v, 1); }"
    why = "The mask must be a 64-bit integer."
    message = f"static assertion failed due to requirement 'sizeof({type_}) == 8': {why}"
    column = source.index("__shfl") + 1
    diagnostic = Diagnostic(
        9, 5, "error", message, "hip/device/sync.h", cell_line=1, cell_column=column, text=message
    )
    (error,) = explained([diagnostic], Cell(source), "cell.hip", lambda file: False)
    assert error.mistake == "A mask for warps of 32 lanes"
    assert reported in error.message
    assert mend(source, error.fixits) == source.replace("0xffffffff", "0xffffffffffffffffull")


def test_assembly_of_amd_s_is_not_nvidia_s() -> None:
    (error,) = failure('__global__ void k() { asm volatile("v_foo_b32 v0, v1"); }')
    assert not error.mistake


def test_every_mistake_with_cuda_is_tested() -> None:
    alone = {"A mask for warps of 32 lanes"}
    assert {case.mistake for case in CUDA_CASES} | alone == {mistake.name for mistake in CUDA}
