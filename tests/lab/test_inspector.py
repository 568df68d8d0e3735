"""Shift+Tab in C++ cells."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.lab import inspector

CELL = """%%hipkittens k
#include "kittens.cuh"
using namespace kittens;
__global__ void k(gl<bf16, -1, -1, -1, -1> x) {
    rt_bf<32, 64> a;
    rt_fl<32, 32, col_l, rt_32x32_s> d;
    rv_fl<64> v;
    load(a, x, {0, 0, 0, 0});
    mma_ABt(d, a, a, d);
}
"""


def at(text: str, into: int = 0) -> str:
    answer = inspector.inspect(CELL, CELL.index(text) + into)
    assert answer is not None
    return answer


def test_a_call_has_its_signature_and_the_tiles_in_it() -> None:
    answer = at("mma_ABt(d", 2)
    assert answer.splitlines()[0].endswith("mma_ABt(D &d, const A &a, const B &b, const C &c)")
    assert "rt_bf<32, 64> a: 32 x 64 of bf16, row layout (row_l), base shape rt_16x16_s" in answer
    accumulator = "rt_fl<32, 32, col_l, rt_32x32_s> d"
    assert f"{accumulator}: 32 x 32 of float, column layout (col_l), base shape rt_32x32_s" in answer
    assert "mma.cuh" in answer


def test_between_the_brackets_it_is_the_call_s() -> None:
    inside = at("{0, 0, 0, 0}", 1)
    assert inside == at("load(a", 1)
    # The overload for a register tile and a global layout comes first.
    assert "ducks::rt::all RT" in inside.splitlines()[0]
    assert "ducks::gl::all GL" in inside.splitlines()[0]


def test_a_variable_has_its_type() -> None:
    assert at("a, x") == "rt_bf<32, 64> a: 32 x 64 of bf16, row layout (row_l), base shape rt_16x16_s"
    assert at("x, {").startswith("gl<bf16, -1, -1, -1, -1> x")
    assert inspector.described("rv_fl<64>").startswith("64 values of float")
    assert inspector.described("int") == ""


def test_python_keeps_its_own() -> None:
    assert inspector.inspect("load(a)", 2) is None
    assert inspector.inspect("%%hipkittens k\nint nothing_known = q;", 37) == ""


def test_the_kernel_answers_for_c_cells_alone() -> None:
    asked = []

    def inspect_python(code: str, cursor_pos: int, detail_level: int = 0, **_: Any) -> dict[str, Any]:
        asked.append(code)
        return {"found": True, "data": {"text/plain": "%load: a magic"}}

    shell: Any = SimpleNamespace(kernel=SimpleNamespace(do_inspect=inspect_python))
    inspector.install(shell)
    inspector.install(shell)
    answer = shell.kernel.do_inspect(CELL, CELL.index("load(a"), 0)
    assert answer["found"]
    assert "%load" not in answer["data"]["text/plain"]
    assert not asked
    assert shell.kernel.do_inspect("load", 2, detail_level=1)["data"]["text/plain"] == "%load: a magic"
    inspector.remove(shell)
    assert shell.kernel.do_inspect is inspect_python


def test_a_shell_without_a_kernel_is_left_alone() -> None:
    inspector.install(SimpleNamespace())  # type: ignore[arg-type]
    inspector.remove(SimpleNamespace())  # type: ignore[arg-type]


@pytest.mark.parametrize("cut", range(0, len(CELL), 7))
def test_what_is_half_written_is_no_error(cut: int) -> None:
    inspector.inspect(CELL[:cut], cut)
