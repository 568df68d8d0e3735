"""The page of counters is what the table says."""

from __future__ import annotations

from workbench.profile.counter_table import PAGE, document


def test_the_page_is_made_from_the_table() -> None:
    assert PAGE.read_text() == document(), "run python -m workbench.profile.counter_table"
