"""A pytest plugin for tests of AITER's Triton kernels: a few cases of each function on an emulated device.

`aiter_suite.py` starts pytest with it, and says by AITER_SUITE (JSON) what to do: `device`, `cases` of
each test function, the seconds of CPU time that a case may take, `known` cases that are not run again, and
the file `results` to which a line of JSON is added before and after each case.
"""

from __future__ import annotations

import importlib
import itertools
import json
import math
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources, PTXASError

import workbench as wb
from workbench.errors import KernelFault, LaunchError, UnsupportedInstruction
from workbench.kernel.kernel import recording

TASK = json.loads(os.environ["AITER_SUITE"])
REFUSED = (CompilationError, OutOfResources, PTXASError, LaunchError, UnsupportedInstruction)
"""What is not run, and says so."""
LONGEST = 300
"""Characters of a message."""


def note(case: str, **what: Any) -> None:
    with Path(TASK["results"]).open("a") as file:
        file.write(json.dumps({"case": case, **what}) + "\n")


class Numbers(type):
    """A class that has every constant that it is asked for, each with a number of its own."""

    _next = itertools.count()

    def __getattr__(cls, name: str) -> int:
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(cls, name, next(cls._next))
        found: int = vars(cls)[name]
        return found


def add_references() -> None:
    """What tests take from AITER's package to compare with, which it has only beside its own HIP modules.

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


def pytest_configure() -> None:
    wb.triton.activate(TASK["device"], cuda_means_cpu=True)
    add_references()
    # A launch is in C, and no exception would end it.
    signal.signal(signal.SIGPROF, signal.SIG_DFL)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        note(report.nodeid, result="error", text=str(report.longrepr).splitlines()[-1][:LONGEST], kernels=[])


def numbers(value: Any) -> Iterator[int]:
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield max(value, 1)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from numbers(each)


def chosen(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """Of one function's cases the smallest, first those that bring a value which is no number and was not
    seen yet: a dtype, a layout, a switch."""

    def parameters(item: pytest.Item) -> dict[str, Any]:
        found: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
        return found

    ordered = sorted(items, key=lambda item: math.prod(numbers(list(parameters(item).values()))))
    seen: set[tuple[str, str]] = set()
    fresh, rest = [], []
    for item in ordered:
        kinds = {(k, str(v)) for k, v in parameters(item).items() if not list(numbers(v))}
        (fresh if kinds - seen else rest).append(item)
        seen |= kinds
    return [*fresh, *rest][:count]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    of: dict[str, list[pytest.Item]] = {}
    for item in items:
        of.setdefault(item.nodeid.partition("[")[0], []).append(item)
    known = set(TASK["known"])
    items[:] = [i for group in of.values() for i in chosen(group, TASK["cases"]) if i.nodeid not in known]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    note(item.nodeid, result="begun")
    signal.setitimer(signal.ITIMER_PROF, TASK["seconds"])
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with recording() as made:
        try:
            return (yield)
        finally:
            item.stash[KERNELS] = sorted({kernel.name for kernel, _ in made})


KERNELS = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        error = call.excinfo.value if call.excinfo is not None else None
        text = f"{type(error).__name__}: {error}" if error is not None else ""
        kernels = item.stash.get(KERNELS, [])
        note(item.nodeid, result=result_of(report.outcome, error), text=text[:LONGEST], kernels=kernels)
    return report


def result_of(outcome: str, error: BaseException | None) -> str:
    if outcome in ("passed", "skipped"):
        return outcome
    for kinds, name in ((REFUSED, "refused"), (KernelFault, "fault"), (AssertionError, "wrong")):
        if isinstance(error, kinds):
            return name
    # What LLVM or a pass of Triton cannot do comes as a RuntimeError.
    return "refused" if "PassManager" in str(error) else "error"
