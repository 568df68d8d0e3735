"""Expected errors of modelled times by regime, from the comparison with published times.

`model_error.json` beside this file is made by `python tests/benchmarks/model_error.py --write`, with
`docs/model_error.md`, from the same rows. Each range is chosen such that rows of a class of kernels that did
not contribute to it fall into it (`tests/benchmarks/regimes.py`), so it holds for any kernel of the regime: a
spec's, Triton's, or one without a description.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from workbench.origin import NEVER_COMPARED, Expected

TABLE = Path(__file__).with_name("model_error.json")

SHORT_SECONDS = 10e-6
"""Kernels shorter than this consist mostly of dispatch, first misses and the launch's own constants."""

NARROW_BYTES = 4.0
"""Average bytes that a lane requests from memory at a time; L1 treats fewer differently from dwords."""

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
        width: bytes that a lane moves at a time in vector memory instructions, on average; 0 if there are
            none.
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
    """Errors by regime, and by name of the compared specs."""
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
        spec: name of the kernel's spec, with or without a variant; "" for a kernel without a spec.
        regime: regime of the launch, if known; otherwise the spec's class of kernels is used.
    """
    regimes, classes = _errors(TABLE)
    return regimes.get(regime) or classes.get(spec.partition(":")[0], NEVER_COMPARED)
