"""Names of registers by their numbers, as in assembly."""

from __future__ import annotations

_SCALARS = {
    **{102: "flat_scratch_lo", 103: "flat_scratch_hi", 104: "xnack_mask_lo", 105: "xnack_mask_hi"},
    **{106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo", 127: "exec_hi", 128: "scc", 129: "mode"},
}


def scalar_name(number: int) -> str:
    """Name of a scalar register by its number as an operand; 128 is SCC, 129 MODE."""
    return _SCALARS.get(number, f"s{number}")


def register_name(row: int, acc_offset: int) -> str:
    """Name of a vector register by its row; AGPRs follow the VGPRs."""
    return f"a{row - acc_offset}" if 0 < acc_offset <= row else f"v{row}"
