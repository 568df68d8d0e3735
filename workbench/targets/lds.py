"""LDS accesses: the phases of lanes, and the banks that they use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.targets.instruction_sets import GFX950


@dataclass(frozen=True)
class ConflictRule:
    """Phases and banks of one kind of LDS access; the emulated device counts bank conflicts by them.

    Attributes:
        target: "gfx950", or "any" for a rule that holds if no other does.
        kind: "read", "write" (atomics too) or "transpose", a transposing read.
        widths: bytes per lane.
        phases: lanes that are served together, group by group.
        banks: banks of 4 bytes that serve a phase.
        measured: SQ_LDS_BANK_CONFLICT of hardware shows these phases and banks; without it, counts by this
            rule are modelled.
        source: origin of the rule.
    """

    target: str
    kind: str
    widths: tuple[int, ...]
    phases: tuple[tuple[int, ...], ...]
    banks: int
    measured: bool
    source: str


def _phases(*first_half: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Phases of 64 lanes from those of the first 32, which the other 32 repeat."""
    return (*map(tuple, first_half), *(tuple(lane + 32 for lane in phase) for phase in first_half))


def _in_order(lanes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(range(start, start + lanes)) for start in range(0, GFX950.wave_size, lanes))


def _measured(opcode: str) -> str:
    return f"measured (tests/data/lds_conflict_matrix_{opcode}.csv)"


_READ_16 = _phases(
    (*range(4), *range(12, 16), *range(20, 28)), (*range(4, 12), *range(16, 20), *range(28, 32))
)
_READ_12 = _phases(
    (*range(4), *range(20, 24)),
    (*range(4, 8), *range(16, 20)),
    (*range(8, 12), *range(28, 32)),
    (*range(12, 16), *range(24, 28)),
)
_DWORDS = "not measured: 32 dwords a cycle"

CONFLICT_RULES: tuple[ConflictRule, ...] = (
    ConflictRule(GFX950.name, "read", (16,), _READ_16, GFX950.lds_banks, True, _measured("ds_read_b128")),
    ConflictRule(GFX950.name, "read", (12,), _READ_12, 32, True, _measured("ds_read_b96")),
    ConflictRule(GFX950.name, "read", (8,), _in_order(32), GFX950.lds_banks, True, _measured("ds_read_b64")),
    ConflictRule(GFX950.name, "write", (8,), _in_order(16), 32, True, _measured("ds_write_b64")),
    ConflictRule(
        GFX950.name,
        "transpose",
        (8,),
        _in_order(32),
        GFX950.lds_banks,
        False,
        "not measured: as plain reads of 8 bytes",
    ),
    ConflictRule(
        GFX950.name, "transpose", (12,), _READ_12, 32, False, "not measured: as plain reads of 12 bytes"
    ),
    *(
        rule
        for kind in ("read", "write")
        for rule in (
            ConflictRule(
                "any",
                kind,
                (1, 2, 4),
                _in_order(32),
                32,
                False,
                f"{_DWORDS} (CDNA3 ISA guide, 'Data share operations')",
            ),
            ConflictRule("any", kind, (8,), _in_order(16), 32, False, _DWORDS),
            ConflictRule("any", kind, (12, 16), _in_order(8), 32, False, _DWORDS),
        )
    ),
)
"""Rules that count LDS bank conflicts; the first that fits an access applies."""


def conflict_rule(target_name: str, kind: str, width: int) -> ConflictRule | None:
    """The rule for an access of `width` bytes per lane; None if the target has no such access."""
    return next(
        (
            rule
            for rule in CONFLICT_RULES
            if rule.target in (target_name, "any") and rule.kind == kind and width in rule.widths
        ),
        None,
    )
