"""The page has every figure, each with its source."""

from __future__ import annotations

from dataclasses import fields

import pytest

from workbench import targets
from workbench.targets import Product, Target


@pytest.mark.parametrize("record", [*targets.TARGETS, *targets.PRODUCTS], ids=lambda record: record.name)
def test_every_number_has_a_source(record: Target | Product) -> None:
    facts = targets.facts(record)
    assert len(facts) >= 9
    assert [name for name, fact in facts.items() if len(fact.source) < 20] == []
    bare = [f.name for f in fields(record) if type(getattr(record, f.name)) in (int, float)]
    assert bare == []
