"""Costs of single instructions: counts by hand, stalls against the walk, rocprofv3's measurements."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.codeobject.rows import row
from workbench.codeobject.instruction import Instruction
from workbench.origin import Origin
from workbench.profile.flow import flow, stalls, walk
from workbench.profile.instructions import InstructionProfile, latest, measured, remember
from workbench.profile.rocprof.instructions import InstructionCost
from workbench.runtime import LaunchOptions, device
from workbench.targets import GFX950

SOURCE = """\
#include <hip/hip_runtime.h>
extern "C" __global__ void columns(const float *x, float *out, int stride) {
    __shared__ float kept[64 * 64];
    float value = x[threadIdx.x * 32];
    kept[threadIdx.x * stride] = value;
    __syncthreads();
    out[threadIdx.x] = kept[(63 - threadIdx.x) * stride];
}
"""
LINE_OF = {text.strip(): number for number, text in enumerate(SOURCE.splitlines(), 1)}


@pytest.fixture(scope="module")
def module():
    return wb.compile(SOURCE, arch="gfx950", name="columns.hip")


@pytest.fixture(scope="module")
def result(module):
    raw = torch.zeros(2048 + 32)
    x = raw[-raw.data_ptr() % 128 // 4 :][:2048]
    return wb.profile(module["columns"][3, 64], x, torch.zeros(64), 32)


def line(result, text):
    (row,) = [v for (_, number), v in result.lines.items() if number == LINE_OF[text]]
    return row.values


def test_each_line_has_its_own(result):
    """Three work-groups of one wave, dwords 32 apart: 32 lanes on one bank, two phases, 31 cycles lost."""
    load = line(result, "float value = x[threadIdx.x * 32];")
    assert (load["bytes"], load["bytes_moved"]) == (3 * 64 * 4, 3 * 64 * 64)
    assert load.get("bank_conflicts", 0) == 0
    write = line(result, "kept[threadIdx.x * stride] = value;")
    assert write["bank_conflicts"] == 3 * 62
    assert write["lds_bytes"] == 3 * 64 * 4
    store = line(result, "out[threadIdx.x] = kept[(63 - threadIdx.x) * stride];")
    assert (store["bytes"], store["bank_conflicts"]) == (3 * 64 * 4, 3 * 62)


def test_sums_are_the_counters(result):
    def total(key):
        return sum(v.get(key, 0) for v in result.instructions.values.values())

    assert total("instructions") == result["SQ_INSTS"].value
    assert total("bank_conflicts") == result["SQ_LDS_BANK_CONFLICT"].value
    assert total("bytes") + result.record.counters["scalar_bytes_read"] == (
        result["bytes_read"].value + result["bytes_written"].value
    )
    assert total("lds_bytes") == result["lds_bytes_read"].value + result["lds_bytes_written"].value
    assert total("bytes_moved") == 64 * result["TCP_TOTAL_CACHE_ACCESSES_sum"].value
    origins = {m.key: m.origin for m in result.instructions.measures}
    modelled = ["time_cycles", "issue_cycles", "stall_cycles", "bank_conflicts"]
    assert [k for k, o in origins.items() if o is Origin.MODELLED] == modelled


def test_stalls_stand_at_the_waits(module, result):
    """A wave waits for the load before it writes to LDS, and for LDS before it stores."""
    waits = {a for a in result.record.counts if module.instruction(a).opcode == "s_waitcnt"}
    profile = result.instructions
    waited = {a for a, reasons in profile.reasons.items() if {"WAIT_MEMORY", "WAIT_LDS"} & reasons.keys()}
    assert waited & waits
    ends = {a for a in result.record.counts if module.instruction(a).opcode == "s_endpgm"}
    assert waited <= waits | ends
    assert all(
        sum(r.values()) == pytest.approx(profile.value(a, "stall_cycles")) for a, r in profile.reasons.items()
    )


def instruction(address, opcode, form, words=(0, 0)):
    return Instruction(address, 8, opcode, opcode, form, (), (), {}, words, row(opcode))


def test_stalls_add_up_to_the_walk():
    code = [
        instruction(0, "global_load_dwordx4", "GLOBAL"),
        instruction(8, "v_mfma_f32_16x16x32_bf16", "VOP3P_MAI"),
        instruction(16, "v_mfma_f32_16x16x32_bf16", "VOP3P_MAI"),
        instruction(24, "s_waitcnt", "SOPP", (0xBF8C0F70, 0)),
        instruction(32, "s_endpgm", "SOPP"),
    ]
    waves, timing = 7, GFX950.timing
    blocks = flow(dict.fromkeys(range(0, 40, 8), waves), {i.address: i for i in code}, timing)
    stall_cycles = stalls(blocks, timing, memory_latency=500.0, lds_cycles=4.0)
    # The second MFMA waits for 12 of the first one's 16 cycles; the load is in flight meanwhile.
    assert stall_cycles == {16: 12.0 * waves, 24: (500.0 - 3 * timing.turn - 12) * waves}
    together = walk(blocks, waves, timing, memory_latency=500.0, lds_cycles=4.0)
    assert sum(stall_cycles.values()) / waves + 5 * timing.turn == pytest.approx(together.total)


def test_what_rocprofv3_measured():
    assert measured({}) is None
    assert measured({0: InstructionCost("s_nop")}) is None
    traced = measured({0: InstructionCost("s_nop", hits=4, latency=40, stall=10, idle=6)})
    assert [m.key for m in traced.measures] == ["issue_cycles", "stall_cycles", "instructions"]
    assert {m.origin for m in traced.measures} == {Origin.MEASURED}
    assert traced.values[0] == {"issue_cycles": 30, "stall_cycles": 16, "instructions": 4}
    assert traced.executions == {0: 4}
    sampled = measured({8: InstructionCost("s_nop", samples=9)})
    assert [m.key for m in sampled.measures] == ["samples"]
    assert sampled.executions is None


def test_the_latest_is_of_the_last_counted_launch(module):
    kernel = wb.compile(SOURCE, arch="gfx950", name="other.hip")["columns"]
    assert latest(kernel) is None

    def launch(groups, **options):
        kernel.launch(
            wb.Launch(groups, 64, 0),
            (torch.zeros(2048), torch.zeros(64), 1),
            {},
            device=device("emulated:gfx950"),
            options=LaunchOptions(**options),
        )

    launch(2, count=True)
    first = min(latest(kernel).executions)
    assert latest(kernel).executions[first] == 2
    # A launch that was only counted has neither conflicts nor bytes.
    assert [m.key for m in latest(kernel).measures] == ["issue_cycles", "instructions", "stall_cycles"]
    profile = InstructionProfile((), {}, {first: 99})
    remember(kernel, profile)
    assert latest(kernel).executions[first] == 2
    launch(3)
    assert latest(kernel) is profile


def test_time_is_charged_to_what_waves_waited_for(module, result):
    """Cycles add up to the waves' lives; a wait is charged to its load, whose issue is far shorter."""
    profile = result.instructions
    assert profile.measures[0].key == "time_cycles"
    run = result.model.simulation.unit
    lives = sum(wave.end - wave.start for wave in run.waves)
    assert run.charged.sum() == pytest.approx(sum(wave.stalled for wave in run.waves))
    assert run.charged.sum() + sum(wave.busy for wave in run.waves) == pytest.approx(lives)
    total = sum(values.get("time_cycles", 0) for values in profile.values.values())
    wait = sum(reasons.get("WAIT_MEMORY", 0) for reasons in profile.reasons.values())
    assert total == pytest.approx(3 * lives), "each work-group has a unit of its own"
    load = line(result, "float value = x[threadIdx.x * 32];")
    assert load["time_cycles"] > 0.2 * wait > load["issue_cycles"]
    code = {a: module.instruction(a) for a in profile.values}
    spent = {a: profile.value(a, "time_cycles") for a in code}
    waits = sum(spent[a] for a, i in code.items() if i.opcode == "s_waitcnt")
    memory = sum(spent[a] for a, i in code.items() if i.record.memory is not None)
    assert memory > 10 * waits
