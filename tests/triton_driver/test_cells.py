"""`%%triton` in a real IPython shell, on the emulated device."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("triton")

from IPython.utils.capture import capture_output

import workbench as wb
from workbench.kernel import Kernels
from workbench.lab.payload import MIME_TYPE
from workbench.lab.service import Service

CELL = """import torch, triton, triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


x, y, out = torch.rand(1000), torch.rand(1000), torch.empty(1000)
add[(4,)](x, y, out, 1000, BLOCK=256)
"""
STORE = 8
"""Line of the cell that loads and stores; the magic is line 1."""


def run(shell: Any, line: str, cell: str = CELL) -> tuple[Any, list[dict[str, Any]]]:
    """Runs a cell of %%triton; returns its result and its payloads for the editor."""
    with capture_output() as out:
        result = shell.run_cell(f"%%triton {line}\n{cell}")
    return result, [o.data[MIME_TYPE] for o in out.outputs if MIME_TYPE in o.data]


def test_a_cell_is_shown_as_a_cell_of_c_is(shell: Any) -> None:
    result, [payload] = run(shell, "sums --profile --sanitize")
    assert result.success
    names = shell.user_ns
    assert (names["out"] == names["x"] + names["y"]).all()
    assert payload["status"] == "compiled"
    assert payload["diagnostics"] == []
    assert [kernel["name"] for kernel in payload["kernels"]] == ["add"]
    assert payload["run"]["time"]["origin"] == "modelled"
    lines = {line["line"]: line["values"]["instructions"] for line in payload["heat"]["lines"]}
    assert max(lines, key=lambda line: lines[line]) == STORE
    assert isinstance(names["sums"], Kernels)
    listing = Service(names).answer({"id": 1, "method": "isa", "params": {"module": "sums"}})["result"]
    assert STORE in listing["listing"]["lines"]


def test_a_fault_is_marked_at_its_line(shell: Any) -> None:
    result, [payload] = run(shell, "sums", CELL.replace("1000, BLOCK", "2000, BLOCK"))
    assert type(result.error_in_exec).__name__ == "AddressFault"
    [mark] = payload["diagnostics"]
    assert (mark["line"], mark["source"], mark["option"]) == (STORE, "device", "out of bounds")


def test_a_triton_compile_error_is_marked_at_its_line(shell: Any) -> None:
    result, [payload] = run(shell, "sums", CELL.replace("tl.load(y", "tl.lood(y"))
    assert type(result.error_in_exec).__name__ == "CompilationError"
    [mark] = payload["diagnostics"]
    assert (mark["line"], mark["column"]) == (STORE, CELL.splitlines()[STORE - 2].index("tl.load(y") + 1)
    assert "lood" in mark["message"]


def test_code_cached_from_another_cell_is_marked_in_this_one(shell: Any) -> None:
    for end in ("", "# the same kernel, so Triton compiles nothing; the file has another name\n"):
        result, [payload] = run(shell, "sums --profile", CELL + end)
        assert result.success
        lines = {line["line"]: line["values"]["instructions"] for line in payload["heat"]["lines"]}
        assert max(lines, key=lambda line: lines[line]) == STORE
        over = CELL.replace("1000, BLOCK", "2000, BLOCK") + end
        result, [payload] = run(shell, "sums", over)
        assert [mark["line"] for mark in payload["diagnostics"]] == [STORE]
        result, [payload] = plain(shell, over)
        assert [mark["line"] for mark in payload["diagnostics"]] == [STORE - 1]


def plain(shell: Any, cell: str) -> tuple[Any, list[dict[str, Any]]]:
    """Runs a plain cell of Python; returns its result and its payloads for the editor."""
    with wb.triton("emulated:gfx950"), capture_output() as out:
        result = shell.run_cell(cell)
    return result, [o.data[MIME_TYPE] for o in out.outputs if MIME_TYPE in o.data]


def test_a_plain_cell_is_marked_too(shell: Any) -> None:
    again = "(add[(4,)], x, y, out, 1000, BLOCK=256)\n"
    result, [payload] = plain(shell, f"{CELL}import workbench as wb\nwb.profile{again}")
    assert result.success
    assert [kernel["name"] for kernel in payload["kernels"]] == ["add"]
    lines = {line["line"]: line["values"]["instructions"] for line in payload["heat"]["lines"]}
    assert max(lines, key=lambda line: lines[line]) == STORE - 1
    isa = Service({}).answer({"id": 1, "method": "isa", "params": {"module": payload["name"]}})["result"]
    assert STORE - 1 in isa["listing"]["lines"]
    # A fault of the cell's own launch, and the sanitizer's finding, at the line.
    over = CELL.replace("1000, BLOCK", "2000, BLOCK")
    result, [payload] = plain(shell, over)
    assert type(result.error_in_exec).__name__ == "AddressFault"
    assert [mark["line"] for mark in payload["diagnostics"]] == [STORE - 1]
    assert payload["status"] == "failed"
    # Cells that report nothing about their kernels send no payload.
    assert plain(shell, CELL)[1] == plain(shell, "1 + 1")[1] == []


def test_a_cell_without_launches_is_reported(shell: Any) -> None:
    result, payload = run(shell, "sums", "z = 1\n")
    assert not payload
    assert "no kernel was launched" in str(result.error_in_exec)
    result, payload = run(shell, "sums --profil", CELL)
    assert "did you mean --profile?" in str(result.error_in_exec)
