"""What Linux's driver reports of a product, beyond what kernels see of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dies:
    """What KFD reports of a target's dies, beyond `Product`.

    Attributes:
        gfx: gfx_target_version, decimal: major, minor, step.
        engines: shader engines of an XCD (AMD's CDNA white papers), each with one array of units.
        slots: compute units of an array, including those that are off.
        copies: SDMA engines, and those for links between GPUs.
    """

    gfx: int
    engines: int
    slots: int
    copies: tuple[int, int]


DIES = {
    "gfx90a": Dies(gfx=90010, engines=8, slots=14, copies=(2, 3)),
    "gfx942": Dies(gfx=90402, engines=4, slots=10, copies=(2, 14)),
    "gfx950": Dies(gfx=90500, engines=4, slots=9, copies=(2, 14)),
}

PCI_IDS = {
    "MI210": (0x740F, 2),
    "MI300X": (0x74A1, 0),
    "MI325X": (0x74A5, 0),
    "MI350X": (0x75A0, 0),
    "MI355X": (0x75A3, 0),
}
"""PCI device and revision by product: libdrm's amdgpu.ids, where the runtime looks for the name."""

IP_VERSIONS = {"gfx90a": (9, 0, 10), "gfx942": (9, 4, 3), "gfx950": (9, 5, 0)}
