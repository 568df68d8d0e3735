"""Payloads of cells without a result; tests/test_magics.py has those of cells with one."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from workbench.errors import AddressFault
from workbench.lab import payload
from workbench.lab.cell import failure_bundle
from workbench.toolchain import Diagnostic
from workbench.views.cell import CellFailure

SCHEMA = json.loads((Path(payload.__file__).parent / "payload.schema.json").read_text())


def test_another_compilers_message_is_passed_on_verbatim() -> None:
    diagnostics = (
        Diagnostic(7, 3, "error", "in this call", notes=(Diagnostic(0, 0, "note", "<and here>"),)),
        Diagnostic(2, 1, "error", "no `lood`\nin tl"),
        Diagnostic(1, 0, "warning", "slow"),
    )
    bundle = failure_bundle(CellFailure.of_compiler("a<b", "no `lood`", diagnostics), "text")
    cell = bundle[payload.MIME_TYPE]
    importlib.import_module("jsonschema").validate(cell, SCHEMA)
    marks = [
        (mark["line"], mark["column"], mark["severity"], mark["message"]) for mark in cell["diagnostics"]
    ]
    assert marks == [
        (diagnostic.line, diagnostic.column, diagnostic.severity, diagnostic.message)
        for diagnostic in diagnostics
    ]
    assert cell["diagnostics"][0]["notes"] == ["<and here>"]
    assert (cell["run"]["kind"], cell["run"]["error"]) == ("compile", "no `lood`")
    assert bundle["text/plain"] == "a<b: does not compile, 2 errors"
    assert "a&lt;b: does not compile" in bundle["text/html"]


@pytest.mark.parametrize(("file", "line"), [("cell.py", 8), ("another.py", 0)])
def test_a_fault_is_marked_at_the_line_of_the_cells_own_file(file: str, line: int) -> None:
    fault = AddressFault(
        "lane 3 read\nbeyond x", kernel="add", address=64, source=("/tmp/cell.py", 8, 5), lane=3, wave=0
    )
    cell = failure_bundle(CellFailure.of_fault("sums", fault, file), "text")[payload.MIME_TYPE]
    (mark,) = cell["diagnostics"]
    assert (mark["line"], mark["source"], mark["option"]) == (line, "device", "out of bounds")
    assert mark["message"].startswith("lane 3 read")
    assert ("at /tmp/cell.py:8" in mark["message"]) == (line == 0)
    assert mark["notes"] == ["wave 0, lane 3"]
    assert (cell["status"], cell["run"]["kind"], cell["run"]["error"]) == ("failed", "run", "lane 3 read")
