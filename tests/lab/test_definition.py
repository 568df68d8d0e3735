"""Definitions of names in a cell: in the cell, in the tile library's headers, in HIP's."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.lab import clangd
from workbench.lab.definition import definition
from workbench.paths import include_dir

needs_clangd = pytest.mark.skipif(clangd.find() is None, reason="there is no clangd")

CELL = """\
%%hipkittens k
#include "kittens.cuh"
using namespace kittens;
#define N 4
struct pair { float a, b; };
template <int M> __device__ float twice(float 𝒙) { return 𝒙 + 𝒙 * M; }
__global__ void k(float *p) {
    rt_fl<32, 32> tile; /* twice */ zero(tile); pair q; p[N] = twice<2>(q.a);
    p[threadIdx.x] = 1;
}"""
LINES = CELL.split("\n")


def ask(line: str, word: str) -> dict[str, object]:
    row = next(n for n, text in enumerate(LINES) if line in text)
    before = LINES[row][: LINES[row].rindex(word)]
    return definition(CELL, row, len(before.encode("utf-16-le")) // 2)


@pytest.fixture(scope="module", autouse=True)
def _ended() -> Iterator[None]:
    yield
    clangd.stop()


@needs_clangd
@pytest.mark.parametrize(
    ("line", "word", "there"),
    [
        ("zero(tile)", "tile)", "tile; /*"),
        ("zero(tile)", "twice<2>", "twice(float"),
        ("zero(tile)", "pair q", "pair {"),
        ("zero(tile)", "N]", "N 4"),
        ("zero(tile)", "p[N]", "p) {"),
    ],
)
def test_in_the_cell(line: str, word: str, there: str) -> None:
    definition = ask(line, word)
    assert "file" not in definition
    row, column = int(str(definition["line"])), int(str(definition["column"]))
    assert LINES[row - 1][column - 1 :].startswith(there)


@needs_clangd
def test_in_the_tile_library() -> None:
    definition = ask("zero(tile)", "zero(")
    header = include_dir() / str(definition["file"])
    assert definition["text"] == header.read_text()
    # The declaration of the overload for register tiles.
    assert "ducks::rt::all" in "".join(
        header.read_text().splitlines()[int(str(definition["line"])) - 3 :][:4]
    )


@needs_clangd
def test_in_hips_headers() -> None:
    definition = ask("threadIdx", "threadIdx")
    assert "threadIdx" in str(definition["text"]).splitlines()[int(str(definition["line"])) - 1]


def test_an_included_header_is_shown() -> None:
    assert definition(CELL, 1, 4)["file"] == "kittens.cuh"
    # No name leads to a file other than our headers.
    outside = CELL.replace("kittens.cuh", f"../{Path(include_dir()).name}/../../pyproject.toml")
    assert definition(outside, 1, 4) == {}


@needs_clangd
def test_what_is_not_known() -> None:
    assert definition(CELL, 0, 5) == {}
    assert definition(CELL, 99, 0) == {}
    assert definition(CELL.replace("zero(tile)", "nosuch(tile)"), 7, 39) == {}
    assert definition("tile = 3\ntile", 1, 1) == {}


def test_a_clangd_that_is_not_ready_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "clangd"
    program.write_text(f"#!{sys.executable}\nimport sys\nsys.stdin.read()\n")
    program.chmod(0o755)
    monkeypatch.setenv("HIPKITTENS_CLANGD", str(program))
    monkeypatch.setattr("workbench.lab.definition.TIMEOUT", 0.2)
    with pytest.raises(WorkbenchError, match="still reads the headers"):
        ask("zero(tile)", "tile)")
