"""A pytest plugin for tests of Triton libraries: some cases of each file on an emulated device.

`suites.py` starts pytest with it, and says by TRITON_SUITE (JSON) what to do: `suite`, `device`, `cases` of
each test function and how many more are `drawn` of each file by `seed`, how many `configurations` autotuned
kernels try, the CPU `seconds` that a case may take and the `file_seconds` of a file, the time of day `until`
which cases are begun, `known` cases that are not run again, and the file `results` to which a line of JSON is
added for each case.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import os
import random
import sys
import time
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner
from triton.runtime.cache import triton_key
from triton.runtime.errors import OutOfResources, PTXASError

import workbench as wb
from tests.few_cases import by_function, run_in_process, selection
from workbench.errors import KernelFault, LaunchError, UnsupportedInstruction
from workbench.kernel.kernel import recording

TASK = json.loads(os.environ["TRITON_SUITE"])
REFUSED = (CompilationError, OutOfResources, PTXASError, LaunchError, UnsupportedInstruction)
"""Errors that mean that a test cannot run."""
LONGEST = 300
"""Characters of a message."""


def note(case: str, **fields: Any) -> None:
    with Path(TASK["results"]).open("a") as file:
        file.write(json.dumps({"case": case, **fields}) + "\n")


class Numbers(type):
    """A class that has every requested constant, each with a different number."""

    _next = itertools.count()

    def __getattr__(cls, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(cls, name, next(cls._next))
        value: int = vars(cls)[name]
        return value


def add_references() -> None:
    """Adds to `aiter` the references of its tests, which it has only beside its own HIP modules.

    It is Python, but imports enumerations that AITER compiles, and types that it reads from headers.
    """
    enumerations: Any = types.ModuleType("aiter.ops.enum")
    for name in ("ActivationType", "QuantType", "MlaVersion"):
        setattr(enumerations, name, Numbers(name, (), {}))
    enumerations.Enum = int
    tensors: Any = types.ModuleType("aiter.utility.aiter_types")
    tensors.aiter_dtypes = {}
    tensors.aiter_tensor_t = object
    sys.modules.update({module.__name__: module for module in (enumerations, tensors)})
    aiter: Any = importlib.import_module("aiter")
    importlib.import_module("aiter.jit.core")
    aiter.dtypes = importlib.import_module("aiter.utility.dtypes")
    quant = importlib.import_module("aiter.ops.quant")
    for name in ("pertoken_quant", "per_tensor_quant"):
        setattr(aiter, name, getattr(quant, name))


def take_few(count: int) -> None:
    """Autotuned kernels have only their first configurations: each is a compilation."""
    make = Autotuner.__init__
    parameters = inspect.signature(make)

    def few(*args: Any, **kwargs: Any) -> None:
        bound = parameters.bind(*args, **kwargs)
        bound.arguments["configs"] = (bound.arguments["configs"] or [])[:count]
        make(*bound.args, **bound.kwargs)

    Autotuner.__init__ = few


# Not in pytest_configure, which runs after conftest.py: that may import functions of PyTorch.
_door = contextlib.ExitStack()
_door.enter_context(wb.torch_as_gpu(TASK["device"]))
take_few(TASK["configurations"])
if TASK["suite"] == "aiter":
    add_references()
# Loads modules once that a first launch would load in each case's process.
triton_key()
importlib.import_module("workbench.emulator.translate.translator")


def pytest_configure(config: pytest.Config) -> None:
    config.add_cleanup(_door.close)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        note(report.nodeid, result="error", text=str(report.longrepr).splitlines()[-1][:LONGEST], kernels=[])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    selected = []
    for file, functions in by_function(items).items():
        first = [item for group in functions.values() for item in selection(group, TASK["cases"])]
        ids = {item.nodeid for item in first}
        rest = [item for group in functions.values() for item in group if item.nodeid not in ids]
        draw = random.Random(f"{TASK['seed']} {file}")
        selected += [*first, *draw.sample(rest, min(TASK["drawn"], len(rest)))]
    finished = set(TASK["known"])
    items[:] = [item for item in selected if item.nodeid not in finished]


_spent: Counter[str] = Counter()
"""CPU seconds of the cases of a file."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool:
    """A case is a process. Runs before pytest-rerunfailures, which would repeat some cases here."""
    if time.time() > TASK["until"]:
        return True
    file = item.nodeid.partition("::")[0]
    if _spent[file] > TASK["file_seconds"]:
        note(item.nodeid, result="not reached", text="", kernels=[])
        return True
    spent, end = run_in_process(item, TASK["seconds"])
    _spent[file] += round(spent)
    if end:
        late = end == "too long"
        text = f"{TASK['seconds']} s" if late else f"ended by {end}"
        note(item.nodeid, result=end if late else "error", text=text, kernels=[])
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    before, began = wb.triton.spent.total, time.perf_counter()
    with recording() as launches:
        try:
            return (yield)
        finally:
            item.stash[KERNELS] = sorted({kernel.name for kernel, _ in launches})
            now = wb.triton.spent.total
            parts = ("compiler", "translation", "run")
            spent = {name: round(getattr(now, name) - getattr(before, name), 2) for name in parts}
            item.stash[SPENT] = {**spent, "all": round(time.perf_counter() - began, 2)}


KERNELS = pytest.StashKey[list[str]]()
SPENT = pytest.StashKey[dict[str, float]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        error = call.excinfo.value if call.excinfo is not None else None
        text = f"{type(error).__name__}: {error}" if error is not None else ""
        kernels = item.stash.get(KERNELS, [])
        spent = item.stash.get(SPENT, {})
        result = result_of(report.outcome, error)
        note(item.nodeid, result=result, text=text[:LONGEST], kernels=kernels, seconds=spent)
    return report


def result_of(outcome: str, error: BaseException | None) -> str:
    if outcome in ("passed", "skipped"):
        return outcome
    for kinds, name in ((REFUSED, "refused"), (KernelFault, "fault"), (AssertionError, "wrong")):
        if isinstance(error, kinds):
            return name
    # LLVM and Triton's passes raise RuntimeError for what they cannot do.
    return "refused" if "PassManager" in str(error) else "error"
