"""Micro-kernels whose cycles are known from documents and published measurements, within 5 %."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.launches import LaunchOptions, StepOptions
from workbench.profile.simulation.program import FROM_L2, program
from workbench.profile.simulation.unit import REASONS, SLOWEST, machine_record, run_unit
from workbench.runtime import device
from workbench.targets import LINE_BYTES, TILE_TARGETS, default_product

WITHIN = 0.05
REASON = {name: number for number, name in enumerate(REASONS)}
LEVELS = {"L1": (1, 0, 0, 0), "L2": (0, 1, 0, 0), "Infinity Cache": (0, 0, 1, 0), "HBM": (0, 0, 0, 1)}

# Each runs its instruction N times; the difference of two N excludes the code before and after.
SOURCE = """#include <hip/hip_runtime.h>
typedef float f16 __attribute__((ext_vector_type(16)));
typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
#define TEXT_(n) #n
#define REPEAT(n, code) ".rept " TEXT_(n) "\\n" code "\\n.endr"
#define KERNELS(n) \\
  __global__ void add_##n(float *x) { \\
    float v = x[threadIdx.x]; \\
    asm volatile(REPEAT(n, "v_add_f32 %0, %0, %0") : "+v"(v)); \\
    x[threadIdx.x] = v; } \\
  __global__ void exp_##n(float *x) { \\
    float v = x[threadIdx.x]; \\
    asm volatile(REPEAT(n, "v_exp_f32 %0, %0") : "+v"(v)); \\
    x[threadIdx.x] = v; } \\
  __global__ void mfma32_##n(float *x) { \\
    f16 c = 0; h4 a = 1; \\
    asm volatile(REPEAT(n, "v_mfma_f32_32x32x8_f16 %0, %1, %1, %0") : "+v"(c) : "v"(a)); \\
    x[threadIdx.x] = c[0]; } \\
  __global__ void mfma16_##n(float *x) { \\
    f4 c = 0; h4 a = 1; \\
    asm volatile(REPEAT(n, "v_mfma_f32_16x16x16_f16 %0, %1, %1, %0") : "+v"(c) : "v"(a)); \\
    x[threadIdx.x] = c[0]; } \\
  __global__ void mfma4_##n(float *x) { \\
    f4 c = 0; h4 a = 1; \\
    asm volatile(REPEAT(n, "v_mfma_f32_4x4x4_16b_f16 %0, %1, %1, %0") : "+v"(c) : "v"(a)); \\
    x[threadIdx.x] = c[0]; } \\
  __global__ void nop_##n(float *x) { \\
    asm volatile(REPEAT(n, "s_nop 7")); \\
    x[threadIdx.x] = 0; } \\
  __global__ void sleep_##n(float *x) { \\
    asm volatile(REPEAT(n, "s_sleep 16")); \\
    x[threadIdx.x] = 0; } \\
  __global__ void lds_##n(float *x) { \\
    __shared__ int table[64]; \\
    table[threadIdx.x % 64] = 4 * (threadIdx.x % 64); \\
    __syncthreads(); \\
    int at = 4 * (threadIdx.x % 64); \\
    asm volatile(REPEAT(n, "ds_read_b32 %0, %0\\ns_waitcnt lgkmcnt(0)") : "+v"(at) : "v"(table)); \\
    x[threadIdx.x] = at; } \\
  __global__ void chase_##n(float *x) { \\
    int at = 0; \\
    asm volatile(REPEAT(n, "global_load_dword %0, %0, %1\\ns_waitcnt vmcnt(0)") : "+v"(at) : "s"(x)); \\
    x[threadIdx.x] = at; } \\
  __global__ void atomic_##n(float *x) { \
    int at = 4 * threadIdx.x; float v = 1; \
    asm volatile(REPEAT(n, "global_atomic_add_f32 %0, %1, %2") :: "v"(at), "v"(v), "s"(x) : "memory"); } \
  __global__ void scalar_atomic_##n(float *x) { \\
    asm volatile("s_mov_b32 s20, 7\\n" REPEAT(n, "s_atomic_dec s20, %0, 0x0\\ns_waitcnt lgkmcnt(0)") \\
                 :: "s"(x) : "s20", "memory"); } \\
  __global__ void late_##n(float *x) { \\
    float v = x[threadIdx.x]; \\
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) \\
      asm volatile(REPEAT(n, "v_add_f32 %0, %0, %0") : "+v"(v)); \\
    __builtin_amdgcn_s_barrier(); \\
    x[threadIdx.x] = v; }
