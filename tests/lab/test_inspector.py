"""Shift+Tab in C++ cells."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.lab import clangd, inspector

needs_clangd = pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")

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


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inspector, "PATIENCE", 120.0)
        yield
    clangd.stop()


def at(text: str, into: int = 0) -> str:
    answer = inspector.inspect(CELL, CELL.index(text) + into)
    assert answer is not None
    return answer


@needs_clangd
def test_a_function_is_shown_as_its_header_declares_it() -> None:
    answer = at("mma_ABt(d", 2)
    assert answer.splitlines()[0].endswith("void mma_ABt(D &d, const A &a, const B &b, const C &c)")
    assert answer.endswith("ops/warp/register/tile/mma.cuh")
    # The overload that this call means.
    load = at("load(a").splitlines()[0]
    assert "ducks::rt::all RT" in load
    assert "ducks::gl::all GL" in load


@needs_clangd
def test_between_the_brackets_are_the_signatures() -> None:
    assert at("{0, 0, 0, 0}", 1).splitlines()[0].startswith("load(RT &dst, const GL &src, const COORD &idx)")


@needs_clangd
@pytest.mark.parametrize(
    ("call", "fits", "active"),
    [
        ("load(a, ", "load(RT &dst, const ", 1),
        ("load(a, s", "load(RT &dst, const ST &src)", 1),
        ("load(copied, s", "load(RT &dst, const ST &src)", 1),
        ("load(s, x, {0, 1", "load(ST &dst, const GL &src, const COORD &idx)", 2),
        ("store(x, a, ", "store(const GL &dst, const RT &src, const COORD &idx)", 2),
        ("mul(v, v, ", "mul(RV &dst, const RV &lhs, const U &rhs)", 2),
    ],
)
def test_the_overload_that_fits_is_the_first(call: str, fits: str, active: int) -> None:
    text = CELL.replace("load(a, x, {0, 0, 0, 0});", f"st_bf<32, 64> s; auto copied = a; {call}")
    line = next(n for n, row in enumerate(text.split("\n")) if call in row)
    column = text.split("\n")[line].index(call) + len(call)
    signatures, argument = inspector.signatures(text, line, column, 120)
    assert signatures[0].label.startswith(fits)
    assert argument == active
    assert signatures[0].doc


@needs_clangd
def test_a_variable_has_its_type_and_its_tile() -> None:
    assert "32 x 64 of bf16, row layout, base shape 16 x 16" in at("a, x").splitlines()
    assert "32 x 32 of float, col layout, base shape 32 x 32" in at("d, a, a").splitlines()
    assert any(line.startswith("64 values of float") for line in at("v;").splitlines())
    assert at("x, {").splitlines()[0].startswith("gl<bf16, -1, -1, -1, -1> x")
    assert inspector.described("int") == ""


@needs_clangd
def test_what_is_half_written_is_no_error() -> None:
    for cut in range(0, len(CELL), 37):
        assert inspector.inspect(CELL[:cut], cut) is not None or not CELL[:cut].startswith("%%hipkittens")


def test_python_keeps_its_own() -> None:
    assert inspector.inspect("load(a)", 2) is None


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_CLANGD", "/no/such/clangd")
    assert at("mma_ABt(d", 2) == (
        "HIPKITTENS_CLANGD is '/no/such/clangd', which is not a program; expected the path of a clangd"
    )


@needs_clangd
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
