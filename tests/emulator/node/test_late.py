"""Loads that arrive late: the effect of a missing wait, and none if waits are right."""

from __future__ import annotations

import random
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

import workbench as wb
from tests.emulator.sanitizer.seeded import CASES, HEAD
from workbench.emulator.translate import translator
from workbench.emulator.translate.emission import emit
from workbench.errors import UsageError
from workbench.lateness import VARIABLE, Lateness, default_lateness
from workbench.launches import LaunchOptions
from workbench.runtime import device
from workbench.targets import TILE_TARGETS

LATE = (Lateness(), Lateness(1), Lateness(2), Lateness(3))

WAITS = (
    "vmcnt",
    "vmcnt_counts",
    "lgkmcnt",
    "load_to_lds_same_wave",
    "load_to_lds_published",
    "load_to_lds_overwritten",
    "lds_write_published",
    "lds_overwritten_before_read",
    "lds_overwritten_before_write",
    "lds_overwritten_by_a_load_before_read",
    # As in HipKittens' GEMM of MXFP8: neither a wait nor a barrier between a read and the load over it.
    "lds_overwritten_by_a_load_of_the_same_wave",
    "lds_write_overwritten_by_a_load_of_the_same_wave",
)
"""Seeded faults that change a result if data comes late."""

POLLS = (
    "lds_atomic_then_plain_read",
    "lds_flag_before_a_load_to_lds",
    "lds_read_before_the_flag",
    "device_flag_without_wait",
)
"""Cases whose waves poll memory that others write: the write has to arrive although nothing waits for it."""


@cache
def seeded(arch: str, fault: bool) -> wb.Module:
    cases = [f"namespace {name} {{\n{CASES[name].source}\n}}" for name in (*WAITS, *POLLS)]
    define = ["FAULT"] if fault else []
    return wb.compile(HEAD + "\n".join(cases), arch=arch, define=define, name="late_seeded.hip")


def result_of(name: str, arch: str, fault: bool, late: Lateness | None) -> torch.Tensor:
    """The output of a case, as bits."""
    case = CASES[name]
    values, out = torch.arange(case.elements, dtype=torch.float32), torch.zeros(case.elements)
    kernel = seeded(arch, fault)[f"{name}::k"]
    launch = wb.Launch(case.grid, case.block)
    options = LaunchOptions(late=late)
    kernel.launch(launch, (values, out), {}, device=device(f"emulated:{arch}"), options=options)
    return out.view(torch.int32)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", WAITS)
def test_a_missing_wait_changes_the_result(name: str, arch: str) -> None:
    at_once = result_of(name, arch, True, None)
    assert not torch.equal(result_of(name, arch, True, Lateness()), at_once)
    # At least half of these few draws let one load arrive too late.
    seeds = [result_of(name, arch, True, Lateness(seed)) for seed in range(8)]
    assert any(not torch.equal(result, at_once) for result in seeds)
    again = [result_of(name, arch, True, Lateness(seed)) for seed in range(8)]
    assert all(torch.equal(*pair) for pair in zip(seeds, again, strict=True))


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", [*WAITS, *POLLS])
def test_where_waits_are_right_nothing_changes(name: str, arch: str) -> None:
    right = result_of(name, arch, False, None)
    assert all(torch.equal(result_of(name, arch, False, late), right) for late in LATE)


