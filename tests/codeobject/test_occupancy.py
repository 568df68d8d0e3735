"""Occupancy against cases worked out by hand from the register and LDS files of CDNA3 and CDNA4."""

from __future__ import annotations

import pytest

from workbench.codeobject.occupancy import occupancy
from workbench.errors import WorkbenchError


@pytest.mark.parametrize(
    ("vgprs", "block", "waves"),
    [
        (1, 64, 8),
        (64, 256, 8),
        (65, 256, 7),
        (72, 256, 7),
        (128, 256, 4),
        (129, 256, 3),
        (256, 256, 2),
        (257, 256, 1),
    ],
)
def test_vector_registers(vgprs, block, waves):
    assert occupancy("gfx950", vgprs=vgprs, sgprs=16, lds=0, block=block).waves_per_simd == waves


@pytest.mark.parametrize(("wave_size", "registers", "waves"), [(32, 100, 8), (32, 256, 4), (64, 256, 2)])
def test_a_register_of_half_as_many_lanes_takes_half(wave_size, registers, waves):
    """A SIMD of CDNA has 512 registers of 64 lanes: 1,024 of 32."""
    fits = occupancy("gfx942", vgprs=registers, sgprs=16, lds=0, block=256, wave_size=wave_size)
    assert fits.waves_per_simd == waves


def test_limits_are_named():
    full = occupancy("gfx942", vgprs=8, sgprs=16, lds=0, block=256)
    assert (full.limit, full.limited_by) == ("wave slots", "all wave slots filled")
    assert (
        occupancy("gfx942", vgprs=256, sgprs=16, lds=0, block=256).limited_by == "limited by vector registers"
    )
    assert occupancy("gfx942", vgprs=128, sgprs=16, lds=0, block=256).limit == "vector registers"
    assert occupancy("gfx942", vgprs=8, sgprs=112, lds=0, block=256).limit == "scalar registers"
    assert occupancy("gfx942", vgprs=8, sgprs=112, lds=0, block=256).waves_per_simd == 7
    assert occupancy("gfx942", vgprs=8, sgprs=16, lds=32768, block=256).limit == "LDS"
    # 5 waves a SIMD hold 20 of a CU; only one work-group of 16 fits.
    large = occupancy("gfx942", vgprs=96, sgprs=16, lds=0, block=1024)
    assert (large.waves_per_simd, large.groups_per_cu, large.limit) == (4, 1, "work-group size")


def test_lds_differs_by_target():
    def groups(arch, lds):
        return occupancy(arch, vgprs=8, sgprs=16, lds=lds, block=256).groups_per_cu

    assert groups("gfx942", 64 << 10) == 1
    assert groups("gfx950", 64 << 10) == 2
    assert groups("gfx950", 160 << 10) == 1
    # 32 KiB are 25.6 granules of 1280 bytes: 26, and 128 / 26 = 4 work-groups fit.
    assert groups("gfx950", 32 << 10) == 4


def test_misfits_are_errors():
    with pytest.raises(WorkbenchError, match="does not fit a compute unit of gfx942"):
        occupancy("gfx942", vgprs=8, sgprs=16, lds=80 << 10, block=64)
    with pytest.raises(WorkbenchError, match="does not fit"):
        occupancy("gfx950", vgprs=256, sgprs=16, lds=0, block=1024)
