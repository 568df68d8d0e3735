"""Completion inside C++ cells by the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.lab import clangd, completer

HEAD = """%%hipkittens x --arch gfx942
#include "kittens.cuh"
using namespace kittens;
__global__ void k(float *p) {
    rt_fl<32, 32> tile;
"""

needs_clangd = pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    clangd.stop()


def complete(before: str, after: str = "", head: str = HEAD) -> dict[str, clangd.Candidate]:
    """Candidates at a place of a cell, by name, once clangd has read its headers."""
    text = f"{head}{before}"
    line = text.count("\n")
    column = len(text) - text.rfind("\n") - 1
    start, candidates = completer.complete(f"{text}{after}\n}}\n", line, column, 120)
    assert text.endswith(start)
    return {candidate.name: candidate for candidate in candidates}


def test_options_on_the_magic_s_line() -> None:
    assert list(complete("", head="%%hipkittens k --pro")) == ["--profile", "--program"]
    assert complete("", head="%%hipkittens kernel") == {}


def test_headers_of_the_tile_library_come_first() -> None:
    names = list(complete('#include "', head="%%hipkittens k\n"))
    assert names[0] == "kittens.cuh"
    assert names.index("types/register/rt.cuh") < names.index("hip/hip_runtime.h")
    assert list(complete("  #include <hip/hip_b", head="%%hipkittens k\n")) == [
        "hip/hip_bf16.h",
        "hip/hip_bfloat16.h",
    ]


@needs_clangd
def test_the_library_s_names_have_its_sentences() -> None:
    multiply = complete("    mul")["mul"]
    assert multiply.kind == "function"
    assert multiply.doc.startswith("dst = lhs * rhs, element by element.")
    assert multiply.header.startswith("ops/warp/register/")


@needs_clangd
@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("    tile.base_tile_r", {"base_tile_rows"}),
        ("    threadIdx.", {"x", "y", "z"}),
        # The type of another variable's name is not mixed in.
        ("    struct { float left; } g; struct { int right; } h; h.", {"right"}),
        ("    decltype(tile)::dt", {"dtype"}),
        ("    auto other = tile; other.ro", {"rows"}),
    ],
)
def test_members_are_those_of_the_type(before: str, expected: set[str]) -> None:
    names = set(complete(before))
    assert expected <= names
    assert not {"left", "mul", "__syncthreads"} & names


@needs_clangd
def test_names_of_hip_that_clangd_keeps_back() -> None:
    names = complete("    __shfl_d")
    assert set(names) == {"__shfl_down", "__shfl_down_sync"}
    assert names["__shfl_down"].signature.startswith(("int __shfl_down(", "T __shfl_down(", "__h"))
    assert "__builtin_amdgcn_s_barrier" in complete("    __builtin_amdgcn_s_b")
    assert complete("    __sync")["__syncthreads"].signature == "void __syncthreads()"
    assert complete("    __sha")["__shared__"].kind in ("keyword", "variable")


@needs_clangd
def test_macros_and_folders_of_the_magic_s_line_count(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text("int only_in_mine;\n#ifdef WIDE\nint only_if_wide;\n#endif\n")
    head = f'%%hipkittens x --arch gfx942 -D WIDE=1 -I {tmp_path}\n#include "mine.h"\nvoid f() {{\n'
    assert set(complete("    only_i", head=head)) == {"only_in_mine", "only_if_wide"}


@needs_clangd
def test_matcher_replaces_pythons_in_a_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = pytest.importorskip("IPython.core.interactiveshell")
    monkeypatch.setattr(completer, "PATIENCE", 120.0)
    shell = ipython.InteractiveShell()
    completer.install(shell)
    completer.install(shell)
    assert len(shell.Completer.custom_matchers) == 2
    text = f"{HEAD}    row_su"
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        texts = [completion.text for completion in shell.Completer.completions(text, len(text))]
    assert texts == ["row_sum"]
    completer.remove(shell)
    assert not shell.Completer.custom_matchers


@pytest.mark.parametrize(
    ("before", "start"),
    [
        ('wb.verify("gemm/bf1', "gemm/bf1"),
        ("wb.verify(my_kernel[1, 64], 'activations/soft", "activations/soft"),
        ('x = 1\nwb.profile(\n    "', ""),
        ('wb.time("gemm/bf16", shape={"m": f(2)}, against="act', "act"),
        ('print("gemm/', None),
        ('wb.verify("gemm/bf16") or "gem', None),
    ],
)
def test_names_of_operators(before: str, start: str | None) -> None:
    import workbench as wb

    candidates = completer.operators(before)
    if start is None:
        assert candidates is None
        return
    assert candidates is not None
    assert candidates == (start, [name for name in wb.kernels if name.startswith(start)])
    assert candidates[1]


def test_operators_are_completed_in_a_shell() -> None:
    ipython = pytest.importorskip("IPython.core.interactiveshell")
    from IPython.core.completer import provisionalcompleter

    shell = ipython.InteractiveShell()
    completer.install(shell)
    text = 'wb.verify("activations/softm'
    with provisionalcompleter():
        texts = [completion.text for completion in shell.Completer.completions(text, len(text))]
    assert texts == ["activations/softmax", "activations/softmax_backward"]
    completer.remove(shell)
