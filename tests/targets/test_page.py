"""The page has every figure, each with its source."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from workbench import targets
from workbench.targets import Product, Target


@pytest.mark.parametrize("record", [*targets.TARGETS, *targets.PRODUCTS], ids=lambda record: record.name)
def test_every_number_has_a_source(record: Target | Product) -> None:
    known = targets.facts(record)
    assert len(known) >= 9
    assert [name for name, fact in known.items() if len(fact.source) < 20] == []
    bare = [f.name for f in fields(record) if type(getattr(record, f.name)) in (int, float)]
    assert bare == []


def test_the_page_is_what_the_records_say() -> None:
    page = Path(__file__).parents[2] / "docs" / "targets.md"
    assert page.read_text(encoding="utf-8") == targets.document(), "run python -m workbench.targets"
