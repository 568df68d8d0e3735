"""How many waves of a kernel a SIMD holds at once, and what limits them.

Formulas for CDNA2 and later, where vector and accumulation registers share one file (AMD's CDNA3 and CDNA4
ISA guides, chapters "Program organization" and "Kernel state"; register granules as LLVM's AMDGPU backend has
them):

    waves by registers   = floor(512 / ceil8(vector registers of a wave, AGPRs included))   of a SIMD
    waves by SGPRs       = floor(800 / ceil16(scalar registers of a wave))                  of a SIMD
    waves by slots       = 8                                                                 of a SIMD
    work-groups by waves = floor(4 * min(the above) / waves of a work-group)                 of a compute unit
    work-groups by LDS   = floor(LDS of a compute unit / ceil_granule(LDS of a work-group))  of a compute unit
    waves of a SIMD      = work-groups of a compute unit * waves of a work-group / 4
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.errors import WorkbenchError

WAVE = 64
SIMDS = 4
MAX_WAVES = 8
VGPRS = 512
VGPR_GRANULE = 8
SGPRS = 800
SGPR_GRANULE = 16


@dataclass(frozen=True)
class _Lds:
    """LDS of a compute unit and the granule in which it is given out, in bytes."""

    size: int
    granule: int


# CDNA4 hands out LDS in units of 320 dwords, its predecessors in 128 (LLVM's AMDGPUUsage,
# GRANULATED_LDS_SIZE).
_LDS: Mapping[str, _Lds] = {
    "gfx90a": _Lds(64 << 10, 512),
    "gfx942": _Lds(64 << 10, 512),
    "gfx950": _Lds(160 << 10, 1280),
}


@dataclass(frozen=True)
class Occupancy:
    """Waves that fit.

    Attributes:
        waves_per_simd: waves of a SIMD, 8 at most; a fraction where a compute unit's last work-group does not
            fill all four SIMDs.
        groups_per_cu: work-groups of a compute unit.
        limit: what allows no more: "wave slots", "vector registers", "scalar registers", "LDS" or
            "work-group size" (the next whole work-group does not fit into what registers leave).
    """

    waves_per_simd: float
    groups_per_cu: int
    limit: str

    def __str__(self) -> str:
        return f"{self.waves_per_simd:g} waves/SIMD (of {MAX_WAVES}), limited by {self.limit}"


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


def lds_size(arch: str) -> int:
    """Bytes of LDS of a compute unit."""
    return _lds(arch).size


def _lds(arch: str) -> _Lds:
    if arch not in _LDS:
        raise WorkbenchError(f"no LDS size known for {arch!r}; known are {', '.join(_LDS)}")
    return _LDS[arch]


def waves_of_registers(vgprs: int) -> int:
    """Waves of so many vector registers (AGPRs included) that the registers of a compute unit hold."""
    return SIMDS * min(MAX_WAVES, VGPRS // _up(max(vgprs, 1), VGPR_GRANULE))


def occupancy(arch: str, *, vgprs: int, sgprs: int, lds: int, block: int) -> Occupancy:
    """Occupancy of a kernel.

    Args:
        arch: target.
        vgprs: vector registers of a wave, accumulation registers included.
        sgprs: scalar registers of a wave.
        lds: bytes of LDS of a work-group, static and dynamic.
        block: work-items of a work-group.

    Raises:
        WorkbenchError: an unknown target, or a work-group that does not fit at all.
    """
    waves = -(-block // WAVE)
    by_vgprs = VGPRS // _up(max(vgprs, 1), VGPR_GRANULE)
    by_sgprs = SGPRS // _up(max(sgprs, 1), SGPR_GRANULE)
    slots = min(MAX_WAVES, by_vgprs, by_sgprs)
    by_waves = SIMDS * slots // waves
    shared = _lds(arch)
    by_lds = shared.size // _up(lds, shared.granule) if lds else by_waves
    groups = min(by_waves, by_lds)
    if groups < 1:
        need = f"{lds:,} bytes of LDS, {waves} waves of {vgprs} vector registers"
        raise WorkbenchError(
            f"a work-group with {need} does not fit a compute unit of {arch} ({shared.size:,} bytes of LDS, "
            f"{SIMDS} SIMDs of {VGPRS} vector registers)"
        )
    if by_lds < by_waves:
        limit = "LDS"
    elif groups * waves < SIMDS * slots:
        limit = "work-group size"
    elif slots == by_vgprs and by_vgprs < MAX_WAVES:
        limit = "vector registers"
    elif slots == by_sgprs and by_sgprs < MAX_WAVES:
        limit = "scalar registers"
    else:
        limit = "wave slots"
    return Occupancy(groups * waves / SIMDS, groups, limit)
