"""HW_REG_XCC_ID, HW_REG_HW_ID and HW_REG_STATUS as kernels read them."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.runtime import device
from workbench.targets import TILE_TARGETS, default_product

SOURCE = """
#include <hip/hip_runtime.h>
__global__ void ids(unsigned *out) {
    unsigned xcc, hw, status, valid;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(xcc));
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_HW_ID)" : "=s"(hw));
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(status));
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_STATUS, 16, 1)" : "=s"(valid));
    unsigned *mine = out + 4 * (blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64);
    if (threadIdx.x % 64 == 0) mine[0] = xcc, mine[1] = hw, mine[2] = status, mine[3] = valid;
}
__global__ void flags(unsigned *out) {
    unsigned values[4];
    asm volatile("s_cmp_eq_u32 0, 0\\n\\ts_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(values[0]) : : "scc");
    asm volatile("s_cmp_eq_u32 0, 1\\n\\ts_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(values[1]) : : "scc");
    asm volatile("s_mov_b64 vcc, 0\\n\\ts_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(values[2]) : : "vcc");
    asm volatile("s_mov_b64 vcc, 4\\n\\ts_getreg_b32 %0, hwreg(HW_REG_STATUS)" : "=s"(values[3]) : : "vcc");
    unsigned off;
    unsigned long long kept;
    asm volatile("s_mov_b64 %1, exec\\n\\ts_mov_b64 exec, 0\\n\\ts_getreg_b32 %0, hwreg(HW_REG_STATUS)\\n\\t"
                 "s_mov_b64 exec, %1" : "=s"(off), "=s"(kept));
    for (int i = 0; i < 4; i++) out[i] = values[i];
    out[4] = off;
}
"""

SCC, EXEC_ZERO, VCC_ZERO, IN_GROUP, VALID = 1, 1 << 9, 1 << 10, 1 << 11, 1 << 16


@pytest.fixture(scope="module", params=TILE_TARGETS)
def module(request):
    return wb.compile(SOURCE, arch=request.param, name="ids.hip")


def ids(module, groups, block):
    out = torch.zeros(groups, block // 64, 4, dtype=torch.int32)
    module["ids"].launch(wb.Launch(groups, block, 0), (out,), {}, device=device(f"emulated:{module.arch}"))
    return out.to(torch.int64)


def test_dies_and_compute_units_take_work_groups_in_turn(module):
    facts = default_product(module.arch)
    units = facts.units_per_xcd
    groups = 2 * facts.compute_units
    out = ids(module, groups, 512)
    assert out[:, 0, 0].tolist() == [group % 8 for group in range(groups)]
    hw = out[:, :, 1]
    simd, unit, engine, round_ = hw >> 4 & 3, hw >> 8 & 15, hw >> 13 & 7, hw >> 16 & 15
    assert simd[0].tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert (hw[0] & 15).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    # In the first round each compute unit has one work-group; the second adds another.
    places = list(zip(out[:, 0, 0].tolist(), engine[:, 0].tolist(), unit[:, 0].tolist(), strict=True))
    assert len(set(places[: facts.compute_units])) == facts.compute_units
    assert places[facts.compute_units :] == places[: facts.compute_units]
    assert round_[:, 0].tolist() == [0] * facts.compute_units + [1] * facts.compute_units
    assert int(engine.max()) == 3
    assert int(unit.max()) == -(-units // 4) - 1


def test_status_of_waves_alone_and_together(module):
    assert set(ids(module, 3, 64)[:, :, 3].flatten().tolist()) == {1}
    alone, together = (int(ids(module, 1, block)[0, 0, 2]) for block in (64, 128))
    assert alone & VALID
    assert not alone & IN_GROUP
    assert together & IN_GROUP


def test_status_follows_scc_vcc_and_exec(module):
    out = torch.zeros(5, dtype=torch.int32)
    module["flags"].launch(wb.Launch(1, 64, 0), (out,), {}, device=device(f"emulated:{module.arch}"))
    compared, differed, vcc_zero, vcc_set, exec_zero = out.tolist()
    assert compared & SCC
    assert not differed & SCC
    assert vcc_zero & VCC_ZERO
    assert not vcc_set & VCC_ZERO
    assert exec_zero & EXEC_ZERO
    assert not vcc_zero & EXEC_ZERO


SLEEP = """#include <hip/hip_runtime.h>
__global__ void slept(long long *out) {
    const long long clock = clock64(), wall = wall_clock64();
    for (int i = 0; i < 10; i++) __builtin_amdgcn_s_sleep(127);
    const long long clock_after = clock64(), wall_after = wall_clock64();
    out[0] = clock_after - clock;
    out[1] = wall_after - wall;
    __builtin_amdgcn_s_sleep(100);
    out[2] = wall_clock64() - wall_after;
    out[3] = clock64() - clock_after;
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_wave_that_sleeps_finds_its_cycles_gone(arch: str) -> None:
    """64 for each unit; the constant clock of 100 MHz has a tick for 20 of the 2 GHz clock's cycles."""
    out = torch.zeros(4, dtype=torch.int64)
    wb.compile(SLEEP, arch=arch, name="slept.hip")["slept"][1, 64](out)
    clock, wall, second_wall, second_clock = out.tolist()
    assert clock >= 10 * 127 * 64
    assert wall >= 10 * 127 * 64 // 20
    assert second_wall >= 100 * 64 // 20
    assert second_clock >= 100 * 64
