"""Expected errors of modelled times by regime, from the comparison with published times.

`model_error.json` beside this file is made by `python tests/benchmarks/model_error.py --write`, with
`docs/model_error.md`, from the same rows. Each range there is made so that rows of a class of kernels that
took no part in it fall into it (`tests/benchmarks/regimes.py`): it holds for any kernel of the regime, a
spec's, Triton's or one that nobody described.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from workbench.origin import NEVER_COMPARED, Expected

TABLE = Path(__file__).with_name("model_error.json")

SHORT_SECONDS = 10e-6
"""Kernels of less than this are mostly dispatch, first misses and the launch's own constants."""

NARROW_BYTES = 4.0
"""Bytes that a lane asks of memory at a time, on average; L1 takes lanes of less otherwise than dwords."""

REGIMES: Mapping[str, str] = {
    "narrow": "kernels whose lanes move less than a dword at a time",
    "short": "kernels of less than 10 us",
    "matrix": "kernels that keep the matrix cores busy",
    "memory, cold": "kernels that wait for memory, with no data in a cache",
    "memory, warm": "kernels that wait for memory, in repeated launches",
    "else": "kernels limited by their waves' own work, or by waits for one another",
}
"""Description of each regime by its name; a kernel belongs to the first that fits."""

_MEMORY = frozenset({"hbm", "infinity", "l2", "WAIT_MEMORY"})
_MATRIX = frozenset({"mfma", "MATRIX_BUSY"})


def regime(bound: str, seconds: float, width: float, *, warm: bool) -> str:
    """The regime of a modelled launch, a key of `REGIMES`.

    Args:
        bound: the limiting unit, as in `TimeModel.bound`.
        seconds: kernel time.
        width: bytes that a lane moves at a time in vector memory instructions, on average; 0: there are none.
        warm: the launch is a repetition.
    """
    if 0 < width < NARROW_BYTES:
        return "narrow"
    if seconds < SHORT_SECONDS:
        return "short"
    if bound in _MATRIX:
        return "matrix"
    if bound in _MEMORY:
        return "memory, warm" if warm else "memory, cold"
    return "else"


@cache
def _errors(file: Path) -> tuple[dict[str, Expected], dict[str, Expected]]:
    """By regime, and by name of the specs that were compared."""
    table = json.loads(file.read_text(encoding="utf-8"))
    regimes = {
        name: Expected(row["rows"], row["median"], row["low"], row["high"], f"times of {REGIMES[name]}")
        for name, row in table["regimes"].items()
    }
    classes: dict[str, Expected] = {}
    for name, row in table["classes"].items():
        errors = Expected(row["rows"], row["median"], row["low"], row["high"], f"{name} times")
        classes |= dict.fromkeys(row["kernels"], errors)
    return regimes, classes


def expected(spec: str, regime: str = "") -> Expected:
    """The expected error of a modelled time.

    Args:
        spec: name of the kernel's spec, with a variant or without; "" for a kernel that no spec describes.
        regime: regime of the launch, if known; else the spec's class of kernels is used.
    """
    regimes, classes = _errors(TABLE)
    return regimes.get(regime) or classes.get(spec.partition(":")[0], NEVER_COMPARED)
