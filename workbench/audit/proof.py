"""Whether another order of waves and loads changes a kernel's results."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from workbench.settings import LAST

Run = Callable[[], Sequence[torch.Tensor]]
"""Runs a kernel from fresh equal inputs, and returns what it wrote."""

_LATE = "HIPKITTENS_LATE"
_SEEDS = (LAST, "1", "2", "3")


@dataclass(frozen=True)
class Evidence:
    """Result of a search for an order with other results.

    Attributes:
        setting: environment variable and value that repeat the order; "" if no order made a difference.
        differences: elements, or printed bytes, that differ from the plain order's.
        tried: number of orders.
    """

    setting: str
    differences: int
    tried: int


def search(run: Run, tries: int = 16) -> Evidence:
    """Runs a kernel in several orders that hardware allows, and compares the results bit by bit.

    Args:
        tries: number of schedules.

    Returns:
        the evidence; nothing was tried if two runs in the plain order differ, since then a difference proves
        nothing.
    """
    if count(run(), run()):
        return Evidence("", 0, 0)
    if importlib.util.find_spec("workbench.check.schedules") is not None:
        prove = importlib.import_module("workbench.check.schedules").prove
        proof = prove(run, tries=tries)
        if proof is None:
            return Evidence("", 0, tries)
        return Evidence(f"HIPKITTENS_SCHEDULE={proof.schedule}", proof.differences, proof.tried)
    return _by_late_loads(run)


def _by_late_loads(run: Run) -> Evidence:
    plain = run()
    for number, seed in enumerate(_SEEDS, 1):
        with _variable(_LATE, seed):
            differences = count(plain, run())
        if differences:
            return Evidence(f"{_LATE}={seed}", differences, number)
    return Evidence("", 0, len(_SEEDS))


def count(a: Sequence[torch.Tensor], b: Sequence[torch.Tensor]) -> int:
    """Number of elements whose bits differ."""
    differences = 0
    for x, y in zip(a, b, strict=True):
        if x.shape != y.shape:
            return max(x.numel(), y.numel())
        # Bits, so that NaN equals itself.
        pairs = (tensor.contiguous().view(torch.uint8).reshape(tensor.numel(), -1) for tensor in (x, y))
        left, right = pairs
        differences += int((left != right).any(1).sum())
    return differences


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


__all__ = ["Evidence", "count", "search"]
