"""How far a modelled time may be off: what the comparison with published times came to, by class of kernel.

`model_error.json` beside this file is made by `python tests/benchmarks/model_error.py --write`, with
`docs/model_error.md`, from the same rows.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from workbench.origin import NEVER_COMPARED, Expected

TABLE = Path(__file__).with_name("model_error.json")


@cache
def _classes() -> dict[str, Expected]:
    """By name of the specs that were compared."""
    found: dict[str, Expected] = {}
    for name, told in json.loads(TABLE.read_text(encoding="utf-8")).items():
        errors = Expected(told["rows"], told["median"], told["low"], told["high"], f"{name} times")
        found |= dict.fromkeys(told["kernels"], errors)
    return found


def expected(spec: str) -> Expected:
    """How far the modelled time of a spec's kernel may be off.

    Args:
        spec: its name, with a variant or without; "" for a kernel that no spec describes.
    """
    return _classes().get(spec.partition(":")[0], NEVER_COMPARED)