KERNELS(32)
KERNELS(96)
// One wave misses where the other hits.
__global__ void mixed(float *x) {
  int at = 4 * threadIdx.x; float v;
  if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0)
    asm volatile("global_load_dword %0, %1, %2\\ns_waitcnt vmcnt(0)" : "=v"(v) : "v"(at), "s"(x) : "memory");
  else
    asm volatile("s_nop 15\\ns_nop 15\\nglobal_load_dword %0, %1, %2\\ns_waitcnt vmcnt(0)"
                 : "=v"(v) : "v"(at), "s"(x) : "memory"); }
// Each wave has two stages of nine loads in flight, each of eight lines.
__global__ void skinny(float *x) {
  int at = 16 * (threadIdx.x % 64);
#define STAGE ".rept 9\\nglobal_load_dwordx4 v[40:43], %0, %1\\n.endr\\n"
  asm volatile(STAGE STAGE ".rept 30\\ns_waitcnt vmcnt(9)\\ns_barrier\\n" STAGE ".endr\\ns_waitcnt vmcnt(0)"
               :: "v"(at), "s"(x) : "memory", "v40", "v41", "v42", "v43"); }
// 48 loads of a KB each, one after the other.
__global__ void window(float *x) {
  int at = 16 * (threadIdx.x % 64);
  asm volatile(REPEAT(48, "global_load_dwordx4 v[40:43], %0, %1") "\\ns_waitcnt vmcnt(0)"
               :: "v"(at), "s"(x) : "memory", "v40", "v41", "v42", "v43"); }
// 80 KB of code, and 20 of them four times: the instruction cache has 64.
__global__ void straight(float *x) {
  asm volatile(REPEAT(10240, "s_mov_b32 s20, 0x12345678") ::: "s20");
  x[threadIdx.x] = 0; }
__global__ void looped(float *x) {
  #pragma nounroll
  for (int i = 0; i < 4; i++) asm volatile(REPEAT(2560, "s_mov_b32 s20, 0x12345678") ::: "s20");
  x[threadIdx.x] = 0; }
