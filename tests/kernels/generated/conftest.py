"""Plans the compilation of generated cases, and reports what they were."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

from tile_batches import COMPILING, TIMES, Batch, Case, Times


def _case(item: Any) -> Case | None:
    case = getattr(item, "callspec", None) and item.callspec.params.get("case")
    return case if isinstance(case, Case) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    batches: list[Batch] = []
    for item in session.items:
        case = _case(item)
        params = item.callspec.params if hasattr(item, "callspec") else {}
        batch = case.kernel.batch if case else params.get("batch")
        if isinstance(batch, Batch) and (not batches or batches[-1] is not batch):
            batches.append(batch)
    COMPILING.plan(batches)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    """Says what the case was and what time its batch took, for the table at the end (tests/conftest.py)."""
    report = yield
    case = _case(item)
    if case is not None and call.when == "call":
        batch = case.kernel.batch
        times = TIMES.pop((batch.family, batch.arch), None) or Times()
        said = [batch.family, batch.arch, times.compile, times.run]
        report.user_properties.append(("generated case", said))
    return report
