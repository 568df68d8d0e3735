"""Performance counters that a program selects and reads by PM4 packets, as AMD's profilers and tinygrad do.

The registers are those of gfx942 and gfx950 (gc_9_4_3_offset.h of Linux's amdgpu driver), the numbers of
events those of rocprofiler-sdk's counter_defs.yaml. Values are `profile.counters`', under the same names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench import errors
from workbench.codeobject import CodeObject
from workbench.emulator.kfd.library import shared
from workbench.emulator.native.abi import CData
from workbench.emulator.node import clock
from workbench.launches import LaunchRecord

_REGISTERS = {
    "SQ": ([0xD9C0 + i for i in range(16)], [0xD1C0 + 2 * i for i in range(16)]),
    "GRBM": ([0xD840, 0xD841], [0xD040, 0xD043]),
    "TCP": ([0xDB40, 0xDB42, 0xDB44, 0xDB45], [0xD340, 0xD342, 0xD344, 0xD346]),
    "TCC": ([0xDB80, 0xDB82, 0xDB84, 0xDB85], [0xD380, 0xD382, 0xD384, 0xD386]),
}
"""By block: the registers that select its events, and the lower halves of the counters."""

_COUNTERS = {
    select: (block, low)
    for block, (selects, lows) in _REGISTERS.items()
    for select, low in zip(selects, lows, strict=True)
}
_SELECTS = range(shared.SELECTS_START, shared.SELECTS_END)
# Beside the selects: CP_PERFMON_CNTL, SQ_PERFCOUNTER_CTRL, _MASK and _CTRL2.
_CONTROLS = {shared.CP_PERFMON_CNTL, 0xD9E0, 0xD9E1, 0xD9E2}
_EVENT_MASK = 0x3FF

EVENTS: Mapping[str, tuple[int | None, int | None]] = {
    "SQ_BUSY_CYCLES": (3, 3),
    "SQ_WAVES": (4, 4),
    "SQ_INSTS": (25, 25),
    "SQ_INSTS_VALU": (26, 26),
    "SQ_INSTS_VALU_ADD_F16": (27, 27),
    "SQ_INSTS_VALU_MUL_F16": (28, 28),
    "SQ_INSTS_VALU_FMA_F16": (29, 29),
    "SQ_INSTS_VALU_TRANS_F16": (30, 30),
    "SQ_INSTS_VALU_ADD_F32": (31, 31),
    "SQ_INSTS_VALU_MUL_F32": (32, 32),
    "SQ_INSTS_VALU_FMA_F32": (33, 33),
    "SQ_INSTS_VALU_TRANS_F32": (34, 34),
    "SQ_INSTS_VALU_ADD_F64": (35, 35),
    "SQ_INSTS_VALU_MUL_F64": (36, 36),
    "SQ_INSTS_VALU_FMA_F64": (37, 37),
    "SQ_INSTS_VALU_TRANS_F64": (38, 38),
    "SQ_INSTS_VALU_MFMA_I8": (42, 42),
    "SQ_INSTS_VALU_MFMA_F16": (43, 43),
    "SQ_INSTS_VALU_MFMA_BF16": (44, 44),
    "SQ_INSTS_VALU_MFMA_F32": (45, 45),
    "SQ_INSTS_VALU_MFMA_F64": (46, 46),
    "SQ_INSTS_VALU_MFMA_F8": (48, 48),
    "SQ_INSTS_VALU_MFMA_F6F4": (None, 49),
    "SQ_INSTS_VALU_MFMA_MOPS_I8": (49, 50),
    "SQ_INSTS_VALU_MFMA_MOPS_F16": (50, 51),
    "SQ_INSTS_VALU_MFMA_MOPS_BF16": (51, 52),
    "SQ_INSTS_VALU_MFMA_MOPS_F32": (52, 53),
    "SQ_INSTS_VALU_MFMA_MOPS_F64": (53, 54),
    "SQ_INSTS_VALU_MFMA_MOPS_F8": (55, 56),
    "SQ_INSTS_VALU_MFMA_MOPS_F6F4": (None, 57),
    "SQ_INSTS_MFMA": (56, 58),
    "SQ_INSTS_VMEM_WR": (57, 59),
    "SQ_INSTS_VMEM_RD": (58, 60),
    "SQ_INSTS_VMEM": (59, 61),
    "SQ_INSTS_SALU": (60, 62),
    "SQ_INSTS_SMEM": (61, 63),
    "SQ_INSTS_FLAT": (62, 64),
    "SQ_INSTS_LDS": (65, 67),
    "SQ_INSTS_BRANCH": (69, 71),
    "SQ_INSTS_SENDMSG": (70, 72),
    "SQ_VALU_MFMA_BUSY_CYCLES": (77, 93),
    "SQ_WAVE_CYCLES": (79, 95),
    "SQ_WAIT_ANY": (90, 106),
    "SQ_WAIT_INST_ANY": (93, 109),
    "SQ_WAIT_INST_LDS": (96, 112),
    "SQ_LDS_BANK_CONFLICT": (126, 142),
    "SQ_LDS_IDX_ACTIVE": (131, 147),
    "GRBM_GUI_ACTIVE": (2, 2),
    "TCP_TOTAL_CACHE_ACCESSES_sum": (60, 58),
    "TCP_TCC_READ_REQ_sum": (65, 68),
    "TCP_TCC_WRITE_REQ_sum": (66, 69),
    "TCP_TCC_ATOMIC_WITH_RET_REQ_sum": (67, 70),
    "TCP_TCC_ATOMIC_WITHOUT_RET_REQ_sum": (68, 71),
    "TCC_REQ_sum": (3, 6),
    "TCC_READ_sum": (12, 16),
    "TCC_WRITE_sum": (13, 17),
    "TCC_ATOMIC_sum": (14, 18),
    "TCC_HIT_sum": (17, 21),
    "TCC_MISS_sum": (19, 23),
    "TCC_EA0_WRREQ_sum": (26, 30),
    "TCC_EA0_WRREQ_64B_sum": (27, 31),
    "TCC_EA0_RDREQ_sum": (38, 42),
    "TCC_EA0_RDREQ_32B_sum": (39, 43),
    "TCC_EA0_RDREQ_128B_sum": (None, 45),
    "TCC_BUBBLE_sum": (56, None),
}
"""Numbers of the events on gfx942 and on gfx950, by the counters' names, which begin with the block."""

