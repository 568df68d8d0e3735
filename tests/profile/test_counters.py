"""Classes, counters and the timing model, on constructed instructions and counts worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.codeobject.rows import row
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import PIPELINES, Arithmetic
from workbench.codeobject.occupancy import occupancy
from workbench.origin import Origin
from workbench.profile.counters import COUNTERS, Tally, collect, tally
from workbench.profile.launch import DISPATCH_SECONDS
from workbench.profile.machine import machine
from workbench.profile.model import CountedLaunch, model_time


def instruction(address, opcode, form, **modifiers):
    return Instruction(address, 8, opcode, opcode, form, (), (), modifiers, (0, 0), row(opcode))


@pytest.mark.parametrize(
    ("opcode", "form", "kind"),
    [
        ("v_add_f32", "VOP2", "valu"),
        ("v_accvgpr_read_b32", "VOP3P_MAI", "valu"),
        ("v_exp_f32", "VOP1", "trans"),
        ("v_rcp_iflag_f32", "VOP1", "trans"),
        ("v_mul_lo_u32", "VOP3", "trans"),
        ("v_mul_f32", "VOP2", "valu"),
        ("v_mfma_f32_16x16x32_bf16", "VOP3P_MAI", "mfma"),
        ("s_add_u32", "SOP2", "salu"),
        ("s_cmp_eq_u32", "SOPC", "salu"),
        ("s_movk_i32", "SOPK", "salu"),
        ("s_cbranch_scc0", "SOPP", "branch"),
        ("s_swappc_b64", "SOP1", "branch"),
        ("s_waitcnt", "SOPP", "internal"),
        ("s_barrier", "SOPP", "internal"),
        ("s_endpgm", "SOPP", "message"),
        ("s_load_dwordx4", "SMEM", "smem"),
        ("ds_read_b128", "DS", "lds"),
        ("ds_bpermute_b32", "DS", "lds"),
        ("buffer_load_dwordx4", "MUBUF", "vmem_load"),
        ("global_store_short_d16_hi", "GLOBAL", "vmem_store"),
        ("buffer_atomic_pk_add_bf16", "MUBUF", "vmem_atomic"),
        ("scratch_load_dword", "SCRATCH", "vmem_load"),
        ("flat_store_dword", "FLAT", "flat_store"),
        ("buffer_wbl2", "MUBUF", "vmem_other"),
    ],
)
def test_classes(opcode, form, kind):
    assert kind in PIPELINES
    assert instruction(0, opcode, form).record.pipeline == kind


def test_arithmetic():
    assert row("v_fma_f32").record.arithmetic == Arithmetic("FMA", "F32", 2)
    assert row("v_pk_fma_f32").record.arithmetic == Arithmetic("FMA", "F32", 4)
    assert row("v_subrev_f16").record.arithmetic == Arithmetic("ADD", "F16", 1)
    assert row("v_sqrt_f64").record.arithmetic == Arithmetic("TRANS", "F64", 1)
    assert row("v_add_u32").record.arithmetic is None
    assert row("v_cvt_f32_u32").record.arithmetic is None


def record(counts, *, grid=(4, 1, 1), block=(256, 1, 1), counters=None):
    return SimpleNamespace(
        kernel="k",
        grid=grid,
        block=block,
        dynamic_shared=0,
        counts=counts,
        counters=counters or {},
        traffic=None,
        steps=None,
        device="d",
    )


CODE = [
    instruction(0, "s_load_dwordx4", "SMEM"),
    instruction(8, "v_mfma_f32_16x16x32_bf16", "VOP3P_MAI"),
    instruction(16, "v_fma_f32", "VOP3"),
    instruction(24, "v_exp_f32", "VOP1"),
    instruction(32, "ds_read_b128", "DS"),
    instruction(40, "global_load_dwordx4", "GLOBAL"),
    instruction(48, "flat_store_dword", "FLAT"),
    instruction(56, "s_endpgm", "SOPP"),
]
COUNTS = {0: 16, 8: 1600, 16: 160, 24: 32, 32: 800, 40: 64, 48: 16, 56: 16}


def counted(**device):
    return tally("gfx950", record(COUNTS, counters=device), {i.address: i for i in CODE})


def test_counters_add_up():
    counters = collect(
        counted(lds_bank_conflict=60, global_bytes_read=1024, scalar_bytes_read=16), "emulated:gfx950"
    )
    expected = {
        "SQ_WAVES": 16,
        "SQ_INSTS": sum(COUNTS.values()),
        "SQ_INSTS_VALU": 1600 + 160 + 32,
        "SQ_INSTS_MFMA": 1600,
        "SQ_INSTS_VALU_MFMA_BF16": 1600,
        "SQ_INSTS_VALU_MFMA_F16": 0,
        # One instruction is 2 * 16 * 16 * 32 operations.
        "SQ_INSTS_VALU_MFMA_MOPS_BF16": 1600 * 16384 // 512,
        "SQ_VALU_MFMA_BUSY_CYCLES": 1600 * 16,
        "SQ_INSTS_VALU_FMA_F32": 160,
        "SQ_INSTS_VALU_TRANS_F32": 32,
        "SQ_INSTS_SMEM": 16,
        "SQ_INSTS_LDS": 800,
        "SQ_INSTS_VMEM": 80,
        "SQ_INSTS_VMEM_RD": 64,
        "SQ_INSTS_VMEM_WR": 16,
        "SQ_INSTS_FLAT": 16,
        "SQ_INSTS_SENDMSG": 16,
        "SQ_LDS_BANK_CONFLICT": 60,
        "bytes_read": 1040,
    }
    assert {name: counters[name].value for name in expected} == expected
    modelled = {name for name, f in counters.items() if f.origin is not Origin.COUNTED}
    assert modelled == {"SQ_VALU_MFMA_BUSY_CYCLES"}
    assert counters["SQ_WAVES"].source == "emulated:gfx950"


def test_counters_of_waves_of_32_lanes():
    classes = {"valu": 7, "trans": 2, "lds": 3, "vmem_load": 4, "flat_store": 1, "salu": 50, "smem": 5}
    counters = collect(Tally("gfx1100", 1, 32, classes), "by hand")
    assert counters["SQ_INSTS_WAVE32_VALU"].value == 9
    assert counters["SQ_INSTS_WAVE32_LDS"].value == 3
    assert counters["SQ_INSTS_WAVE32"].value == 17
    # Of waves of 64 lanes, AMD's definition has no exact number; of gfx1201 it has no such counter.
    for arch, lanes in (("gfx1100", 64), ("gfx1201", 32), ("gfx950", 64)):
        assert not any(
            name.startswith("SQ_INSTS_WAVE32") for name in collect(Tally(arch, 1, lanes, classes), "")
        )


def test_conflicts_by_unmeasured_rules_are_modelled():
    counters = collect(counted(lds_bank_conflict=60, lds_cycles=100, lds_unconfirmed=1), "d")
    assert counters["SQ_LDS_BANK_CONFLICT"].origin is Origin.MODELLED
    assert counters["SQ_LDS_IDX_ACTIVE"].origin is Origin.MODELLED


def test_what_was_not_collected_is_absent():
    counters = collect(counted(), "d")
    assert "SQ_LDS_BANK_CONFLICT" not in counters
    assert "bytes_written" not in counters
    # Only gfx942 has XF32, only gfx950 F6F4.
    assert "SQ_INSTS_VALU_MFMA_XF32" not in counters
    assert "SQ_INSTS_VALU_MFMA_F6F4" in counters


def test_counter_names_are_unique_and_documented():
    names = [c.name for c in COUNTERS]
    assert len(names) == len(set(names))
    assert all(c.doc and c.unit for c in COUNTERS)


def test_partial_waves_count():
    sums = tally("gfx950", record({}, grid=(3, 2, 1), block=(65, 1, 1)), {})
    assert sums.waves == 12


@pytest.mark.parametrize(
    ("arch", "opcode", "modifiers", "cycles"),
    [
        ("gfx950", "v_mfma_f32_16x16x32_bf16", {}, 16),
        ("gfx950", "v_mfma_f32_32x32x16_bf16", {}, 32),
        ("gfx942", "v_mfma_f32_32x32x8_f16", {}, 32),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", {}, 32),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", {"cbsz": 4, "blgp": 4}, 16),
        ("gfx950", "v_mfma_f32_16x16x128_f8f6f4", {"cbsz": 4}, 32),
        ("gfx950", "v_mfma_f64_16x16x4_f64", {}, 64),
    ],
)
def test_mfma_cycles(arch, opcode, modifiers, cycles):
    matrix = row(opcode, arch).record.matrix
    assert matrix.cycles_with(modifiers) == cycles


def test_peaks_follow_from_passes():
    """Four matrix cores per CU at the table's cycles give the dense peak."""
    for gpu, opcode in (("MI355X", "v_mfma_f32_16x16x32_bf16"), ("MI300X", "v_mfma_f32_32x32x8_bf16")):
        m = machine(gpu)
        matrix = row(opcode, m.arch).record.matrix
        simds = m.target.simds * m.compute_units
        rate = matrix.operations / matrix.cycles_with({}) * simds * m.clock_hz
        assert rate == m.matrix_flops("BF16")


