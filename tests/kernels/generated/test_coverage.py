"""A covering array has every pair of values of its product, in few rows, and depends on the seed."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from tile_coverage import covering

FACTORS = [range(12), range(8), range(2), range(5)]
# Some values exclude each other, such as a base shape without a column layout.
ROWS = [row for row in product(*FACTORS) if row[2:] != (1, 4) and (row[0] > 3 or row[1] % 4 != row[0])]


def pairs(rows: list[tuple[int, ...]]) -> set[object]:
    return {pair for row in rows for pair in combinations(enumerate(row), 2)}


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_every_pair_is_there(seed: str) -> None:
    cover = covering(ROWS, seed)
    assert pairs(cover) == pairs(ROWS)
    assert set(cover) <= set(ROWS)
    assert len(cover) <= 12 * 8


def test_a_seed_repeats_its_rows_and_another_has_others() -> None:
    assert covering(ROWS, "1") == covering(ROWS, "1")
    assert set(covering(ROWS, "1")) != set(covering(ROWS, "2"))


def test_many_seeds_reach_every_row() -> None:
    seen = {row for seed in range(200) for row in covering(ROWS, str(seed))}
    assert seen == set(ROWS)
