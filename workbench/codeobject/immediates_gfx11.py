"""The immediates of gfx11, gfx12 and gfx1250: waits, delays, messages, hardware registers.

Sources: RDNA3 and RDNA4 ISA guides, S_DELAY_ALU, S_WAITCNT_DEPCTR, S_WAIT_ALU, S_SENDMSG; LLVM's names for
gfx1250.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.codeobject.instruction import Instruction

_DELAYS = (
    "",
    *(f"VALU_DEP_{n}" for n in range(1, 5)),
    *(f"TRANS32_DEP_{n}" for n in range(1, 4)),
    "FMA_ACCUM_CYCLE_1",
    *(f"SALU_CYCLE_{n}" for n in range(1, 4)),
)
_SKIPS = ("SAME", "NEXT", *(f"SKIP_{n}" for n in range(1, 5)))

# Field of s_wait_alu (s_waitcnt_depctr before gfx12): lowest bit, width, in the order in which LLVM prints.
_DEPENDENCIES = {
    "hold_cnt": (7, 1),
    "sa_sdst": (0, 1),
    "va_vdst": (12, 4),
    "va_sdst": (9, 3),
    "va_ssrc": (8, 1),
    "va_vcc": (1, 1),
    "vm_vsrc": (2, 3),
}
_NO_DEPENDENCY = sum((1 << width) - 1 << low for low, width in _DEPENDENCIES.values())

# Counts of gfx11's s_waitcnt: lowest bit, width.
_WAITCNT = {"vmcnt": (10, 6), "expcnt": (0, 3), "lgkmcnt": (4, 6)}

_COUNTER_BITS = 6
"""Bits of each counter in s_wait_*cnt."""


@dataclass(frozen=True, slots=True)
class Delay:
    """An s_delay_alu, a hint of the compiler without effect on results.

    Attributes:
        first: dependency that the next instruction waits for: "VALU_DEP_1" is the last vector instruction
            before it; "" for none.
        skip: instructions between that one and the second that waits: 0 if it is the same, 1 if the next.
        second: dependency of the second; "" for none.
        reserved: True if a field has a value without meaning.
    """

    first: str
    skip: int
    second: str
    reserved: bool


def delay(field: int) -> Delay:
    """The meaning of the immediate of an s_delay_alu."""
    first, skip, second = field & 15, field >> 4 & 7, field >> 7 & 15
    reserved = max(first, second) >= len(_DELAYS) or skip >= len(_SKIPS)
    if reserved:
        return Delay("", skip, "", True)
    return Delay(_DELAYS[first], skip, _DELAYS[second], False)


def delay_text(field: int) -> str:
    """The immediate of an s_delay_alu as LLVM writes it."""
    first, skip, second = field & 15, field >> 4 & 7, field >> 7 & 15
    parts = []
    for name, value, names in (
        ("instid0", first, _DELAYS),
        ("instskip", skip, _SKIPS),
        ("instid1", second, _DELAYS),
    ):
        if value:
            word = names[value] if value < len(names) else f"/* invalid {name.rstrip('01')} value */"
            parts.append(f"{name}({word})")
    return " | ".join(parts) or "0"


def dependencies(field: int) -> Mapping[str, int]:
    """The counts that an s_wait_alu waits for, by counter; none of a counter whose bits are all ones."""
    counts = {name: field >> low & (1 << width) - 1 for name, (low, width) in _DEPENDENCIES.items()}
    return {n: count for n, count in counts.items() if count != (1 << _DEPENDENCIES[n][1]) - 1}


def dependencies_text(field: int) -> str:
    """The immediate of an s_wait_alu as LLVM writes it."""
    # Bits 4 to 6 mean nothing; the assembler leaves the lower two of them set and bits 5 and 6 clear.
    if field & ~_NO_DEPENDENCY:
        return f"{field:#x}"
    counts = dependencies(field)
    if not counts:
        counts = {name: (1 << width) - 1 for name, (_, width) in _DEPENDENCIES.items()}
    return " ".join(f"depctr_{name}({count})" for name, count in counts.items())


def waitcnt(field: int) -> Mapping[str, int]:
    """The counts that gfx11's s_waitcnt waits for, by counter; none of a counter whose bits are all ones."""
    counts = {name: field >> low & (1 << width) - 1 for name, (low, width) in _WAITCNT.items()}
    return {name: count for name, count in counts.items() if count != (1 << _WAITCNT[name][1]) - 1}


def waitcnt_text(field: int) -> str:
    """The immediate of gfx11's s_waitcnt as LLVM writes it."""
    counts = waitcnt(field) or {name: (1 << width) - 1 for name, (_, width) in _WAITCNT.items()}
    return " ".join(f"{name}({count})" for name, count in counts.items())


def wait_counts(instruction: Instruction) -> Mapping[str, int]:
    """Requests that may still be under way after a wait, by counter; empty if it waits for none.

    Counters: vmcnt, expcnt and lgkmcnt of gfx11's s_waitcnt, vscnt of its s_waitcnt_vscnt; loadcnt, storecnt,
    samplecnt, bvhcnt, expcnt, dscnt and kmcnt of gfx12, and asynccnt, tensorcnt and xcnt of gfx1250.
    """
    for entry, operand in zip(instruction.form.entries, instruction.src, strict=False):
        if entry.kind == "waitcnt":
            return waitcnt(int(operand.value or 0))
    counters = {name: int(low) for name, low in instruction.form.modifiers.items() if name.endswith("cnt")}
    if not counters:
        return {}
    field = int(instruction.src[-1].value or 0)
    return {name: field >> low & (1 << _COUNTER_BITS) - 1 for name, low in counters.items()}


