"""The page of the kernels' costs: its columns are complete, its rows are of operators."""

from __future__ import annotations

from pathlib import Path

import first_calls
import kernel_costs
import pytest

import workbench as wb
from workbench.targets import TILE_TARGETS


@pytest.mark.parametrize("name", ["feed_forward/mul_add", "gemm/int8"])
def test_every_column_of_the_command_is_filled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = wb.kernels[name]
    first = next(iter(whole.variants), None)
    spec = whole.variant(first) if first else whole
    row = next(kernel_costs.rows_of_variant(spec, whole.targets[0]))
    cells = {column.head: column.of(row) for column in kernel_costs.COLUMNS}
    assert all(cells.values()), cells
    assert int(cells["VGPR"]) > 0
    assert ("mfma" in cells["main loop"]) == (name == "gemm/int8")
    assert cells["modelled"].startswith(tuple("0123456789"))
    assert cells["of the roof"].endswith("%")


def test_the_page_has_the_columns_of_the_command() -> None:
    heads = [column.head for column in kernel_costs.COLUMNS], [head for head, _ in kernel_costs.TIMES]
    lines = kernel_costs.page().splitlines()
    titles = [text.strip("| ").split(" | ") for text in lines if text.startswith("| kernel")]
    assert titles == list(heads)
    for recorded, columns in zip(map(kernel_costs.lines_of, ("costs", "times")), heads, strict=True):
        assert any(recorded.values())
        for text in (text for texts in recorded.values() for text in texts):
            cells = text.strip("| ").split(" | ")
            assert len(cells) == len(columns), text
            assert all(cells), f"an empty cell; run python tests/kernels/kernel_costs.py: {text}"
    assert set(kernel_costs.stored()["operators"]) <= set(wb.kernels)


def test_every_operator_has_a_row_for_each_of_its_targets() -> None:
    heads = [column.head for column in kernel_costs.COLUMNS]
    at = heads.index("target")
    costs = kernel_costs.lines_of("costs")
    rows = {(name, text.strip("| ").split(" | ")[at]) for name, texts in costs.items() for text in texts}
    expected = {(name, target) for name in wb.kernels for target in TILE_TARGETS}
    assert expected - rows == set(), "run python tests/kernels/kernel_costs.py with these names"


def test_no_launch_of_the_page_touches_scratch() -> None:
    heads = [column.head for column in kernel_costs.COLUMNS]
    for texts in kernel_costs.lines_of("costs").values():
        for text in texts:
            row = dict(zip(heads, text.strip("| ").split(" | "), strict=True))
            assert row["scratch"] == "0", text


def test_bank_conflicts_are_explained() -> None:
    at = [column.head for column in kernel_costs.COLUMNS].index("conflict cycles")
    costs = kernel_costs.lines_of("costs")
    operators = {
        name for name, texts in costs.items() for text in texts if text.strip("| ").split(" | ")[at] != "0"
    }
    assert operators == set(kernel_costs.CONFLICTS)
    assert kernel_costs.LEFT in kernel_costs.page()


def test_first_calls_list_the_operators_that_they_lack() -> None:
    rows, note = first_calls.stored_rows(), kernel_costs.stored()["first calls"]
    assert {name for name in wb.kernels if name in rows or f"`{name}`" in note} == set(wb.kernels)
    assert all(float(row[2]) > 0 and float(row[3]) > 0 for row in rows.values())
    assert note in kernel_costs.page()


def test_an_operator_is_stored_beside_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per operator; lines that another command stored do not change."""
    monkeypatch.setattr(kernel_costs, "DATA", tmp_path / "costs.json")
    kernel_costs.write({"first calls": "None yet.", "operators": {"gemm/int8": {"first": ["| 1 |"]}}})
    kernel_costs.store("gemm/int8", costs=["| 2 |", "| 3 |"])
    kernel_costs.store("gemm/bf16", costs=["| 4 |"])
    text = kernel_costs.DATA.read_text()
    assert len(text.splitlines()) == 7
    assert list(kernel_costs.stored()["operators"]) == ["gemm/bf16", "gemm/int8"]
    assert kernel_costs.lines_of("first")["gemm/int8"] == ["| 1 |"]
    assert kernel_costs.lines_of("costs")["gemm/int8"] == ["| 2 |", "| 3 |"]


def test_first_calls_are_of_an_empty_cache(capfd: pytest.CaptureFixture[str]) -> None:
    """The first call compiles, which takes far longer than the second."""
    before = kernel_costs.DATA.read_text()
    first_calls.main(["activations/relu", "--print"])
    (row,) = (line.split("  ") for line in capfd.readouterr().out.splitlines())
    assert row[0] == "`activations/relu`"
    assert 1e3 * float(row[2]) > 3 * float(row[3]) > 0
    assert kernel_costs.DATA.read_text() == before