KINDS = r"""
#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))

// One of each kind of access whose effect comes later, some into registers that another one loads too, and
// only then a wait for all.
__global__ void kinds(const unsigned *in, unsigned *sums, unsigned *out) {
    __shared__ unsigned s[512];
    const unsigned lane = threadIdx.x;
    for (unsigned i = lane; i < 512; i += 64) s[i] = in[i] ^ 0x5a5a5a5a;
    __syncthreads();
    unsigned at = 4 * lane, in_lds = (unsigned)(size_t)(LDS unsigned *)s + at, flat_low, flat_high;
    unsigned long flat = (unsigned long)(s + (lane ^ 5));
    flat_low = (unsigned)flat, flat_high = (unsigned)(flat >> 32);
    asm volatile(
        "v_mov_b32 v40, 0x11112222\n\tv_mov_b32 v41, 0x33334444\n\tv_mov_b32 v42, %1\n\t"
        "v_mov_b32 v50, %5\n\tv_mov_b32 v51, %6\n\tv_mov_b32 v52, 7\n\t"
        "global_load_ushort v40, %0, %2\n\t"
        "global_load_short_d16_hi v40, %0, %2 offset:4\n\t"   // clears the lower half
        "global_load_ubyte_d16 v41, %0, %2 offset:9\n\t"      // clears the upper half
        "global_load_dwordx4 v[44:47], %0, %2 offset:16\n\t"
        "global_atomic_add v48, %0, v52, %3 sc0\n\t"
        "global_load_dword v49, %0, %3\n\t"                   // behind the atomic
        "flat_load_dword v50, v[50:51]\n\t"                   // LDS, over its own address
        "ds_write_b32 v42, %0 offset:256\n\t"
        "ds_read_b32 v43, v42 offset:256\n\t"                 // what was just written
        "ds_read_u16_d16_hi v53, v42 offset:512\n\t"
        "ds_add_rtn_u32 v54, v42, v52 offset:1024\n\t"
        "ds_read2_b32 v[56:57], v42 offset0:0 offset1:64\n\t"
        "ds_bpermute_b32 v55, v52, %0\n\t"
        "ds_read_b32 v42, v42 offset:1024\n\t"                // over its own address
        "s_waitcnt vmcnt(0) lgkmcnt(0)\n\t"
        "v_mov_b32 v58, 0\n\tv_mov_b32 v59, 0\n\t"
        "global_store_dword %0, v40, %4\n\tglobal_store_dword %0, v41, %4 offset:256\n\t"
        "global_store_dword %0, v42, %4 offset:512\n\tglobal_store_dword %0, v43, %4 offset:768\n\t"
        "global_store_dword %0, v44, %4 offset:1024\n\tglobal_store_dword %0, v45, %4 offset:1280\n\t"
        "global_store_dword %0, v46, %4 offset:1536\n\tglobal_store_dword %0, v47, %4 offset:1792\n\t"
        "global_store_dword %0, v48, %4 offset:2048\n\tglobal_store_dword %0, v49, %4 offset:2304\n\t"
        "global_store_dword %0, v50, %4 offset:2560\n\tv_lshrrev_b32 v53, 16, v53\n\t"
        "global_store_dword %0, v53, %4 offset:2816\n\tglobal_store_dword %0, v54, %4 offset:3072\n\t"
        "global_store_dword %0, v55, %4 offset:3328\n\tglobal_store_dword %0, v56, %4 offset:3584\n\t"
        "global_store_dword %0, v57, %4 offset:3840\n\ts_waitcnt vmcnt(0)"
        :: "v"(at), "v"(in_lds), "s"(in), "s"(sums), "s"(out), "v"(flat_low), "v"(flat_high)
        : "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49", "v50", "v51", "v52", "v53",
          "v54", "v55", "v56", "v57", "v58", "v59", "memory");
}

// Parts of registers into those of their addresses.
__global__ void addresses(const unsigned *in, unsigned *out) {
    unsigned long at = (unsigned long)(in + threadIdx.x);
    asm volatile("v_mov_b32 v40, %0\n\tv_mov_b32 v41, %1\n\tv_mov_b32 v42, %0\n\tv_mov_b32 v43, %1\n\t"
                 "global_load_ushort v40, v[40:41], off\n\tglobal_load_ubyte v43, v[42:43], off offset:4\n\t"
                 "s_waitcnt vmcnt(0)\n\tglobal_store_dword %2, v40, %3\n\t"
                 "global_store_dword %2, v43, %3 offset:256\n\ts_waitcnt vmcnt(0)"
                 :: "v"((unsigned)at), "v"((unsigned)(at >> 32)), "v"(4 * threadIdx.x), "s"(out)
                 : "v40", "v41", "v42", "v43", "memory");
}

// Half of the lanes are off when the load is issued, and on when it comes; they keep what they have.
__global__ void lanes(const unsigned *in, unsigned *out) {
    unsigned at = 4 * threadIdx.x;
    asm volatile("v_mov_b32 v40, 5\n\ts_mov_b64 s[20:21], exec\n\ts_mov_b64 exec, 0xff00\n\t"
                 "global_load_dword v40, %0, %1\n\ts_mov_b64 exec, s[20:21]\n\t"
                 "s_waitcnt vmcnt(0)\n\tglobal_store_dword %0, v40, %2\n\ts_waitcnt vmcnt(0)"
                 :: "v"(at), "s"(in), "s"(out) : "v40", "s20", "s21", "memory");
}

// More than the counter has bits for: the wave would stand until there is room.
__global__ void many(const unsigned *in, unsigned *out) {
    unsigned at = 4 * threadIdx.x;
    asm volatile("v_mov_b32 v41, 0\n\tv_mov_b32 v40, 0\n\t"
                 ".rept 80\n\tglobal_load_dword v40, %0, %1\n\t.endr\n\t"
                 "global_load_dword v41, %0, %1 offset:256\n\t"
                 "s_waitcnt vmcnt(0)\n\tv_add_u32 v40, v40, v41\n\t"
                 "global_store_dword %0, v40, %2\n\ts_waitcnt vmcnt(0)"
                 :: "v"(at), "s"(in), "s"(out) : "v40", "v41", "memory");
}

// Products of matrix cores whose factors come late.
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef float f4 __attribute__((ext_vector_type(4)));
__global__ void product(const h4 *in, f4 *out) {
    f4 sum = {0, 0, 0, 0};
    for (int i = 0; i < 8; i++) {
        h4 a = in[64 * i + threadIdx.x], b = in[64 * i + 63 - threadIdx.x];
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, sum, 0, 0, 0);
    }
    out[threadIdx.x] = sum;
}
"""


