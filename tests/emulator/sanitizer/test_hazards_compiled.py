"""The hazard table against a compiler's count: clang's code is clean, and none of its s_nops is superfluous.

Every s_nop of compiled code without inline assembly is made one shorter in turn; each time a hazard appears.
That checks the counts from both sides, by code that does not know the table.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

import workbench as wb
from workbench.codeobject import printer
from workbench.codeobject.instruction import Instruction
from workbench.emulator.sanitizer.hazard_rules import RULES, TARGETS, Rule
from workbench.emulator.sanitizer.hazards import Hazards, find
from workbench.emulator.translate import flow
from workbench.kernel import Module
from workbench.targets import WAVE as LANES

_HEAD = """
#include <hip/hip_runtime.h>
typedef float f1;
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f32v __attribute__((ext_vector_type(32)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
"""

# Builtin, type of A and B, type of C and D.
_MATRIX = (
    ("mfma_f32_4x4x4f16", "h4", "f4"),
    ("mfma_f32_16x16x16f16", "h4", "f4"),
    ("mfma_f32_32x32x8f16", "h4", "f16v"),
    ("mfma_f32_32x32x4f16", "h4", "f32v"),
    ("mfma_f32_4x4x1f32", "f1", "f4"),
    ("mfma_f32_16x16x4f32", "f1", "f4"),
    ("mfma_f32_32x32x2f32", "f1", "f16v"),
    ("mfma_f64_16x16x4f64", "double", "d4"),
    ("mfma_f64_4x4x4f64", "double", "double"),
)


def _element(name: str, kind: str) -> str:
    return name if kind == "double" else f"{name}[0]"


def _source() -> str:
    parts = [_HEAD]
    for number, (builtin, ab, cd) in enumerate(_MATRIX):
        call = f"__builtin_amdgcn_{builtin}"
        scalar = "double" if cd in ("double", "d4") else "float"
        first = _element("d", cd)
        parts.append(f"""
__global__ void store{number}(const {ab} *a, {scalar} *out) {{
    {cd} d = {{}};
    d = {call}(a[threadIdx.x], a[64], d, 0, 0, 0);
    out[threadIdx.x] = {first};
}}
__global__ void compute{number}(const {ab} *a, {scalar} *out) {{
    {cd} d = {{}};
    d = {call}(a[threadIdx.x], a[64], d, 0, 0, 0);
    // Not in place: what is written over a result is not the result any more, which LLVM does not see.
    out[threadIdx.x] = {first} > 2 ? 1 : 3;
}}
__global__ void again{number}(const {ab} *a, {scalar} *out) {{
    {cd} d = {{}};
    {ab} x = a[threadIdx.x];
    d = {call}(x, x, d, 0, 0, 0);
    d = {call}(x, x, d, 0, 0, 0);
    d = {call}(x, x, d, 0, 0, 0);
    {ab} y;
    __builtin_memcpy(&y, &d, sizeof y);
    d = {call}(y, x, d, 0, 0, 0);
    out[threadIdx.x] = {first};
}}
__global__ void written{number}(const {ab} *a, {scalar} *out) {{
    {cd} d = {{}};
    {ab} x = a[threadIdx.x];
    x = x + x;
    d = {call}(x, x, d, 0, 0, 0);
    out[threadIdx.x] = {first};
}}
""")
    parts.append("""
__global__ void scalars(const float *a, float *out, int n) {
    float x = a[threadIdx.x];
    int lane = __builtin_amdgcn_readfirstlane((int)x);
    float y = __int_as_float(__builtin_amdgcn_readlane(__float_as_int(x * 2.0f), lane & 63));
    float z = x > y ? x * 3.0f : y;
    unsigned long long sum = (unsigned long long)threadIdx.x * n + (unsigned)lane;
    out[threadIdx.x] = z / y + (float)sum + __expf(z) * x;
    out[lane] = __builtin_sqrtf(x) + 1.0f;
}
__global__ void shuffled(const float *a, float *out) {
    float x = a[threadIdx.x] * 3.0f;
    x += __int_as_float(__builtin_amdgcn_mov_dpp(__float_as_int(x), 0xb1, 15, 15, true));
    x += __int_as_float(__builtin_amdgcn_update_dpp(0, __float_as_int(x), 0x111, 15, 15, false));
    out[threadIdx.x] = x;
}
__global__ void dots(const h2 *a, float *out) {
    float x = __builtin_amdgcn_fdot2(a[threadIdx.x], a[0], 1.0f, false);
    out[threadIdx.x] = x * 2.0f;
    int y = __builtin_amdgcn_sdot4(__float_as_int(x), 77, 1, false);
    out[threadIdx.x + 64] = (float)__builtin_amdgcn_sdot8(y, 3, 4, false);
}
""")
    return "".join(parts)


def _analysed(module: Module) -> list[tuple[list[list[Instruction]], dict[int, list[int]]]]:
    code = module.code_object
    result = []
    for kernel in module.kernels.values():
        blocks = flow.blocks_of(flow.reachable(code, kernel.info.entry))
        index_of = {block[0].address: index for index, block in enumerate(blocks)}
        ways = {i: flow.followers(blocks, i, index_of) for i in range(len(blocks))}
        result.append((blocks, ways))
    return result


def _shorter(blocks: list[list[Instruction]], block: int, place: int) -> list[list[Instruction]]:
    """The blocks with one s_nop a wait state shorter."""
    instruction = blocks[block][place]
    count = int(instruction.src[0].value or 0)
    less = [replace(instruction, src=(replace(instruction.src[0], value=count - 1),))] if count else []
    changed = list(blocks)
    changed[block] = [*blocks[block][:place], *less, *blocks[block][place + 1 :]]
    return changed


def values(rule: Rule, target: str) -> tuple[int, ...]:
    counts = rule.counts[target]
    return (counts,) if isinstance(counts, int) else tuple(counts.values())


@pytest.mark.parametrize("target", TARGETS)
def test_every_wait_state_of_the_compiler_is_wanted(target: str) -> None:
    module = wb.compile(_source(), arch=target, name="compiled.hip")
    seen: Counter[str] = Counter()
    for blocks, ways in _analysed(module):
        clean: Hazards = find(blocks, ways.__getitem__, target, LANES)
        assert not clean.pairs
        for index, block in enumerate(blocks):
            for place, instruction in enumerate(block):
                if instruction.opcode != "s_nop" or len(block) == 1:
                    continue
                less = _shorter(blocks, index, place)
                hazards = find(less, ways.__getitem__, target, LANES).pairs
                if not hazards and target == "gfx950":
                    # A count of 20; LLVM does not search for the last one.
                    hazards = find(_shorter(less, index, place), ways.__getitem__, target, LANES).pairs
                    assert all(20 in values(RULES[hazard.rule], target) for hazard in hazards)
                around = "; ".join(printer.text(each) for each in block[max(0, place - 3) : place + 2])
                assert hazards, f"{target}: one less is not reported: {around}"
                seen.update(RULES[hazard.rule].name for hazard in hazards)
    # Otherwise the compiler has put other instructions in between, and the test proves nothing.
    rules = {
        *("xdl-read", "xdl-ab", "sgemm-read", "sgemm-ab", "dgemm-16x16-ab", "dgemm-4x4-ab"),
        *(
            "dgemm-16x16-memory",
            "dgemm-4x4-memory",
            "vgpr-mfma",
            "two-pass-c",
            "dot-read",
            "sgpr-valu",
            "vgpr-dpp",
        ),
    }
    assert rules <= set(seen), seen
