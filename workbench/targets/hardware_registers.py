"""Names of the registers that s_getreg and s_setreg access, by number (LLVM's AMDGPUAsmUtils.cpp, Hwreg)."""

from __future__ import annotations

from collections.abc import Mapping

GFX9_REGISTERS: Mapping[int, str] = {
    1: "HW_REG_MODE",
    2: "HW_REG_STATUS",
    3: "HW_REG_TRAPSTS",
    4: "HW_REG_HW_ID",
    5: "HW_REG_GPR_ALLOC",
    6: "HW_REG_LDS_ALLOC",
    7: "HW_REG_IB_STS",
    15: "HW_REG_SH_MEM_BASES",
    16: "HW_REG_TBA_LO",
    17: "HW_REG_TBA_HI",
    18: "HW_REG_TMA_LO",
    19: "HW_REG_TMA_HI",
}
GFX940_REGISTERS: Mapping[int, str] = {
    **GFX9_REGISTERS,
    20: "HW_REG_XCC_ID",
    21: "HW_REG_SQ_PERF_SNAPSHOT_DATA",
    22: "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
    23: "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
    24: "HW_REG_SQ_PERF_SNAPSHOT_PC_HI",
}
GFX11_REGISTERS: Mapping[int, str] = {1: "HW_REG_MODE", 29: "HW_REG_SHADER_CYCLES"}
"""Of the registers of RDNA 3, those that the emulated device has; the decoder names the others."""
GFX12_REGISTERS: Mapping[int, str] = {
    1: "HW_REG_MODE",
    29: "HW_REG_SHADER_CYCLES_LO",
    30: "HW_REG_SHADER_CYCLES_HI",
}
"""Of the registers of RDNA 4, those that the emulated device has; the decoder names the others."""
GFX1250_REGISTERS: Mapping[int, str] = {
    1: "HW_REG_MODE",
    26: "HW_REG_WAVE_SCHED_MODE",
    28: "HW_REG_IB_STS2",
}
"""Of the registers of CDNA 5, those that are emulated. A scheduling mode is about hazards alone."""
