"""Formatting a cell's C++ with an installed clang-format, in the folder's style if there is one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from workbench.errors import UsageError
from workbench.lab import formatting

CELL = "%%hipkittens k --arch gfx942\n__global__ void k( float*p ){p[0]=1 ;\n}"

needs_program = pytest.mark.skipif(formatting.program() is None, reason="clang-format is not installed")


@needs_program
def test_the_magic_stays_and_the_rest_is_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = formatting.formatted(CELL)["text"]
    assert text == "%%hipkittens k --arch gfx942\n__global__ void k(float *p) { p[0] = 1; }"
    assert formatting.formatted(text)["text"] == text


@needs_program
def test_the_folders_style(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".clang-format").write_text("{BasedOnStyle: LLVM, PointerAlignment: Left}\n")
    assert "float* p" in formatting.formatted(CELL)["text"]
    (tmp_path / ".clang-format").write_text("BasedOnStyle: none of these\n")
    with pytest.raises(UsageError, match="clang-format"):
        formatting.formatted(CELL)


def test_without_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "clang_format", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="pip install clang-format"):
        formatting.formatted(CELL)
