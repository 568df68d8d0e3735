"""MODE.vskip: vector instructions that are not issued, as the CDNA3 ISA guide says of S_SETVSKIP.

VSKIP = S0.u[S1.u[4:0]]; while it is set no VOP*, M*BUF, DS or FLAT instruction is issued, and its memory
instructions do not count for s_waitcnt.
"""

from __future__ import annotations

import random

import pytest
import torch

import workbench as wb
from workbench.kernel import Launcher
from workbench.launches import LaunchOptions
from workbench.targets import TILE_TARGETS

SOURCE = r"""#include <hip/hip_runtime.h>
// Each takes bits of a mask: `out[lane]` and `scalar` tell what ran.
__global__ void kinds(int *out, int *other, int *scalar, int mask) {
    __shared__ int shared[64];
    shared[threadIdx.x] = 7;
    __syncthreads();
    int lane = threadIdx.x, first = 40, mode = -1;
    long vcc = 0x1234;
    float4 sum = {1, 2, 3, 4};
    typedef float f4 __attribute__((ext_vector_type(4)));
    f4 matrix = {1, 2, 3, 4};
    int at = 4 * lane, loaded = 5, stored = 99;
    asm volatile(
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n\t"
        "s_setvskip %[mask], 3\n\t"
        "s_nop 1\n\t"
        "v_add_u32 %[lane], 100, %[lane]\n\t"
        "v_cmp_eq_u32 %[vcc], %[lane], %[lane]\n\t"
        "v_readfirstlane_b32 %[first], %[lane]\n\t"
        "v_mfma_f32_4x4x1_16b_f32 %[matrix], %[stored], %[stored], 0\n\t"
        "ds_write_b32 %[at], %[stored]\n\t"
        "s_waitcnt lgkmcnt(0)\n\t"
        "ds_read_b32 %[loaded], %[at]\n\t"
        "s_waitcnt lgkmcnt(0)\n\t"
        "global_store_dword %[at], %[stored], %[other]\n\t"
        "s_waitcnt vmcnt(0)\n\t"
        "s_nop 15\n\t"
        "s_getreg_b32 %[mode], hwreg(HW_REG_MODE, 28, 1)\n\t"
        "s_setvskip 0, 0\n\t"
        "s_nop 1"
        : [lane] "+v"(lane), [vcc] "+s"(vcc), [first] "+s"(first), [matrix] "+v"(matrix),
          [loaded] "+v"(loaded), [mode] "=s"(mode)
        : [mask] "s"(mask), [at] "v"(at), [stored] "v"(stored), [other] "s"(other) : "memory");
    out[threadIdx.x] = lane;
    out[64 + threadIdx.x] = loaded + shared[threadIdx.x];
    out[128 + threadIdx.x] = matrix.x == 1;
    if (threadIdx.x == 0) scalar[0] = (int)(vcc == 0x1234), scalar[1] = first, scalar[2] = mode;
}

// A loop of which every other turn is skipped, a jump into what is skipped, and a barrier on the way.
__global__ void ways(int *out, int turns) {
    int lane = threadIdx.x, turn = 0, rest;
    asm volatile(
        "1: s_and_b32 %[rest], %[turn], 1\n\t"
        "s_setvskip %[rest], 0\n\t"
        "s_nop 1\n\t"
        "s_cbranch_scc1 2f\n\t"
        "v_add_u32 %[lane], 1000, %[lane]\n\t"
        "2: v_add_u32 %[lane], 1, %[lane]\n\t"
        "s_barrier\n\t"
        "v_add_u32 %[lane], 10, %[lane]\n\t"
        "s_getpc_b64 s[40:41]\n\t"
        "s_add_u32 s40, s40, 20\n\t"
        "s_addc_u32 s41, s41, 0\n\t"
        "s_setpc_b64 s[40:41]\n\t"
        "s_nop 0\n\t"
        "s_nop 0\n\t"
        "v_add_u32 %[lane], 100, %[lane]\n\t"
        "s_add_u32 %[turn], %[turn], 1\n\t"
        "s_cmp_lt_u32 %[turn], %[turns]\n\t"
        "s_cbranch_scc1 1b\n\t"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1\n\t"
        "s_nop 1\n\t"
        "v_add_u32 %[lane], 5, %[lane]\n\t"
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 0\n\t"
        "s_nop 1"
        : [lane] "+v"(lane), [turn] "+s"(turn), [rest] "=s"(rest)
        : [turns] "s"(turns) : "s40", "s41", "scc");
    out[threadIdx.x] = lane;
}
"""