@cache
def kinds(arch: str) -> wb.Module:
    return wb.compile(KINDS, arch=arch, name="late_kinds.hip")


def launched(
    kernel: wb.Kernel, arch: str, late: Lateness | None, *tensors: torch.Tensor, **options: Any
) -> None:
    asked = LaunchOptions(late=late, **options)
    kernel.launch(wb.Launch(1, 64), tensors, {}, device=device(f"emulated:{arch}"), options=asked)


def numbers(count: int, seed: int) -> torch.Tensor:
    return torch.randint(-(2**31), 2**31, (count,), generator=torch.Generator().manual_seed(seed)).int()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_every_kind_of_access(arch: str) -> None:
    seed = random.randrange(1000)
    print("seed", seed)
    table, start = numbers(1024, seed), numbers(64, seed + 1)
    results = []
    for late in (None, *LATE):
        sums, out = start.clone(), torch.zeros(16, 64, dtype=torch.int32)
        launched(kinds(arch)["kinds"], arch, late, table, sums, out)
        results.append((sums, out))
    sums, out = results[0]
    assert torch.equal(sums, start + 7)
    # Some of it by PyTorch, so that not all have the same fault.
    assert torch.equal(out[0], table[1:65] << 16)
    assert torch.equal(out[1], table[2:66] >> 8 & 0xFF)
    assert torch.equal(out[3], 4 * torch.arange(64))
    assert torch.equal(out[8], start)
    assert torch.equal(out[9], start + 7)
    for late, (other_sums, other) in zip(LATE, results[1:], strict=True):
        assert torch.equal(other_sums, sums), late
        assert torch.equal(other, out), late


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_loads_into_their_own_addresses(arch: str) -> None:
    table = numbers(65, 6)
    expected = torch.stack([table[:64] & 0xFFFF, table[1:] & 0xFF])
    for late in (None, *LATE):
        out = torch.zeros(2, 64, dtype=torch.int32)
        launched(kinds(arch)["addresses"], arch, late, table, out)
        assert torch.equal(out, expected), late


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_lanes_that_were_off_keep_what_they_have(arch: str) -> None:
    table = numbers(64, 3)
    expected = torch.full((64,), 5, dtype=torch.int32)
    expected[8:16] = table[8:16]
    for late in (None, *LATE):
        out = torch.zeros(64, dtype=torch.int32)
        launched(kinds(arch)["lanes"], arch, late, table, out)
        assert torch.equal(out, expected), late


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_more_loads_than_a_counter_counts(arch: str) -> None:
    table = numbers(128, 4)
    for late in (None, *LATE):
        out = torch.zeros(64, dtype=torch.int32)
        launched(kinds(arch)["many"], arch, late, table, out)
        assert torch.equal(out, table[:64] + table[64:]), late


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_factors_of_matrix_instructions(arch: str) -> None:
    factors = torch.randn(8 * 64 * 4, generator=torch.Generator().manual_seed(5)).half()
    results = []
    for late in (None, *LATE):
        results.append(torch.zeros(64, 4))
        launched(kinds(arch)["product"], arch, late, factors, results[-1])
    assert all(torch.equal(result, results[0]) for result in results)


