"""The timeline's colours: a hue for each unit, full while it works, pale while a wave waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.profile.simulation.unit import KINDS, REASONS
from workbench.theme import INK

PALE = 0.38
"""Opacity of a stall: pale on a light page, dim on a dark one."""


@dataclass(frozen=True)
class Family:
    """Instructions and stalls of one unit.

    Attributes:
        name: name in the legend.
        hue: colour.
        kinds: classes of instructions (`simulation.unit.KINDS`).
        reasons: stalls that wait for it (`simulation.unit.REASONS`).
    """

    name: str
    hue: str
    kinds: tuple[str, ...]
    reasons: tuple[str, ...]


FAMILIES = (
    Family("matrix", "#d97f2b", ("MFMA",), ("MATRIX_BUSY",)),
    Family("vector", "#2a9d77", ("VALU",), ("VECTOR_BUSY",)),
    Family("LDS", "#8a75d6", ("LDS",), ("WAIT_LDS", "LDS_PORT")),
    Family("load", "#3a86d4", ("LOAD",), ("WAIT_MEMORY", "MEMORY_QUEUE")),
    Family("store", "#35b5e5", ("STORE",), ()),
    Family("scalar load", "#c0508f", ("SMEM",), ("WAIT_SCALAR",)),
    Family("barrier", "#d2454f", ("BARRIER",), ("AT_BARRIER",)),
    Family("scalar, branch", "#a8921a", ("SALU", "BRANCH", "PRIORITY", "END", "OTHER"), ("ISSUE", "FETCH")),
    Family("wait, dependence", INK, ("WAIT", "IDLE"), ("DEPENDENCE", "IDLING")),
)
"""In the order of the legend."""

DOES: Mapping[str, str] = {
    "VALU": "the vector ALU works",
    "MFMA": "the matrix core works",
    "SALU": "the scalar ALU works",
    "SMEM": "a scalar load is issued",
    "LDS": "an access to LDS is issued",
    "LOAD": "a load is issued",
    "STORE": "a store is issued",
    "BRANCH": "a branch",
    "WAIT": "a wait is over",
    "BARRIER": "comes to the barrier",
    "IDLE": "does nothing",
    "PRIORITY": "takes another priority",
    "END": "the wave ends",
    "OTHER": "issues",
}
"""A wave's activity for each class of instruction, when it is not stalled."""

OF_KIND: Mapping[str, int] = {kind: i for i, family in enumerate(FAMILIES) for kind in family.kinds}
OF_REASON: Mapping[str, int] = {reason: i for i, family in enumerate(FAMILIES) for reason in family.reasons}

assert set(OF_KIND) == set(KINDS) == set(DOES)
assert set(OF_REASON) == set(REASONS) - {"NONE"}
