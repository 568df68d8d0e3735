"""The page of what the kernels cost: its columns are complete, its rows are of operators."""

from __future__ import annotations

import kernel_costs
import pytest

import workbench as wb


@pytest.mark.parametrize("name", ["feed_forward/mul_add", "gemm/int8"])
def test_every_column_of_the_command_is_filled(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = wb.kernels[name]
    first = next(iter(whole.variants), None)
    spec = whole.variant(first) if first else whole
    row = next(kernel_costs.rows_of_variant(spec, whole.targets[0]))
    found = {column.head: column.of(row) for column in kernel_costs.COLUMNS}
    assert all(found.values()), found
    assert int(found["VGPR"]) > 0
    assert ("mfma" in found["main loop"]) == (name == "gemm/int8")
    assert found["modelled"].startswith(tuple("0123456789"))
    assert found["of the roof"].endswith("%")


def test_the_page_has_the_columns_of_the_command() -> None:
    lines = kernel_costs.DOCS.read_text().splitlines()
    head = next(text for text in lines if text.startswith("| kernel"))
    assert head.strip("| ").split(" | ") == [column.head for column in kernel_costs.COLUMNS]
    rows = [text for text in lines if text.startswith("| `")]
    assert rows
    for text in rows:
        cells = text.strip("| ").split(" | ")
        assert len(cells) == len(kernel_costs.COLUMNS), text
        assert all(cells), f"an empty cell; run python tests/kernels/kernel_costs.py: {text}"
        assert kernel_costs.operator_of(text) in wb.kernels, f"no such operator: {text}"
