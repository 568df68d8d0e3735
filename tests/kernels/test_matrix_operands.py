"""The table of matrix instructions' operands matches the compiled `mma_ABt`."""

from __future__ import annotations

import re

import pytest

import workbench as wb
from workbench.tiles import matrix_operands

NAMES = ("rt_16x16_s", "rt_16x32_s", "rt_32x16_s", "rt_16x64_s", "rt_16x128_s")
TYPES = ("float", "bf16", "fp8e4m3", "int8")

KERNEL = """
__global__ void {name}(gl<{element}, 1, 1, {rows}, {cols}> x, gl<{total}, 1, 1, {rows}, {rows}> out) {{
    rt<{element}, {rows}, {cols}, row_l, {shape}> a;
    rt<{total}, {rows}, {rows}, col_l, rt_{rows}x{rows}_s> c;
    load(a, x, {{0, 0, 0, 0}});
    zero(c);
    mma_ABt(c, a, a, c);
    store(out, c, {{0, 0, 0, 0}});
}}
"""


@pytest.mark.parametrize("arch", matrix_operands.TARGETS)
def test_the_compiler_takes_the_instructions_of_the_table(arch: str) -> None:
    source, expected = '#include "kittens.cuh"\nusing namespace kittens;\n', {}
    for shape in (shape for shape in matrix_operands.shapes() if shape.name in NAMES):
        for element in TYPES:
            record = matrix_operands.instruction(element, shape, arch)
            if record is None:
                continue
            name = f"with_{element}_{shape.name}"
            total = "int" if element == "int8" else "float"
            sizes = {"rows": shape.rows, "cols": shape.cols, "shape": shape.name}
            source += KERNEL.format(name=name, element=element, total=total, **sizes)
            count = (
                shape.rows
                * shape.cols
                // matrix_operands.LANES[arch]
                * matrix_operands.BYTES[element]
                // record.width
            )
            expected[name] = [record.mnemonic] * count
    module = wb.compile(source, arch=arch)
    assert {name: re.findall(r"\bv_(?:mf|wm)ma_\w+", module[name].isa) for name in expected} == expected


def test_the_page_is_that_of_the_headers() -> None:
    text = matrix_operands.document()
    assert matrix_operands.PAGE.read_text() == text, "run python -m workbench.tiles.matrix_operands"
    assert "| `bf16` | `rt_16x32_s` | `rt_16x16_s` | 2 x `v_mfma_f32_16x16x16_bf16` |" in text
    types = {"half": "bf16", "fp8e5m2": "fp8e4m3"}
    for shape in matrix_operands.shapes():
        for one, other in types.items():
            a, b = (matrix_operands.instruction(element, shape, "gfx950") for element in (one, other))
            assert (a and a.width) == (b and b.width), "the page has one row for both"