@pytest.fixture(params=TILE_TARGETS)
def module(request: pytest.FixtureRequest) -> wb.Module:
    return wb.compile(SOURCE, arch=request.param)


def counts(launch: Launcher, *args: object) -> dict[str, int]:
    """Number of executions by mnemonic."""
    record = launch.kernel.launch(launch.launch, args, {}, options=LaunchOptions(count=True))
    assert record.counts is not None
    executions: dict[str, int] = {}
    for address, count in record.counts.items():
        name = launch.kernel.module.instruction(address).opcode
        executions[name] = executions.get(name, 0) + count
    return executions


@pytest.mark.parametrize("mask", [0, 8, 7, 15, ~8])
def test_every_kind_of_vector_instruction_is_skipped(module: wb.Module, mask: int) -> None:
    out = torch.zeros(192, dtype=torch.int32)
    other, scalar = torch.zeros(64, dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    launch = module["kinds"][1, 64]
    executions = counts(launch, out, other, scalar, mask)
    lanes, skips = torch.arange(64), bool(mask & 8)
    assert torch.equal(out[:64].long(), lanes if skips else lanes + 100)
    assert torch.equal(out[64:128], torch.full((64,), 5 + 7 if skips else 99 + 99, dtype=torch.int32))
    assert out[128:].all() == skips
    assert not other.any() if skips else (other == 99).all()
    assert scalar.tolist() == [int(skips), 40 if skips else 100, int(skips)]
    # Instructions that are not issued are not counted.
    assert executions["v_readfirstlane_b32"] == (0 if skips else 1)
    assert executions["v_mfma_f32_4x4x1_16b_f32"] == (0 if skips else 1)
    assert executions["s_setvskip"] == 2


@pytest.mark.parametrize("sanitize", [False, True])
def test_loops_jumps_and_barriers_among_what_is_skipped(module: wb.Module, sanitize: bool) -> None:
    out = torch.zeros(128, dtype=torch.int32)
    launch = module["ways"][1, 128]
    for turns in (1, 2, 7):
        options = LaunchOptions(sanitize=sanitize)
        record = launch.kernel.launch(launch.launch, (out, turns), {}, options=options)
        assert not record.findings
        # An even turn executes all, an odd one nothing.
        assert torch.equal(out.long(), torch.arange(128) + (turns + 1) // 2 * 1111)


def test_random_code_against_a_model(module: wb.Module) -> None:
    """Vector and scalar additions in any order, with the mode set from bits of a known number."""
    bits = random.getrandbits(32)
    text, vector, scalar, skips = [], 7, 5, False
    for _ in range(60):
        kind, value = random.choice(("v", "v", "s", "read", "skip", "wait")), random.randrange(1, 60)
        if kind == "v":
            text.append(f"v_add_u32 %[vector], {value}, %[vector]")
            vector += value * (not skips)
        elif kind == "s":
            text.append(f"s_add_u32 %[scalar], %[scalar], {value}")
            scalar += value
        elif kind == "read":
            text.append("s_nop 0\n\tv_readfirstlane_b32 %[scalar], %[vector]")
            scalar = scalar if skips else vector
        elif kind == "skip":
            position = random.randrange(64)
            text.append(f"s_setvskip %[bits], {position}\n\ts_nop 1")
            skips = bool(bits >> (position & 31) & 1)
        else:
            text.append("s_nop 0")
    lines = "\n".join(
        f'"{line}\\n\\t"' for line in "\n\t".join([*text, "s_setvskip 0, 0", "s_nop 1"]).split("\n\t")
    )
    source = f"""#include <hip/hip_runtime.h>
    __global__ void drawn(int *out, unsigned bits) {{
        int vector = 7, scalar = 5;
        asm volatile({lines} : [vector] "+v"(vector), [scalar] "+s"(scalar) : [bits] "s"(bits) : "scc");
        out[threadIdx.x] = vector;
        out[64 + threadIdx.x] = scalar;
    }}
    """
    out = torch.zeros(128, dtype=torch.int32)
    wb.compile(source, arch=module.arch)["drawn"][1, 64](out, bits)
    assert (out[:64] == vector).all(), (bits, text)
    assert (out[64:] == scalar).all(), (bits, text)
