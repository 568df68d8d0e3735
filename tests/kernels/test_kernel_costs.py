"""The page of what the kernels cost: its columns are complete, its rows are of operators."""

from __future__ import annotations

import first_calls
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
    heads = [column.head for column in kernel_costs.COLUMNS], [head for head, _ in kernel_costs.TIMES]
    lines = kernel_costs.DOCS.read_text().splitlines()
    found = [text.strip("| ").split(" | ") for text in lines if text.startswith("| kernel")]
    assert found == list(heads)
    for known, wanted in zip(kernel_costs.read(), heads, strict=True):
        assert any(known.values())
        for text in (text for texts in known.values() for text in texts):
            cells = text.strip("| ").split(" | ")
            assert len(cells) == len(wanted), text
            assert all(cells), f"an empty cell; run python tests/kernels/kernel_costs.py: {text}"
    rows = [text for text in lines if text.startswith("| `")]
    assert all(kernel_costs.operator_of(text) in wb.kernels for text in rows)


def test_every_operator_has_a_row_for_each_of_its_targets() -> None:
    heads = [column.head for column in kernel_costs.COLUMNS]
    at = heads.index("target")
    costs = kernel_costs.read()[0]
    found = {(name, text.strip("| ").split(" | ")[at]) for name, texts in costs.items() for text in texts}
    wanted = {(name, target) for name in wb.kernels for target in wb.kernels[name].targets}
    assert wanted - found == set(), "run python tests/kernels/kernel_costs.py with these names"


def test_no_launch_of_the_page_touches_scratch() -> None:
    heads = [column.head for column in kernel_costs.COLUMNS]
    for texts in kernel_costs.read()[0].values():
        for text in texts:
            found = dict(zip(heads, text.strip("| ").split(" | "), strict=True))
            assert found["scratch"] == "0", text


def test_bank_conflicts_are_explained() -> None:
    at = [column.head for column in kernel_costs.COLUMNS].index("conflict cycles")
    costs = kernel_costs.read()[0]
    found = {
        name for name, texts in costs.items() for text in texts if text.strip("| ").split(" | ")[at] != "0"
    }
    assert found == set(kernel_costs.CONFLICTS)
    assert kernel_costs.LEFT in kernel_costs.DOCS.read_text()


def test_first_calls_are_of_operators_and_say_which_they_lack() -> None:
    head, _, text = kernel_costs.DOCS.read_text().partition(f"\n{kernel_costs.FIRST}\n")
    rows, said = first_calls.known(), text.partition("\n| ")[0]
    assert {name for name in wb.kernels if name in rows or f"`{name}`" in said} == set(wb.kernels)
    assert set(rows) <= set(wb.kernels)
    assert all(float(row[2]) > 0 and float(row[3]) > 0 for row in rows.values())
    assert kernel_costs.page(*kernel_costs.read()).endswith(text), "the other command drops them"
    assert "first call" not in head


def test_first_calls_are_of_an_empty_cache(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first compiles, which takes far longer than the second call."""
    monkeypatch.setattr("sys.argv", ["first_calls.py", "activations/relu", "--print"])
    before = kernel_costs.DOCS.read_text()
    first_calls.main()
    (row,) = (line.split("  ") for line in capfd.readouterr().out.splitlines())
    assert row[0] == "`activations/relu`"
    assert 1e3 * float(row[2]) > 3 * float(row[3]) > 0
    assert kernel_costs.DOCS.read_text() == before
