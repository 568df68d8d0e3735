"""The comparison of main loops with HipKittens': the counts of a row, and that the page has every pair."""

from __future__ import annotations

from dataclasses import replace

import hipkittens_loops as loops
import pytest


def test_ours_is_counted_by_matrix_instructions() -> None:
    pair = next(pair for pair in loops.PAIRS if pair.operator == "gemm/bf16:ping_pong")
    row = loops.of_ours(pair)
    # 16x16x32 of bf16 is the unit; a turn of 16 has two barriers.
    assert row.unit == row.loop.kinds["mfma"] == 128
    values = {head: value(row) for head, value in loops.COLUMNS}
    assert values["barriers"] == pytest.approx(2 / 16)
    assert values["all"] == pytest.approx(sum(v for head, v in values.items() if head != "all"))


def test_without_matrix_instructions_what_is_executed_is_counted() -> None:
    pair = next(pair for pair in loops.PAIRS if pair.title == "rotary")
    row = loops.of_ours(replace(pair, shape={"batch": 1, "heads": 8, "tokens": 8, "dim": 128, "turned": 128}))
    # A wave reads cosines, sines and both halves of one head, and writes these; positions are not read.
    assert row.unit == 6 < replace(row, often=None).unit


@pytest.mark.parametrize(
    "title", ["GEMM of bf16, 8 waves", "attention, forward", "attention, forward, causal"]
)
def test_no_more_than_theirs(title: str) -> None:
    """Instructions of each class, compared with the page's for HipKittens'."""
    (theirs,) = (
        line for line in loops.DOCS.read_text().splitlines() if line.startswith(f"| {title}: HipKittens")
    )
    figures = [float(cell) for cell in theirs.split("|")[-1 - len(loops.COLUMNS) : -1]]
    ours = loops.of_ours(next(pair for pair in loops.PAIRS if pair.title == title))
    for (head, value), figure in zip(loops.COLUMNS, figures, strict=True):
        assert value(ours) <= max(1.1 * figure, figure + 0.02), head


def test_the_page_has_both_sides_of_every_pair() -> None:
    lines = [line for line in loops.DOCS.read_text().splitlines() if line.startswith("| ")][2:]
    for pair in loops.PAIRS:
        assert sum(line.startswith(f"| {pair.title}: ") for line in lines) >= 2, pair.title
    assert len(lines) == 2 * len(loops.PAIRS)