_VERSIONS = {0: "GFX7", 4: "GFX10", 6: "GFX11", 9: "GFX12"}
_W64, _W32, _MDP = 1 << 13, 1 << 14, 1 << 15


def version_text(field: int) -> str:
    """The immediate of an s_version as LLVM writes it."""
    number = field & 0xFF
    if number not in _VERSIONS or field & 0x1F00:
        return str(field) if field <= 64 else f"{field:#x}"
    text = f"UC_VERSION_{_VERSIONS[number]}"
    places = [name for bit, name in ((_W64, "W64_BIT"), (_W32, "W32_BIT"), (_MDP, "MDP_BIT")) if field & bit]
    for place, name in enumerate(places):
        text = f"({text})|UC_VERSION_{name}" if place else f"{text}|UC_VERSION_{name}"
    return text


_MESSAGES = {
    1: "MSG_INTERRUPT",
    2: "MSG_HS_TESSFACTOR",
    3: "MSG_DEALLOC_VGPRS",
    9: "MSG_GS_ALLOC_REQ",
    128: "MSG_RTN_GET_DOORBELL",
    129: "MSG_RTN_GET_DDID",
    130: "MSG_RTN_GET_TMA",
    131: "MSG_RTN_GET_REALTIME",
    132: "MSG_RTN_SAVE_WAVE",
    133: "MSG_RTN_GET_TBA",
    134: "MSG_RTN_GET_TBA_TO_PC",
}
_MESSAGES_BY_TARGET: Mapping[str, Mapping[int, str]] = {
    "gfx11": {**_MESSAGES, 5: "MSG_STALL_WAVE_GEN", 6: "MSG_HALT_WAVES"},
    "gfx12": {**_MESSAGES, 135: "MSG_RTN_GET_SE_AID_ID"},
    "gfx1250": {
        **_MESSAGES,
        10: "MSG_SAVEWAVE_HAS_TDM",
        135: "MSG_RTN_GET_SE_AID_ID",
        136: "MSG_RTN_GET_CLUSTER_BARRIER_STATE",
    },
}
_GFX12_REGISTERS = {
    1: "WAVE_MODE",
    2: "WAVE_STATUS",
    4: "WAVE_STATE_PRIV",
    5: "WAVE_GPR_ALLOC",
    6: "WAVE_LDS_ALLOC",
    7: "IB_STS",
    10: "PERF_SNAPSHOT_DATA",
    11: "PERF_SNAPSHOT_PC_LO",
    12: "PERF_SNAPSHOT_PC_HI",
    15: "PERF_SNAPSHOT_DATA1",
    16: "PERF_SNAPSHOT_DATA2",
    17: "WAVE_EXCP_FLAG_PRIV",
    18: "WAVE_EXCP_FLAG_USER",
    19: "WAVE_TRAP_CTRL",
    20: "WAVE_SCRATCH_BASE_LO",
    21: "WAVE_SCRATCH_BASE_HI",
    23: "WAVE_HW_ID1",
    24: "WAVE_HW_ID2",
    26: "WAVE_SCHED_MODE",
    29: "SHADER_CYCLES_LO",
    30: "SHADER_CYCLES_HI",
    31: "WAVE_DVGPR_ALLOC_LO",
    32: "WAVE_DVGPR_ALLOC_HI",
}
_REGISTERS_BY_TARGET: Mapping[str, Mapping[int, str]] = {
    "gfx11": {
        1: "MODE",
        2: "STATUS",
        3: "TRAPSTS",
        5: "GPR_ALLOC",
        6: "LDS_ALLOC",
        7: "IB_STS",
        15: "SH_MEM_BASES",
        18: "PERF_SNAPSHOT_PC_LO",
        19: "PERF_SNAPSHOT_PC_HI",
        20: "FLAT_SCR_LO",
        21: "FLAT_SCR_HI",
        23: "HW_ID1",
        24: "HW_ID2",
        27: "PERF_SNAPSHOT_DATA",
        29: "SHADER_CYCLES",
    },
    "gfx12": _GFX12_REGISTERS,
    "gfx1250": {**_GFX12_REGISTERS, 28: "IB_STS2", 33: "XNACK_STATE_PRIV", 34: "XNACK_MASK"},
}


def message_text(field: int, generation: str) -> str:
    """The immediate of an s_sendmsg as LLVM writes it."""
    number = field & 0xFF
    name = _MESSAGES_BY_TARGET[generation].get(number)
    return f"sendmsg({name})" if name else f"sendmsg({number}, 0, 0)"


def register_text(field: int, generation: str) -> str:
    """The immediate of an s_getreg or s_setreg as LLVM writes it."""
    number, offset, size = field & 63, field >> 6 & 31, (field >> 11 & 31) + 1
    known = _REGISTERS_BY_TARGET[generation].get(number)
    name = f"HW_REG_{known}" if known else str(number)
    return f"hwreg({name})" if (offset, size) == (0, 32) else f"hwreg({name}, {offset}, {size})"