"""
FEW, MANY = 32, 96


@cache
def recorded(arch, name, block):
    module = wb.compile(SOURCE, arch=arch, name="micro.hip")
    x = torch.zeros(1024, dtype=torch.float32)
    options = LaunchOptions(count=True, steps=StepOptions())
    where = device(f"emulated:{arch}")
    record = module[name].launch(wb.Launch(1, block, 0), (x,), {}, device=where, options=options)
    instructions = {address: module.instruction(address) for address in record.counts}
    return record.steps, instructions


def run(arch, name, block=64, *, groups=1, resident=1, level=FROM_L2, spans=0, **machine):
    steps, instructions = recorded(arch, name, block)
    product = default_product(arch)
    code = program(steps.blocks, instructions, steps.text, product.target, dict.fromkeys(instructions, level))
    record = {**machine_record(product, product.clock_hz, 1), **machine}
    return run_unit(code, [steps.waves_of(0)] * groups, record, resident, spans=spans)


def cycles_each(arch, name, block=64, **more):
    # The wait for the arguments would hide the shorter chain.
    machine = {"scalar_entry": 0, "scalar_first": 0, **more}
    few, many = (run(arch, f"{name}_{n}", block, **machine).cycles for n in (FEW, MANY))
    return (many - few) / (MANY - FEW)


@pytest.mark.parametrize(
    ("arch", "name", "cycles"),
    [
        # Vector: 64 lanes on 16 (CDNA3 ISA guide). v_exp_f32: a quarter of that rate, on gfx950 half of it
        # (ROCm/gfx950-gluon-tutorials).
        ("gfx942", "add", 4),
        ("gfx950", "add", 4),
        ("gfx942", "exp", 16),
        ("gfx950", "exp", 8),
        # An MFMA whose addend is the last one's result (AMD's matrix instruction calculator).
        ("gfx942", "mfma32", 32),
        ("gfx942", "mfma16", 16),
        ("gfx950", "mfma32", 32),
        ("gfx942", "mfma4", 8),
        # Eight no-operations (CDNA3 ISA guide, S_NOP), each in a turn of four cycles.
        ("gfx942", "nop", 32),
        # 64 cycles for each of 16 units, and 1 to 64 more (CDNA3 ISA guide, S_SLEEP).
        ("gfx942", "sleep", 16 * 64 + 32.5),
        # mt4g's pointer chase on an MI300X; the read and its wait issue in two turns.
        ("gfx942", "lds", 51.3),
    ],
)
def test_a_chain(arch, name, cycles):
    assert cycles_each(arch, name) == pytest.approx(cycles, rel=WITHIN)


def test_code_that_does_not_fit_the_instruction_cache():
    timing = default_product("gfx942").target.timing
    turns, lines = 10240 * timing.turn, 10240 * 8 // LINE_BYTES
    assert run("gfx942", "looped").cycles == pytest.approx(turns, rel=WITHIN)
    straight = run("gfx942", "straight")
    assert straight.cycles == pytest.approx(turns + lines * timing.instruction_miss, rel=WITHIN)
    assert straight.stalls[:, REASON["FETCH"]].sum() == pytest.approx(
        lines * timing.instruction_miss, rel=WITHIN
    )


@pytest.mark.parametrize(
    ("level", "cycles"),
    # mt4g on an MI300X: pointer chase, cycles at 2,100 MHz; the Infinity Cache: 218 ns of Chips and Cheese.
    [("L1", 116), ("L2", 287.5), ("Infinity Cache", 218 * 2.1), ("HBM", 876)],
)
def test_pointer_chase(level, cycles):
    assert cycles_each("gfx942", "chase", level=LEVELS[level]) == pytest.approx(cycles, rel=WITHIN)


def test_four_waves_have_a_simd_each_and_eight_share():
    single, four, eight = (run("gfx950", "mfma32_96", 64 * waves).cycles for waves in (1, 4, 8))
    assert four == pytest.approx(single, rel=WITHIN)
    assert eight - four == pytest.approx(96 * 32, rel=WITHIN)


def test_a_second_wave_hides_what_a_wave_waits_for():
    single, eight = (run("gfx942", "lds_96", 64 * waves).cycles for waves in (1, 8))
    assert eight == pytest.approx(single, rel=0.1)


@pytest.mark.parametrize(
    ("arch", "cycles"),
    # mt4g on an MI300X at 2,100 MHz: 172 cycles of a scalar load from L2, 287.5 of a vector load from there,
    # 876 from HBM. Thread traces of small kernels on an MI350X: 283 to 420 ns, 354 in the median (`TRACES`).
    [("gfx942", 172 + 876 - 287.5), ("gfx950", 172 + (876 - 287.5) / 2100 * 2400)],
)
def test_arguments_come_from_memory_once(arch, cycles):
    timing = default_product(arch).target.timing
    first, known = (run(arch, "chase_32", **more).cycles for more in ({}, {"scalar_entry": 44}))
    assert first - known == pytest.approx(cycles - timing.scalar_hit, rel=0.02)
    more = [run(arch, "chase_32", groups=3, **more).cycles for more in ({}, {"scalar_entry": 44})]
    assert more[0] - more[1] == pytest.approx(first - known, abs=2 * timing.turn)


def test_a_second_wave_waits_for_the_same_line():
    """The line that another wave has requested is not there before its latency has passed."""
    for waves in (1, 4):
        first, late = (run("gfx942", "chase_32", 64 * waves, **more) for more in ({}, {"scalar_entry": 2000}))
        assert late.cycles - first.cycles == pytest.approx(2000 - 760 + 4, rel=WITHIN)


def test_a_wave_begins_with_the_fetch_of_its_first_instruction():
    with_fetch, without = (run("gfx950", "chase_32", **more).cycles for more in ({}, {"wave_start": 0}))
    # 32 cycles in 17 of 20 thread traces.
    assert with_fetch - without == 32


def test_the_slowest_of_an_instructions_lines_counts():
    """The larger of two normal variates exceeds their mean by 1 / sqrt(pi) deviations, on average."""
    two, one = SLOWEST[2], SLOWEST[1]
    assert np.mean(two) == pytest.approx(1 / np.sqrt(np.pi), rel=0.02)
    assert np.mean(one) == pytest.approx(0, abs=1e-9)
    assert np.std(one) == pytest.approx(1, rel=0.02)
    # Chains of single lines: mt4g on an MI300X has a standard deviation of 145 cycles at 2,100 MHz.
    hbm = {"level": LEVELS["HBM"], "scalar_entry": 0, "scalar_first": 0, "hbm_queue": 0}
    varied, alike = (
        run("gfx942", "chase_96", **hbm, **more).cycles for more in ({}, {"level_spread": [0.0] * 4})
    )
    assert 0 < abs(varied - alike) < 2 * 145


def test_data_return_in_the_order_of_the_requests():
    """Hits in L1 of one wave wait for another's misses: without them they take their own latency alone.

    Chips and Cheese saw this of AMD's GPUs before RDNA 4, 'RDNA 4's "Out-of-Order" Memory Accesses'.
    """

    def cycles(levels):
        steps, instructions = recorded("gfx942", "mixed", 128)
        product = default_product("gfx942")
        loads = sorted(a for a, i in instructions.items() if i.opcode.startswith("global_load"))
        hit = next(a for a in loads if instructions[a - 4].opcode == "s_nop")
        serves = {**dict.fromkeys(loads, LEVELS[levels]), hit: LEVELS["L1"]}
        code = program(steps.blocks, instructions, steps.text, product.target, serves)
        record = machine_record(product, product.clock_hz, 1)
        record |= {"scalar_entry": 0, "scalar_first": 0, "level_spread": [0.0] * 4, "hbm_queue": 0}
        return [wave.end for wave in run_unit(code, [steps.waves_of(0)], record, 1).waves]

    misses, hits = cycles("HBM")
    _, alone = cycles("L1")
    assert hits - alone > 600
    assert hits == pytest.approx(misses, rel=WITHIN)


def test_only_misses_take_lines_of_l1():
    """48 KB of misses need its 32 KB twice; where each second load hits, they fit at once."""

    def cycles(hits, **machine):
        product = default_product("gfx950")
        steps, instructions = recorded("gfx950", "window", 64)
        loads = sorted(a for a, i in instructions.items() if i.opcode.startswith("global_load"))
        serves = {a: LEVELS["L1" if hits and i % 2 else "HBM"] for i, a in enumerate(loads)}
        code = program(steps.blocks, instructions, steps.text, product.target, serves)
        record = machine_record(product, product.clock_hz, 1)
        record |= {"scalar_entry": 0, "scalar_first": 0, "level_spread": [0.0] * 4, "hbm_queue": 0, **machine}
        return run_unit(code, [steps.waves_of(0)], record, 1).cycles

    assert cycles(hits=True) == cycles(hits=True, in_flight=64 * 1024)
    # mt4g's 876 cycles at 2,100 MHz: of misses alone, the 33rd waits for the first, not for 32 turns of L1.
    late = cycles(hits=False) - cycles(hits=False, in_flight=64 * 1024)
    assert late == pytest.approx(876 / 2100 * 2400 - 32 * 16, rel=0.1)


def tile_loop(rows, cols, stages):
    """A GEMM's loop over steps of 64 halves by four waves, which spreads the loads of its tile evenly."""
    loads, products = (rows + cols) * 64 * 2 // 4096, rows * cols * 64 // (16 * 16 * 32 * 4)
    code, done = "", 0
    for load in range(loads):
        code += "global_load_dwordx4 v[40:43], %0, %1\\n"
        while done * loads < (load + 1) * products:
            at = f"a[{4 * (done % 8)}:{4 * (done % 8) + 3}]"
            code += f"v_mfma_f32_16x16x32_f16 {at}, v[44:47], v[48:51], {at}\\n"
            done += 1
        # With two buffers each quarter of a tile is free once it is multiplied.
        if stages == 2 and (load + 1) % (loads // 4) == 0:
            code += f"s_waitcnt vmcnt({loads - loads // 4})\\ns_barrier\\n"
    if stages > 2:
        code += f"s_waitcnt vmcnt({(stages - 2) * loads})\\ns_barrier\\n"
    registers = ", ".join(f'"{bank}{i}"' for bank, of in (("v", range(40, 52)), ("a", range(32))) for i in of)
    return (
        f"__global__ __launch_bounds__(256, 1) void tile_{rows}x{cols}(float *x, int turns) {{\n"
        "  int at = 16 * (threadIdx.x % 64);\n  #pragma nounroll\n"
        "  for (int i = 0; i < turns; i++)\n"
        f'    asm volatile("{code}" :: "v"(at), "s"(x) : "memory", {registers});\n'
        '  asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); }\n'
    )


@pytest.mark.parametrize(
    ("rows", "cols", "stages", "published"), [(256, 256, 2, 96), (128, 128, 5, 69), (64, 128, 6, 47)]
)
def test_loops_over_tiles(rows, cols, stages, published):
    """Percent of a loop's cycles in which the matrix cores work, by thread traces (gfx950-gluon-tutorials).

    256 work-groups on an MI355X, 32 on a die, as 4 x 8 tiles: of their 64 strips L2 fetches 12, which the
    Infinity Cache has. Nothing but L2's rate is taken from these loops.
    """
    product = default_product("gfx950")
    module = wb.compile(
        f"#include <hip/hip_runtime.h>\n{tile_loop(rows, cols, stages)}", arch="gfx950", name="tile.hip"
    )

    def cycles(turns):
        record = module[f"tile_{rows}x{cols}"].launch(
            wb.Launch(1, 256, 0),
            (torch.zeros(1024), turns),
            {},
            device=device("emulated:gfx950"),
            options=LaunchOptions(count=True, steps=StepOptions()),
        )
        instructions = {address: module.instruction(address) for address in record.counts}
        serves = dict.fromkeys(instructions, (0, 52 / 64, 12 / 64, 0))
        code = program(record.steps.blocks, instructions, record.steps.text, product.target, serves)
        return run_unit(
            code, [record.steps.waves_of(0)], machine_record(product, product.clock_hz, 256), 1
        ).cycles

    products = 16 * rows * cols * 64 // (16 * 16 * 32 * 4)
    assert 100 * products / ((cycles(96) - cycles(32)) / 64) == pytest.approx(published, rel=0.1)


@pytest.mark.parametrize(
    ("units", "published"), [(32, 1529), (64, 2864), (128, 4580), (192, 5628), (256, 6442)]
)
def test_units_that_read_hbm_wait_for_one_another(units, published):
    """A skinny GEMM's two stages of 36 KB in flight: GB/s on an MI355X (gfx950-gluon-tutorials).

    `hbm_queue_ns` is fitted to these; latency, lines in flight and the order of returns are not.
    """
    product = default_product("gfx950")
    steps, instructions = recorded("gfx950", "skinny", 256)
    loads = sorted(a for a, i in instructions.items() if i.opcode.startswith("global_load"))
    # Of the nine loads of a stage, one is of the matrix that all units read alike.
    serves = {address: LEVELS["L2" if i % 9 == 8 else "HBM"] for i, address in enumerate(loads)}
    code = program(steps.blocks, instructions, steps.text, product.target, serves)
    clock = product.clock_hz
    record = machine_record(product, clock, units)
    cycles = run_unit(code, [steps.waves_of(0)], record, 1).cycles
    rate = 32 * 32 * 1024 * units / (cycles / clock) / 1e9
    assert rate == pytest.approx(published, rel=0.15)


def test_no_bandwidth_is_saved_before_the_first_access():
    def cycles(each):
        return run("gfx950", "add_32", level=LEVELS["HBM"], level_cycles=[2, 1, 1, each], hbm_queue=0).cycles

    # Two lines, each as long as the share says: nothing of the time before the first request is left over.
    assert cycles(900) - cycles(100) == pytest.approx(2 * 800, abs=8)


def test_atomics_of_a_share():
    product = default_product("gfx950")
    record = machine_record(product, product.clock_hz, 256)
    # 16 channels of L2 on each of 8 dies: 128 for 256 units.
    assert record["atomic_cycles"] == pytest.approx(2 * product.target.timing.atomic)
    # 64 lanes of a dword are four pieces of 64 bytes.
    each = cycles_each("gfx950", "atomic", atomic_cycles=100.0)
    assert each == pytest.approx(4 * 100, rel=WITHIN)


def test_an_atomic_waits_for_a_line_that_l2_does_not_have():
    def cycles(level):
        free = {"level_cycles": [2, 0, 0, 0], "write_cycles": 0.0}
        return run("gfx950", "atomic_32", level=LEVELS[level], **free).cycles

    record = machine_record(default_product("gfx950"), default_product("gfx950").clock_hz, 1)
    _, l2, infinity, hbm = record["level_latency"]
    assert cycles("Infinity Cache") - cycles("L2") == pytest.approx(infinity - l2, rel=WITHIN)
    assert cycles("HBM") - cycles("L2") == pytest.approx(hbm - l2, rel=WITHIN)


def test_a_scalar_atomic_goes_past_the_caches():
    few, many = (run("gfx942", f"scalar_atomic_{n}", scalar_first=500.0).cycles for n in (FEW, MANY))
    assert many - few == pytest.approx((MANY - FEW) * 500, rel=WITHIN)


def test_two_work_groups_of_a_unit():
    # The second finds the arguments in the cache, see `test_arguments_come_from_memory_once`.
    known = {"scalar_entry": 44}
    alone = run("gfx942", "lds_96", 256, groups=1, **known).cycles
    in_turn = run("gfx942", "lds_96", 256, groups=2, resident=1, **known).cycles
    together = run("gfx942", "lds_96", 256, groups=2, resident=2, **known).cycles
    assert in_turn == pytest.approx(2 * alone, rel=WITHIN)
    assert together == pytest.approx(alone, rel=0.1)


def test_a_barrier_waits_for_the_late_wave():
    few, many = (run("gfx950", f"late_{n}", 256, spans=4096) for n in (FEW, MANY))
    waited = [unit.stalls[:, REASON["AT_BARRIER"]].sum() for unit in (few, many)]
    # Three waves wait for 64 vector instructions of 4 cycles more.
    assert waited[1] - waited[0] == pytest.approx(3 * (MANY - FEW) * 4, rel=WITHIN)
    at = many.spans[many.spans["reason"] == REASON["AT_BARRIER"]]
    late = next(i for i, wave in enumerate(many.waves) if wave.wave == 0)
    assert set(at["cause"].tolist()) == {late}
    assert late not in at["wave"]


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["add", "mfma16", "lds", "chase", "late"])
def test_every_cycle_of_a_wave_is_accounted_for(arch, name):
    unit = run(arch, f"{name}_96", 512, groups=3, resident=2, spans=1 << 16)
    assert unit.lost_spans == 0
    for index, wave in enumerate(unit.waves):
        assert wave.busy + wave.stalled == pytest.approx(wave.end - wave.start)
        spans = unit.spans[(unit.spans["wave"] == index) & (unit.spans["reason"] != REASON["NONE"])]
        assert spans["cycles"].sum() == pytest.approx(wave.stalled)
    assert unit.stalls.sum() == pytest.approx(sum(wave.stalled for wave in unit.waves))
    again = run(arch, f"{name}_96", 512, groups=3, resident=2)
    assert again.cycles == unit.cycles
    assert np.array_equal(again.stalls, unit.stalls)


