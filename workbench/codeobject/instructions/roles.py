"""Purposes of instructions that do not follow from their records, by opcode."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class _Named(Protocol):
    @property
    def opcode(self) -> str: ...


def _is(pattern: str) -> Callable[[_Named], bool]:
    matches = re.compile(pattern).fullmatch
    return lambda instruction: matches(instruction.opcode) is not None


is_double = _is(r"\w*f64\w*")
"""Double precision, matrix instructions among them."""

saves_exec = _is(r"s_(andn2|or)_saveexec_b64")
"""Begins the second side of a branch that lanes take both ways."""

restores_exec = _is("s_or_b64")
"""The lanes of both sides continue together, where EXEC is written."""

integer_reciprocal = _is("v_rcp_iflag_f32")
"""Only in quotients of integers."""


@dataclass(frozen=True)
class Sequence:
    """A sequence of instructions that the compiler emits for one operation that hardware lacks.

    Attributes:
        begins, ends: return True for its first and its last instruction.
        kept: returns True for the instruction that remains if the operation were a single instruction.
    """

    begins: Callable[[_Named], bool]
    ends: Callable[[_Named], bool]
    kept: Callable[[_Named], bool]


FLOAT_DIVISION = Sequence(_is("v_div_scale_f32"), _is("v_div_fixup_f32"), _is("v_div_fixup_f32"))
INTEGER_DIVISION = Sequence(_is("v_mul_hi_u32"), _is("v_cndmask_b32"), _is("v_mul_hi_u32"))
