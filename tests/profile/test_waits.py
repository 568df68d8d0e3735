"""Busy and waiting cycles under rocprof's names: they add up, and match the kernel's waits."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.origin import Origin
from workbench.targets import TILE_TARGETS

SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void chase(const int *next, int *to) {
    int at = threadIdx.x;
    for (int i = 0; i < 64; i++) at = next[at];
    to[threadIdx.x] = at;
}
typedef float f16 __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
extern "C" __global__ void matrices(const int *from, int *to) {
    f16 c = 0;
    h4 a = (_Float16)from[threadIdx.x];
    asm volatile(".rept 512\\nv_mfma_f32_32x32x8_f16 %0, %1, %1, %0\\n.endr" : "+v"(c) : "v"(a));
    to[threadIdx.x] = c[0];
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_waves_issue_wait_or_wait_to_issue(arch):
    module = wb.compile(SOURCE, arch=arch, name="waits.hip")
    tables = torch.randperm(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int32)
    seen = {}
    for name in ("chase", "matrices"):
        counters = wb.profile(module[name][304, 256], *tables, device=f"emulated:{arch}").counters
        seen[name] = {key: figure.value for key, figure in counters.items()}
        assert {counters[key].origin for key in ("SQ_WAIT_ANY", "SQ_BUSY_CYCLES", "MfmaUtil")} == {
            Origin.MODELLED
        }
    for counts in seen.values():
        parts = counts["SQ_INSTS"] + counts["SQ_WAIT_ANY"] + counts["SQ_WAIT_INST_ANY"]
        assert counts["SQ_WAVE_CYCLES"] == pytest.approx(parts, rel=0.02)
        assert 0 < counts["SQ_BUSY_CYCLES"] < 4 * counts["GRBM_GUI_ACTIVE"]
    assert seen["chase"]["SQ_WAIT_ANY"] > 0.8 * seen["chase"]["SQ_WAVE_CYCLES"]
    assert seen["chase"]["MfmaUtil"] == 0
    assert seen["matrices"]["SQ_WAIT_INST_ANY"] > 0.5 * seen["matrices"]["SQ_WAVE_CYCLES"]
    assert seen["matrices"]["MfmaUtil"] > 50
