"""Occupancy: the waves of a kernel that a SIMD holds at once, and the resource that limits them.

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

from dataclasses import dataclass

from workbench.errors import WorkbenchError
from workbench.targets import target


@dataclass(frozen=True)
class Occupancy:
    """Waves of a kernel that a compute unit holds at once, and the resource that limits them.

    Attributes:
        waves_per_simd: waves on each SIMD; a fraction if a compute unit's last work-group does not fill all
            of its SIMDs.
        groups_per_cu: work-groups on each compute unit.
        limit: the limiting resource: "wave slots", "vector registers", "scalar registers", "LDS" or
            "work-group size" (the registers left do not suffice for another whole work-group).
        most: number of wave slots of a SIMD.
    """

    waves_per_simd: float
    groups_per_cu: int
    limit: str
    most: int

    @property
    def is_full(self) -> bool:
        """True if the waves fill all slots, so that no resource limits them."""
        return self.waves_per_simd == self.most

    @property
    def limited_by(self) -> str:
        """The limit in words."""
        return "all wave slots filled" if self.is_full else f"limited by {self.limit}"

    def __str__(self) -> str:
        return f"{self.waves_per_simd:g} waves/SIMD (of {self.most}), {self.limited_by}"


def _up(value: int, granule: int) -> int:
    return -(-value // granule) * granule


def waves_of_registers(arch: str, vgprs: int, wave_size: int | None = None) -> int:
    """Number of waves with this many vector registers (including AGPRs) that fit into a compute unit.

    Args:
        wave_size: lanes of a wave, if they are not the target's usual ones.
    """
    unit = target(arch)
    registers, granule = unit.registers_of(wave_size or unit.wave_size)
    return unit.simds * min(unit.waves_per_simd, registers // _up(max(vgprs, 1), granule))


def occupancy(
    arch: str, *, vgprs: int, sgprs: int, lds: int, block: int, wave_size: int | None = None
) -> Occupancy:
    """Occupancy of a kernel.

    Args:
        arch: target.
        vgprs: vector registers of a wave, accumulation registers included.
        sgprs: scalar registers of a wave.
        lds: bytes of LDS of a work-group, static and dynamic.
        block: work-items of a work-group.
        wave_size: lanes of a wave, if they are not the target's usual ones.

    Raises:
        WorkbenchError: an unknown target, or a work-group that does not fit at all.
    """
    unit = target(arch)
    waves = -(-block // (wave_size or unit.wave_size))
    registers, granule = unit.registers_of(wave_size or unit.wave_size)
    by_vgprs = registers // _up(max(vgprs, 1), granule)
    by_sgprs = unit.sgprs // _up(max(sgprs, 1), unit.sgpr_granule)
    if unit.wave_sgprs is not None:
        # Every slot of a wave has its scalar registers.
        by_sgprs = unit.waves_per_simd
    slots = min(unit.waves_per_simd, by_vgprs, by_sgprs)
    by_waves = unit.simds * slots // waves
    by_lds = unit.lds_bytes // unit.lds_given(lds) if lds else by_waves
    groups = min(by_waves, by_lds)
    if groups < 1:
        need = f"{lds:,} bytes of LDS, {waves} waves of {vgprs} vector registers"
        raise WorkbenchError(
            f"a work-group with {need} does not fit a compute unit of {arch} ({unit.lds_bytes:,} bytes of "
            f"LDS, {unit.simds} SIMDs of {registers} vector registers)"
        )
    if by_lds < by_waves:
        limit = "LDS"
    elif groups * waves < unit.simds * slots:
        limit = "work-group size"
    elif slots == by_vgprs and by_vgprs < unit.waves_per_simd:
        limit = "vector registers"
    elif slots == by_sgprs and by_sgprs < unit.waves_per_simd:
        limit = "scalar registers"
    else:
        limit = "wave slots"
    return Occupancy(groups * waves / unit.simds, groups, limit, unit.waves_per_simd)
