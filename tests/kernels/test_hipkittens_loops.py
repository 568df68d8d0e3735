"""The comparison of main loops with HipKittens' own: what a row counts, and that the page has every pair."""

from __future__ import annotations

import hipkittens_loops as loops
import pytest


def test_ours_is_counted_by_matrix_instructions() -> None:
    pair = next(pair for pair in loops.PAIRS if pair.operator == "gemm/bf16:ping_pong")
    row = loops.of_ours(pair)
    # 16x16x32 of bf16 is the unit; a turn of 16 has two barriers.
    assert row.unit == row.loop.kinds["mfma"] == 128
    found = {head: value(row) for head, value in loops.COLUMNS}
    assert found["barriers"] == pytest.approx(2 / 16)
    assert found["all"] == pytest.approx(sum(v for head, v in found.items() if head != "all"))


def test_the_page_has_both_sides_of_every_pair() -> None:
    lines = [line for line in loops.DOCS.read_text().splitlines() if line.startswith("| ")][2:]
    for pair in loops.PAIRS:
        assert sum(line.startswith(f"| {pair.title}: ") for line in lines) >= 2, pair.title
    assert len(lines) == 2 * len(loops.PAIRS)
