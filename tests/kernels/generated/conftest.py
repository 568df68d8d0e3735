"""Plans the compilation of generated cases, and says how many there were."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

from tile_batches import ARCHS, COMPILING, TIMES, Batch, Case


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


_passed: Counter[tuple[str, str]] = Counter()
_failed: Counter[tuple[str, str]] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    report = yield
    case = _case(item)
    if case is not None and call.when == "call":
        (_passed if report.passed else _failed)[case.kernel.batch.family, case.kernel.arch] += 1
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    total = _passed + _failed
    if not total:
        return
    line = terminalreporter.write_line
    line("")
    line(
        f"{'generated cases':<28}"
        + "".join(f"{arch:>8}{'failed':>8}{'compile':>9}{'run':>8}" for arch in ARCHS)
    )
    for family in dict.fromkeys(family for family, _ in total):
        cells = []
        for arch in ARCHS:
            key = family, arch
            times = TIMES.get(key)
            seconds = (times.compile, times.run) if times else (0.0, 0.0)
            cells.append(f"{total[key]:>8}{_failed[key]:>8}{seconds[0]:>8.1f}s{seconds[1]:>7.1f}s")
        line(f"{family:<28}" + "".join(cells))
    counts = [(sum(n for (_, a), n in total.items() if a == arch), arch) for arch in ARCHS]
    line(f"{'total':<28}" + "".join(f"{n:>8}{'':>25}" for n, _ in counts) + f"{sum(total.values()):>8}")
