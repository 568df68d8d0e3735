"""The rules of LDS bank conflicts as lds_conflicts.c reads them."""

from __future__ import annotations

from functools import cache

from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.targets import conflict_rule

_KINDS = {"read": abi.LDS_READ, "write": abi.LDS_WRITE, "transpose": abi.LDS_TRANSPOSE}


@cache
def rules(target: str) -> CData:
    """Machine.lds_rules of a target; all zero for accesses that it lacks."""
    table = ffi.new("HkLdsRule[]", abi.LDS_KINDS * abi.LDS_WIDTHS)
    for kind, number in _KINDS.items():
        for dwords in range(1, abi.LDS_WIDTHS + 1):
            rule = conflict_rule(target, kind, 4 * dwords)
            if rule is not None:
                table[number * abi.LDS_WIDTHS + dwords - 1] = {
                    "banks": rule.banks,
                    "phases": len(rule.phases),
                    "measured": rule.measured,
                    "lanes": [sum(1 << lane for lane in phase) for phase in rule.phases],
                }
    return table