@pytest.mark.parametrize("name", ["add", "mfma16", "lds", "chase", "late"])
def test_less_work_and_more_bandwidth_never_take_longer(name):
    def cycles(n=MANY, groups=3, **machine):
        return run(
            "gfx950", f"{name}_{n}", 256, groups=groups, resident=2, level=LEVELS["HBM"], **machine
        ).cycles

    base = cycles()
    product = default_product("gfx950")
    full = machine_record(product, product.clock_hz, 256)
    shared = cycles(level_cycles=full["level_cycles"])
    assert cycles(n=FEW) <= base
    assert cycles(groups=2) <= base
    assert base <= shared
    assert cycles(lds_bus=1 << 10) <= base
    assert cycles(level_latency=[100.0, 200.0, 300.0, 400.0]) <= base


def test_bandwidth_of_a_share():
    """Successive loads without a wait are as fast as the share of HBM's bandwidth."""
    product = default_product("gfx950")
    record = machine_record(product, product.clock_hz, 256)
    rate = LINE_BYTES / record["level_cycles"][3] * product.clock_hz * 256
    assert rate == pytest.approx(product.hbm_bytes_per_second * product.hbm_read / 100)


def test_memory_that_no_launch_used_before_is_slower():
    """mt4g on an MI350P reads 2,448.9 GiB/s of 4,096 GB/s once; others' loops reach 80 % of the peak."""
    product = default_product("gfx950")
    fresh, used = (machine_record(product, product.clock_hz, 256, fresh=each) for each in (True, False))
    share = 2448.933668572763 * 2**30 / (4096 / 8 * 8e9)
    assert used["level_cycles"][3] / fresh["level_cycles"][3] == pytest.approx(share / 0.8, rel=0.01)
    assert used["level_cycles"][2] == fresh["level_cycles"][2]


def test_a_slower_clock_makes_memory_nearer():
    product = default_product("gfx950")
    fast, slow = (machine_record(product, hz, 256) for hz in (product.clock_hz, product.clock_hz / 2))
    assert slow["level_latency"][1] == fast["level_latency"][1]
    assert slow["level_latency"][3] < fast["level_latency"][3]
    assert slow["level_cycles"][3] == pytest.approx(fast["level_cycles"][3] / 2)
