"""A pytest plugin for FlyDSL's own tests: the smallest case of each test function.

`table.py` starts pytest with it and says by FLYDSL_TESTS (JSON) what to do: the CPU `seconds` that a case may
take, and the file `results` to which a line of JSON is added for each case. FlyDSL's benchmark loop, which a
test's result does not need, calls its function once.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import few_cases
import pytest

from workbench.emulator.node.device import node

TASK = json.loads(os.environ["FLYDSL_TESTS"])
LONGEST = 200
"""Characters of a message."""


def note(case: str, result: str, text: str = "", launches: int = 0) -> None:
    line = {"case": case, "result": result, "text": text[:LONGEST], "launches": launches}
    with Path(TASK["results"]).open("a") as file:
        file.write(json.dumps(line) + "\n")


def call_once(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, float]:
    """Replaces FlyDSL's `run_perftest`: returns the function's result, and microseconds."""
    import torch

    for option in ("num_iters", "num_warmup", "testGraph", "num_rotate_args", "needTrace"):
        kwargs.pop(option, None)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    result = function(*args, **kwargs)
    end.record()
    return result, start.elapsed_time(end) * 1e3


def pytest_configure() -> None:
    # From FlyDSL's checkout, as its tests import it.
    importlib.import_module("tests.test_common").run_perftest = call_once  # type: ignore[attr-defined]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        note(report.nodeid, "error", str(report.longrepr).splitlines()[-1])
    elif report.skipped:
        # A tuple: file, line, reason.
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        note(report.nodeid, "skipped", reason.removeprefix("Skipped: "))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    files = few_cases.by_function(items)
    items[:] = [
        item
        for functions in files.values()
        for group in functions.values()
        for item in few_cases.selection(group, 1)
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool:
    _, end = few_cases.run_in_process(item, TASK["seconds"])
    if end:
        late = end == "too long"
        note(item.nodeid, end if late else "error", f"{TASK['seconds']} s" if late else f"ended by {end}")
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        error = call.excinfo.value if call.excinfo is not None else None
        result = report.outcome
        if result == "failed":
            result = "wrong" if isinstance(error, AssertionError) else "error"
        text = "" if error is None else f"{type(error).__name__}: {error}".partition("\n")[0]
        note(item.nodeid, result, text, node().launches)
    return report