_COLUMNS = {"gfx942": 0, "gfx950": 1}

Counted = Callable[[LaunchRecord, CodeObject, int], None]


class Counters:
    """The counters of one device.

    Args:
        registers: its registers from UCONFIG_START on.
        arch: its target.
        others: receives each launch, too; None for nobody.
    """

    def __init__(self, registers: CData, arch: str, others: Counted | None) -> None:
        self._registers = registers
        self._arch = arch
        self._others = others
        column = _COLUMNS.get(arch)
        self._names = (
            {}
            if column is None
            else {(name.partition("_")[0], numbers[column]): name for name, numbers in EVENTS.items()}
        )
        self._selected: dict[int, str] = {}

    def of_launch(self) -> Counted | None:
        """What is to receive the launch that is about to run.

        Raises:
            DeviceError: an event is selected that is not counted.
        """
        control = self._registers[shared.CP_PERFMON_CNTL - shared.UCONFIG_START]
        if control & 15 != 1:  # Counting has not begun.
            return self._others
        self._selected = {}
        for register in _SELECTS:
            value = self._registers[register - shared.UCONFIG_START]
            if value & _EVENT_MASK and register not in _CONTROLS:
                name, low = self._event(register, value & _EVENT_MASK)
                self._selected[low] = name
        return self._count if self._selected else self._others

    def _event(self, register: int, number: int) -> tuple[str, int]:
        """An event's name, and the register that counts it."""
        block, low = _COUNTERS.get(register, ("", 0))
        name = self._names.get((block, number))
        if name is None:
            place = f"block {block}" if block else f"the block with register {register:#x}"
            names = [name for (of, known), name in self._names.items() if of == block and known is not None]
            choices = (
                f"choose one of {', '.join(names)}"
                if names
                else (f"it counts events of {', '.join(_REGISTERS)} on {' and '.join(_COLUMNS)}")
            )
            raise errors.DeviceError(
                f"a program has selected event {number} of {place}, which the emulated device does not count "
                f"on {self._arch}: {choices}",
                0,
            )
        return name, low

    def _count(self, record: LaunchRecord, code: CodeObject, argument_bytes: int) -> None:
        if self._others is not None:
            self._others(record, code, argument_bytes)
        figures = clock.loaded_model().counters(code.data, record, argument_bytes)
        for low, name in self._selected.items():
            at = low - shared.UCONFIG_START
            value = self._registers[at] | self._registers[at + 1] << 32
            value += round(figures[name].value) if name in figures else 0
            self._registers[at], self._registers[at + 1] = value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF


__all__ = ["EVENTS", "Counted", "Counters"]
