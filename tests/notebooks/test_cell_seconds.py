"""The seconds at the heads of cells: written for slow cells, removed from others."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

FOLDER = Path(__file__).parents[2] / "notebooks"


@pytest.fixture(autouse=True)
def _import_from_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))


def code(source: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_code_cell(source)


def head(source: str, first: float, again: float = 0.1) -> str:
    from cell_seconds import head as written  # type: ignore[import-not-found]

    return str(written(source, first, again))


def test_a_long_cell_has_its_seconds_below_its_magic() -> None:
    assert head("x = 1\n", 5.3) == "# takes about 5 s\nx = 1\n"
    assert head("%%hipkittens k\nint x;\n", 17.0) == "%%hipkittens k\n// takes about 15 s\nint x;\n"
    assert head("x = 1\n", 30.0, 9.0) == "# takes about 30 s, the second time 8 s\nx = 1\n"
    assert head("x = 1\n", 8.4, 8.2) == "# takes about 8 s\nx = 1\n"


def test_a_head_is_written_anew_and_keeps_its_reason() -> None:
    source = "%%hipkittens k\n// takes about 5 s: the library is compiled for the first time\nint x;\n"
    assert head(source, 10.0) == source.replace("5 s", "10 s")
    assert head(source, 1.0) == "%%hipkittens k\nint x;\n"
    assert head(head("x = 1\n", 30.0, 9.0), 1.0) == "x = 1\n"


def test_a_notebook_gets_its_heads_and_minutes(tmp_path: Path) -> None:
    from cell_seconds import write

    cells = [
        nbformat.v4.new_markdown_cell("# 1\n\n**Read 20 min, run 2 min.**"),
        *map(code, ("x = 1", "y = 2")),
    ]
    path = tmp_path / "one.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    write(path, {1: 61.0, 2: 70.0}, {1: 1.0, 2: 70.0})
    written = [cell.source for cell in nbformat.read(path, as_version=4).cells]
    assert "Read 20 min, run 3 min" in written[0]
    assert written[1:] == ["# takes about 60 s\nx = 1", "# takes about 60 s\ny = 2"]
