"""Completion inside C++ cells by the kernel."""

from __future__ import annotations

import pytest

from workbench.lab import completer


def test_completion_in_cells_only() -> None:
    cell = "%%hipkittens k --pro\nint rows_here = 1;\nrow"
    start, candidates = completer.candidates(cell, 2, "row") or ("", [])
    assert start == "row"
    assert ("rows_here", "text") in candidates
    assert any(name == "row_sum" for name, _ in candidates)
    assert completer.candidates(cell, 0, "%%hipkittens k --pro") == (
        "--pro",
        [("--profile", "flag"), ("--program", "flag")],
    )
    assert completer.candidates("x = 1\nrow", 1, "row") is None
    assert completer.candidates("%%hipkittens_other\nrow", 1, "row") is None


def test_matcher_takes_the_place_of_python_s_in_a_shell() -> None:
    ipython = pytest.importorskip("IPython.core.interactiveshell")
    shell = ipython.InteractiveShell()
    completer.install(shell)
    completer.install(shell)
    assert len(shell.Completer.custom_matchers) == 2
    text = "%%hipkittens k\nrow_su"
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        texts = [completion.text for completion in shell.Completer.completions(text, len(text))]
    assert texts == ["row_sum"]
    completer.remove(shell)
    assert not shell.Completer.custom_matchers


def test_headers_of_the_tile_library_come_first() -> None:
    cell = '%%hipkittens k\n#include "'
    start, candidates = completer.candidates(cell, 1, '#include "') or ("", [])
    names = [name for name, _ in candidates]
    assert start == ""
    assert names[0] == "kittens.cuh"
    assert names.index("types/register/rt.cuh") < names.index("hip/hip_runtime.h")
    start, candidates = completer.candidates(cell, 1, "  #include <hip/hip_b") or ("", [])
    assert start == "hip/hip_b"
    assert [name for name, _ in candidates] == ["hip/hip_bf16.h", "hip/hip_bfloat16.h"]


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
