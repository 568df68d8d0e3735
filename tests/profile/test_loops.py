"""Innermost loops of executed code, and their dependences on loads, against the source."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.profile.loops import InnerLoop, inner_loops, is_load

SOURCE = r"""#include <hip/hip_runtime.h>
extern "C" __global__ void nested(const float *x, float *out) {
    float sum = 0;
#pragma unroll 1
    for (int a = 0; a < 3; a++) {
        sum *= 0.5f;
#pragma unroll 1
        for (int b = 0; b < 5; b++) sum += x[(a * 5 + b) * 64 + threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
extern "C" __global__ void chained(const int *x, int *out) {
    int at = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 7; k++) at = x[at] & 63;
    out[threadIdx.x] = at;
}
extern "C" __global__ void again(const float *x, float *out) {
#pragma unroll 1
    for (int k = 0; k < 9; k++) out[threadIdx.x] = out[threadIdx.x] * 0.5f + x[k * 64 + threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


def loop_of(module: wb.Module, name: str, turns: int) -> InnerLoop:
    kernel = module[name]
    code = {instruction.address: instruction for instruction in kernel.instructions}
    # As if one wave had run: the counts only have to name the instructions.
    (loop,) = inner_loops(code, dict.fromkeys(code, turns))
    assert loop.turns == turns
    return loop


def test_the_inner_one_of_two_loops(module: wb.Module) -> None:
    loop = loop_of(module, "nested", 15)
    assert [is_load(instruction) for instruction in loop.code].count(True) == 1
    assert not any(instruction.opcode.startswith("global_store") for instruction in loop.code)
    assert loop.branches() == 1


def test_which_loads_a_load_decides(module: wb.Module) -> None:
    for name, decides in (("nested", False), ("chained", True), ("again", False)):
        loop = loop_of(module, name, 4)
        loads = {instruction.address for instruction in loop.code if is_load(instruction)}
        assert loads
        assert loop.decided_by_loads() == (loads if decides else set()), name


def test_which_accesses_are_the_same_each_turn(module: wb.Module) -> None:
    loop = loop_of(module, "again", 9)
    accesses = [instruction for instruction in loop.code if instruction.record.memory is not None]
    same = [instruction.opcode for instruction in accesses if loop.is_same_each_turn(instruction)]
    assert same == ["global_store_dword"], "the compiler itself keeps what is loaded again"
    assert [instruction.opcode for instruction in accesses if is_load(instruction)] == [
        "global_load_dword"
    ], "x goes on"


def test_what_follows_from_an_instruction(module: wb.Module) -> None:
    loop = loop_of(module, "nested", 15)
    follows = [instruction.opcode for instruction in loop.follows_from(is_load)]
    assert follows[0].startswith("global_load")
    assert any(opcode.startswith("v_add_f32") for opcode in follows[1:])
    assert not any(opcode.startswith("s_add") for opcode in follows)