def test_model_of_a_matrix_bound_launch():
    m = machine("MI355X")
    fits = occupancy("gfx950", vgprs=128, sgprs=32, lds=0, block=256)
    counts = {8: 1024 * 4 * 1000, 56: 1024 * 4}
    launch = record(counts, grid=(1024, 1, 1))
    sums = tally("gfx950", launch, {i.address: i for i in CODE})
    result = model_time(CountedLaunch(sums, launch, fits, m, argument_bytes=1 << 20))
    # 1024 groups of 4 waves over 256 CUs of 4 SIMDs: each SIMD runs 4 waves of 1000 MFMAs of 16 cycles.
    assert result.parts["mfma"] == pytest.approx(4 * 1000 * 16 / m.clock_hz)
    assert result.bound == "mfma"
    assert result.seconds == pytest.approx(DISPATCH_SECONDS + result.parts["mfma"])
    assert result.time.origin is Origin.MODELLED
    assert "modelled" in str(result)


def test_model_of_a_memory_bound_launch():
    m = machine("MI300X")
    fits = occupancy("gfx942", vgprs=32, sgprs=32, lds=0, block=256)
    launch = record({56: 4096}, grid=(1024, 1, 1), counters={"global_bytes_read": 1 << 30})
    sums = tally("gfx942", launch, {i.address: i for i in CODE})
    result = model_time(CountedLaunch(sums, launch, fits, m, argument_bytes=1 << 30))
    assert result.parts["hbm"] == pytest.approx((1 << 30) / 5.3e12)
    # Read again by every group: caches are assumed perfect, so HBM sees each byte once.
    again = model_time(CountedLaunch(sums, launch, fits, m, argument_bytes=1 << 20))
    assert again.parts["hbm"] == pytest.approx((1 << 20) / 5.3e12)


