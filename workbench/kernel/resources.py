"""Resources that a wave, or a work-group, of a kernel occupies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.codeobject import KernelInfo
from workbench.codeobject.occupancy import Occupancy, occupancy
from workbench.errors import LaunchError, WorkbenchError
from workbench.kernel.launch import index
from workbench.targets import target


@dataclass(frozen=True)
class Resources:
    """Resources that a wave, or a work-group, of a kernel occupies.

    Attributes:
        vgprs: vector registers of a wave, without accumulation registers.
        agprs: accumulation registers of a wave (AGPRs).
        sgprs: scalar registers of a wave.
        lds: static LDS of a work-group, bytes; what a launch adds is not included.
        scratch: private memory of a work-item, bytes.
        vgpr_spills, sgpr_spills: registers spilled.
        block, dynamic_shared: work-items and dynamic LDS (bytes) of the work-group that `occupancy` is for.
        occupancy: waves that a SIMD holds, and what limits them.
        total_vgprs: both kinds together, as the hardware allocates them.
    """

    vgprs: int
    agprs: int
    sgprs: int
    lds: int
    scratch: int
    vgpr_spills: int
    sgpr_spills: int
    block: int
    dynamic_shared: int
    occupancy: Occupancy
    total_vgprs: int

    def __str__(self) -> str:
        parts = [f"{self.vgprs} VGPR"]
        if self.agprs:
            parts.append(f"{self.agprs} AGPR")
        parts += [f"{self.sgprs} SGPR", f"{self.lds:,} B LDS"]
        if self.scratch:
            parts.append(f"{self.scratch:,} B scratch")
        if self.vgpr_spills or self.sgpr_spills:
            parts.append(f"{self.vgpr_spills} VGPR and {self.sgpr_spills} SGPR spills")
        return ", ".join(parts) + f"; {self.occupancy} at {self.block} work-items"


HEADINGS: Mapping[str, str] = {
    "vgprs": "VGPR",
    "agprs": "AGPR",
    "sgprs": "SGPR",
    "lds": "LDS B",
    "scratch": "scratch B",
    "vgpr_spills": "VGPR spills",
    "sgpr_spills": "SGPR spills",
}
"""Attributes of `Resources` in tables, with their headings."""


def resources_lines(of: Mapping[str, Resources], beside: Mapping[str, str] | None = None) -> list[str]:
    """Resources of one kernel in words; of several kernels as a table, without columns of zeros.

    Args:
        of: resources by row label, such as the kernel's name.
        beside: text for the end of each line, by the same labels.
    """
    ends = beside or {}
    if len(of) < 2:
        return [
            "; ".join(filter(None, (f"{name}: {resources}", ends.get(name))))
            for name, resources in of.items()
        ]
    headings = [at for at in HEADINGS if any(getattr(resources, at) for resources in of.values())]
    rows = [["", *(HEADINGS[at] for at in headings), "waves/SIMD", "work-items", "limited by"]]
    for name, resources in of.items():
        fits = resources.occupancy
        numbers = [f"{getattr(resources, at):,}" for at in headings]
        limit = "wave slots, all filled" if fits.is_full else fits.limit
        rows.append([name, *numbers, f"{fits.waves_per_simd:g}", f"{resources.block:,}", limit])
    # A longer name shifts only its own row.
    widths = [max(min(len(text), 60) for text in column) for column in zip(*rows, strict=True)]
    lines = []
    for name, *numbers, limit in rows:
        columns = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=False)]
        line = "  ".join([name.ljust(widths[0]), *columns, limit.ljust(widths[-1])])
        lines.append(f"{line}  {ends[name]}" if name in ends else line.rstrip())
    return lines


def occupancy_of(info: KernelInfo, arch: str, block: int, dynamic_shared: int = 0) -> Occupancy:
    """Waves that a SIMD holds for this block size and dynamic LDS; formulas in `codeobject.occupancy`.

    Raises:
        LaunchError: the arguments are not such numbers.
        WorkbenchError: no such work-group fits.
    """
    items = _at_least(1, "block", block, "work-items")
    shared = _at_least(0, "dynamic_shared", dynamic_shared, "bytes")
    return occupancy(
        arch,
        # A compiler that was told a maximum of waves allocates more registers than the code uses.
        vgprs=max(info.vgpr_count, info.descriptor.vgpr_count),
        sgprs=info.sgpr_count,
        lds=info.group_segment_size + shared,
        block=items,
        wave_size=info.wave_size,
    )


def _at_least(least: int, name: str, value: Any, unit: str) -> int:
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise LaunchError(f"{name} is {value!r}; expected a number of {unit}, {least} or more")
    return number


def resources_of(info: KernelInfo, arch: str, block: int, dynamic_shared: int = 0) -> Resources:
    """Resources of a work-group of `block` work-items with this many bytes of dynamic LDS.

    Raises:
        WorkbenchError: no such work-group fits.
    """
    # The metadata's vgpr_count is of the unified file: vector registers up to a multiple of 4, then AGPRs.
    return Resources(
        vgprs=info.vgpr_count - info.agpr_count,
        agprs=info.agpr_count,
        sgprs=info.sgpr_count,
        lds=info.group_segment_size,
        scratch=info.private_segment_size,
        vgpr_spills=info.vgpr_spill_count,
        sgpr_spills=info.sgpr_spill_count,
        block=block,
        dynamic_shared=dynamic_shared,
        occupancy=occupancy_of(info, arch, block, dynamic_shared),
        total_vgprs=info.vgpr_count,
    )


def largest(info: KernelInfo, arch: str) -> Resources:
    """Resources of the largest work-group that fits."""
    block = info.max_workgroup_size
    wave = target(arch).wave_size
    while True:
        try:
            return resources_of(info, arch, block)
        except WorkbenchError:
            # Assembly that names high registers, without __launch_bounds__: fewer waves fit.
            if block <= wave:
                raise
            block = max(wave, block // 2)
