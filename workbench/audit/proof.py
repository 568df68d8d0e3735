"""Whether another order of waves and loads changes a kernel's results."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.check.schedules import Run, prove
from workbench.errors import UsageError


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
    try:
        proof = prove(run, tries=tries)
    except UsageError:
        return Evidence("", 0, 0)
    if proof is None:
        return Evidence("", 0, tries)
    return Evidence(f"HIPKITTENS_SCHEDULE={proof.schedule}", proof.differences, proof.tried)


__all__ = ["Evidence", "search"]
