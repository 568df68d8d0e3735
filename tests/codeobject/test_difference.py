"""Two versions of machine code, aligned, with registers that were only renamed."""

from __future__ import annotations

import difflib
import random

import pytest

from workbench.codeobject.difference import Edit, align, difference
from workbench.codeobject.instruction import Instruction
from workbench.kernel import compile


@pytest.mark.parametrize("count", range(12))
def test_alignment_is_a_short_edit_path(count: int) -> None:
    before = [random.choice("abcd") for _ in range(random.randrange(30))]
    after = [random.choice("abcd") for _ in range(random.randrange(30))]
    pairs = align(before, after)
    assert [a for a, _ in pairs if a is not None] == list(range(len(before)))
    assert [b for _, b in pairs if b is not None] == list(range(len(after)))
    common = [(a, b) for a, b in pairs if a is not None and b is not None]
    assert all(before[a] == after[b] for a, b in common)
    blocks = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    assert len(common) >= sum(block.size for block in blocks)


def code(source: str) -> list[Instruction]:
    (kernel,) = compile(source, arch="gfx950").kernels.values()
    return list(kernel.instructions)


# Values are named, since the compiler chooses registers; the assembler's text is as written here.
HEAD = 'extern "C" __global__ void k(float* p) { asm volatile("'
TAIL = '" ::: "v1","v2","v3","v4","v5","v6","v7","v8","v9"); }'


def assembled(*lines: str) -> list[Instruction]:
    instructions = code(HEAD + r"\n".join(lines) + TAIL)
    opcodes = {line.split()[0] for line in lines}
    return [i for i in instructions if any(i.opcode.startswith(name) for name in opcodes)]


def edits(before: list[Instruction], after: list[Instruction]) -> list[str]:
    return [str(row.edit) for row in difference(before, after)]


def test_renamed_registers_are_told_from_changed_operands() -> None:
    old = assembled("v_mov_b32 v1, 1.0", "v_mov_b32 v2, 2.0", "v_sub_f32 v3, v1, v2", "v_sqrt_f32 v3, v3")
    renamed = assembled("v_mov_b32 v7, 1.0", "v_mov_b32 v8, 2.0", "v_sub_f32 v9, v7, v8", "v_sqrt_f32 v9, v9")
    swapped = assembled("v_mov_b32 v7, 1.0", "v_mov_b32 v8, 2.0", "v_sub_f32 v9, v8, v7", "v_sqrt_f32 v9, v9")
    doubled = assembled("v_mov_b32 v1, 1.0", "v_mov_b32 v2, 2.0", "v_sub_f32 v3, v1, v1", "v_sqrt_f32 v3, v3")
    assert edits(old, old) == ["same"] * 4
    assert edits(old, renamed) == ["renamed"] * 4
    assert edits(old, swapped) == ["renamed", "renamed", "removed", "added", "renamed"]
    assert edits(old, doubled) == ["same", "same", "removed", "added", "same"]


def test_an_added_instruction_leaves_the_others_the_same() -> None:
    old = assembled("v_mov_b32 v1, 1.0", "v_sqrt_f32 v3, v1")
    new = assembled("v_mov_b32 v4, 1.0", "v_log_f32 v5, v4", "v_sqrt_f32 v6, v4")
    rows = difference(old, new)
    assert [str(r.edit) for r in rows] == ["renamed", "added", "renamed"]
    assert [(r.before, r.after) for r in rows] == [(0, 0), (None, 1), (1, 2)]


def test_a_large_kernel_is_the_same_as_itself() -> None:
    source = """
#include "kittens.cuh"
using namespace kittens;
extern "C" __global__ void k(const float* in, float* out, int n) {
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 64) sum += i & 1 ? in[i] * in[i] : in[i];
    if (sum > 3.f) sum = sqrtf(sum);
    out[threadIdx.x] = sum;
}"""
    before = code(source)
    assert {row.edit for row in difference(before, before)} == {Edit.SAME}
    after = code(source.replace("3.f", "4.f"))
    changed = [row for row in difference(before, after) if row.edit in (Edit.ADDED, Edit.REMOVED)]
    assert 0 < len(changed) <= 8
