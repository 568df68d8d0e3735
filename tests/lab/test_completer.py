"""Completion inside C++ cells by the kernel."""

from __future__ import annotations

import pytest

from workbench.lab import completer


def test_completion_in_cells_only() -> None:
    cell = "%%hipkittens k --pro\nint rows_here = 1;\nrow"
    start, found = completer.candidates(cell, 2, "row") or ("", [])
    assert start == "row"
    assert ("rows_here", "text") in found
    assert any(name == "row_sum" for name, _ in found)
    assert completer.candidates(cell, 0, "%%hipkittens k --pro") == ("--pro", [("--profile", "flag")])
    assert completer.candidates("x = 1\nrow", 1, "row") is None
    assert completer.candidates("%%hipkittens_other\nrow", 1, "row") is None


def test_matcher_takes_the_place_of_python_s_in_a_shell() -> None:
    ipython = pytest.importorskip("IPython.core.interactiveshell")
    shell = ipython.InteractiveShell()
    completer.install(shell)
    completer.install(shell)
    assert len(shell.Completer.custom_matchers) == 1
    text = "%%hipkittens k\nrow_su"
    from IPython.core.completer import provisionalcompleter

    with provisionalcompleter():
        found = [completion.text for completion in shell.Completer.completions(text, len(text))]
    assert found == ["row_sum"]
    completer.remove(shell)
    assert not shell.Completer.custom_matchers
