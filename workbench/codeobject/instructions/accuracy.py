"""Published error bounds of transcendental instructions.

Errors stay below the bound: if the true value can be represented, a bound of one unit means that it is the
result, as the guides' examples show (the reciprocal of 2.0 is 0.5).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

_GUIDE = "AMD, instruction set architecture guides, notes at the instruction"
_LLVM = 'LLVM, AMDGPUUsage, "LLVM IR Intrinsics" (log2, exp2)'
_NOBODY = "no bound is published; taken as that of the others"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A bound of an instruction's error.

    Attributes:
        ulps: bound of the error, in units in the last place of the result.
        source: document that states it.
    """

    ulps: float
    source: str


_ROWS = (
    (r"v_(rcp|rcp_iflag|rsq|sqrt)_f32", Accuracy(1.0, _GUIDE)),
    (r"v_(exp|exp_legacy|log|log_legacy)_f32", Accuracy(1.0, f"{_GUIDE}; {_LLVM}")),
    (r"v_(sin|cos)_f32", Accuracy(1.0, _NOBODY)),
    (r"v_(rcp|rsq|sqrt)_f16", Accuracy(0.51, _GUIDE)),
    (r"v_(exp|log)_f16", Accuracy(0.51, f"{_GUIDE}; {_LLVM}")),
    (r"v_(sin|cos)_f16", Accuracy(0.51, _NOBODY)),
    (r"v_(rcp|rsq|sqrt)_f64", Accuracy(2.0**29, _GUIDE)),
)


@cache
def accuracy_of(opcode: str) -> Accuracy | None:
    """The bound for an opcode; None if its results are exactly rounded, or it gives no float."""
    return next((accuracy for pattern, accuracy in _ROWS if re.fullmatch(pattern, opcode)), None)