def test_bank_conflicts_take_time():
    m = machine("MI355X")
    fits = occupancy("gfx950", vgprs=32, sgprs=32, lds=0, block=256)
    launch = record(COUNTS, counters={"lds_cycles": 10**6, "lds_bytes_read": 800 * 1024})
    sums = tally("gfx950", launch, {i.address: i for i in CODE})
    result = model_time(CountedLaunch(sums, launch, fits, m, argument_bytes=0))
    assert result.parts["lds"] == pytest.approx(10**6 / 4 / m.clock_hz)
    assert result.bound == "lds"


@pytest.mark.parametrize(
    ("name", "side", "published"), [("gemm/bf16", 512, None), ("gemm/bf16:ping_pong", 4096, 97.278)]
)
def test_modelled_gemm_beside_the_published_one(name, side, published):
    """HipKittens' bf16 GEMM on MI355X, another kernel of the same schedule for the same problem."""
    from workbench import profile

    result = profile(name, shape={"m": side, "n": side, "k": side}, device="emulated:gfx950")
    # A wave issues, waits for loads, or for other waves.
    assert 0 < sum(result.model.wave.values()) <= result.model.simulation.seconds
    assert "wave" not in result.model.parts
    assert result.model.bound in result.model.parts or result.model.bound == result.model.waits
    assert result.model.bound_text != result.model.bound
    if published is not None:
        assert 0.75 < result.time.value / published < 1.25
