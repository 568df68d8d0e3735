"""The payload that Python writes matches the schema of the front end."""

from __future__ import annotations

import importlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.lab import payload as lab

SCHEMA = json.loads((Path(lab.__file__).parent / "payload.schema.json").read_text())


def full_payload() -> lab.CellPayload:
    return lab.CellPayload(
        name="rms",
        status="compiled",
        body="__global__ void k() {}\n",
        device=lab.Device("emulated:gfx950", "MI355X (emulated)", "gfx950", 288 << 30, 4096),
        origin="modelled",
        compile=lab.Compilation(0.25, cached=False, compiler="zig clang 21.1"),
        diagnostics=(
            lab.Finding(2, 3, "warning", "unused variable 'x'", fixits=(lab.Fix((2, 3), (2, 4), ""),)),
        ),
        kernels=(
            lab.Kernel("k", "void k()", lab.Resources(8, 0, 16, 0, 0, 0, 8, "waves"), ("VGPR 7 -> 8",)),
        ),
        run=lab.Run("profile", "2026-01-01T00:00:00+00:00", "k", lab.Time(1.5, "us", "modelled"), True),
        heat=lab.Heat(
            "k",
            [lab.Measure("issue_cycles", "issue cycles", "cycles", "modelled")],
            [lab.HeatLine(2, {"issue_cycles": 12.0}, {"VALU": 3})],
        ),
    )


@pytest.fixture
def jsonschema() -> Any:
    """Here, since its import takes a second, which each worker would spend before the first test."""
    return importlib.import_module("jsonschema")


@pytest.mark.parametrize("payload", [lab.CellPayload("k", "failed"), full_payload()])
def test_payload_follows_the_schema_after_a_json_round_trip(
    payload: lab.CellPayload, jsonschema: Any
) -> None:
    data = payload.to_dict()
    assert json.loads(json.dumps(data)) == data
    jsonschema.validate(data, SCHEMA)


def test_schema_refuses_what_the_front_end_does_not_know(jsonschema: Any) -> None:
    data = full_payload().to_dict()
    data["diagnostics"][0]["severity"] = "hint"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_checksum_ignores_white_space_at_the_end_only() -> None:
    assert lab.checksum("a\n") == lab.checksum("a") == zlib.crc32(b"a")
    assert lab.checksum(" a") != lab.checksum("a")
    assert lab.checksum("ä") == zlib.crc32("ä".encode())


def test_bundle_keeps_html_for_other_front_ends() -> None:
    bundle = lab.bundle(lab.CellPayload("k", "compiled"), "<b>done</b>")
    assert bundle["text/html"] == "<b>done</b>"
    assert bundle["text/plain"] == "k: compiled"
    assert bundle[lab.MIME_TYPE]["name"] == "k"


@dataclass
class Diagnostic:
    line: int
    column: int
    severity: str
    message: str
    file: str | None = None
    notes: tuple[Any, ...] = ()
    fixits: tuple[Any, ...] = ()
    option: str = ""
    cell_line: int = 0
    cell_column: int = 0


def test_findings_put_header_errors_on_the_line_that_leads_there() -> None:
    inside = Diagnostic(40, 9, "error", "no member", file="kittens.cuh", cell_line=7, cell_column=3)
    in_cell = Diagnostic(
        2,
        5,
        "error",
        "expected ';'",
        notes=(Diagnostic(1, 2, "note", "to match this '('"), Diagnostic(3, 1, "note", "here", file="a.h")),
        fixits=(SimpleNamespace(line=2, column=5, end_line=2, end_column=5, text=";"),),
    )
    first, second = lab.findings([inside, in_cell])
    assert (first.line, first.column) == (7, 3)
    assert "in kittens.cuh:40:9" in first.message
    assert second.fixits == (lab.Fix((2, 5), (2, 5), ";"),)
    assert second.notes == ("line 1: to match this '('", "a.h:3:1: here")