OPERATORS: dict[str, dict[str, Any]] = {
    "gemm/bf16": {"m": 200, "n": 136, "k": 264},
    "attention/forward": {"queries": 70, "keys": 300, "heads": 2, "heads_kv": 1, "causal": 1},
}


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_give_the_same_bits(name: str, arch: str) -> None:
    spec, where = wb.kernels[name], device(f"emulated:{arch}")
    shape = spec.shape(OPERATORS[name], arch=arch)
    results = []
    for when in (None, "last", 1, 2):
        inputs = spec.make_inputs(shape, seed=5, device=where)
        with nullcontext() if when is None else wb.late_loads(when):
            results.append(spec.run(inputs, shape=shape, device=where)[0])
    for result in results[1:]:
        assert all(torch.equal(tensor, results[0][output]) for output, tensor in result.items())


def test_the_sanitizer_and_a_tape_have_loads_at_once() -> None:
    """They check the order of instructions, which is the same."""
    case = CASES["vmcnt"]
    values, out = torch.arange(case.elements, dtype=torch.float32), torch.zeros(case.elements)
    kernel = seeded("gfx950", True)["vmcnt::k"]
    with wb.late_loads():
        result = wb.sanitize(kernel[1, 64], values, out, device="emulated:gfx950")
    assert [finding.category for finding in result.findings] == ["missing wait"]
    assert torch.equal(out[:64], 2 * values[:64])


def test_code_for_other_launches_has_none_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of functions with side effects are delayed by the option."""
    symbols: dict[bool, set[str]] = {}

    def emitted(*args: Any, **options: Any) -> Any:
        result = emit(*args, **options)
        symbols[late] = {name for name in result.symbols if name.startswith("hk_late")}
        return result

    monkeypatch.setattr("workbench.emulator.translate.translator.emit", emitted)
    code_object = wb.codeobject.CodeObject.from_bytes(kinds("gfx950").code)
    kernel = next(name for name in code_object.kernels if "lanes" in name)
    options = translator._options(code_object, kernel)
    for late in (False, True):
        translator._compile(code_object, kernel, replace(options, late=late))
    assert symbols == {False: set(), True: {"hk_late_native", "hk_late_pass", "hk_late_wait"}}


def test_what_holds_is_the_launch_s_then_the_block_s_then_the_variable_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert default_lateness() is None
    monkeypatch.setenv(VARIABLE, "last")
    assert default_lateness() == Lateness()
    monkeypatch.setenv(VARIABLE, "7")
    assert default_lateness() == Lateness(7)
    with wb.late_loads(3):
        assert default_lateness() == Lateness(3)
        with wb.late_loads():
            assert default_lateness() == Lateness()
    monkeypatch.setenv(VARIABLE, "often")
    with pytest.raises(UsageError, match=r"HIPKITTENS_LATE is 'often'; expected 'last', or a seed"):
        default_lateness()
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(UsageError, match="late_loads is"), wb.late_loads(wrong):  # type: ignore[arg-type]
            pass


def test_a_program_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.kernel import program

    monkeypatch.delenv(VARIABLE, raising=False)
    assert VARIABLE not in program._environment(None)
    with wb.late_loads(4):
        assert program._environment(None)[VARIABLE] == "4"
