"""gfx11's V_WMMA against exact integers, with the places of AMD's matrix instruction calculator (rdna3).

Every group of 16 lanes has all of A and B; neighbouring rows of D are in neighbouring groups; a result of 16
bits is the half of a register that op_sel says.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from tests.emulator.native.ops.test_wmma import BITS, UNIT, as_numbers, random_bits, result_numbers  # noqa: E402
from workbench.kernel import Module  # noqa: E402

SIDE = K = 16
CASES = {
    "f32_f16": ("v_wmma_f32_16x16x16_f16", ""),
    "f32_bf16": ("v_wmma_f32_16x16x16_bf16", "neg_lo:[1,0,1] neg_hi:[1,0,0]"),
    "f16_f16": ("v_wmma_f16_16x16x16_f16", ""),
    "f16_f16_high": ("v_wmma_f16_16x16x16_f16", "op_sel:[0,0,1]"),
    "bf16_bf16": ("v_wmma_bf16_16x16x16_bf16", ""),
    "bf16_bf16_high": ("v_wmma_bf16_16x16x16_bf16", "op_sel:[0,0,1]"),
    "i32_iu8": ("v_wmma_i32_16x16x16_iu8", "neg_lo:[1,0,0]"),
    "i32_iu8_clamp": ("v_wmma_i32_16x16x16_iu8", "neg_lo:[1,1,0] clamp"),
    "i32_iu4": ("v_wmma_i32_16x16x16_iu4", "neg_lo:[0,1,0]"),
}


def types(name: str) -> tuple[str, str]:
    """Of D and of A."""
    result, factor = name.split("_")[:2]
    return result, factor


@cache
def module(lanes: int) -> Module:
    kernels = ["#include <hip/hip_runtime.h>\n"]
    kernels += [f"typedef unsigned Rows{n} __attribute__((ext_vector_type({n})));\n" for n in (2, 4, 8)]
    for name, (opcode, modifiers) in CASES.items():
        factor, sums = f"Rows{BITS[types(name)[1]] // 2}", f"Rows{256 // lanes}"
        kernels.append(
            f'extern "C" __global__ void {name}(const {factor} *a, const {factor} *b, {sums} *c) {{\n'
            f"    const int i = threadIdx.x;\n    {sums} sums = c[i];\n"
            f'    asm("{opcode} %0, %1, %2, %0 {modifiers}" : "+v"(sums) : "v"(a[i]), "v"(b[i]));'
            "\n    c[i] = sums;\n}\n"
        )
    flags = () if lanes == 32 else ("-mwavefrontsize64",)
    return wb.compile("".join(kernels), arch="gfx1100", flags=flags, name="wmma.hip")


def packed(bits: np.ndarray, width: int, lanes: int) -> np.ndarray:
    """A factor's rows [16, K] as registers [lanes, dwords], the same in each group of 16 lanes."""
    words = bits.astype(np.uint64).reshape(SIDE, -1, 32 // width)
    dwords = sum(words[:, :, n] << np.uint64(n * width) for n in range(32 // width))
    return np.tile(np.asarray(dwords).astype(np.uint32), (lanes // SIDE, 1))


@pytest.mark.parametrize("lanes", [32, 64])
@pytest.mark.parametrize("name", CASES)
def test_products(random: np.random.Generator, name: str, lanes: int) -> None:
    type_d, type_a = types(name)
    modifiers, is_integer = CASES[name][1], type_d == "i32"
    bits_a, bits_b = (random_bits(random, type_a, (SIDE, K)) for _ in range(2))
    bits_c = random_bits(random, type_d, (SIDE, SIDE))
    if "clamp" in modifiers:
        bits_c[:, ::2] = 0x7FFFFFF0
    signed = [bool(int(x)) for x in modifiers.partition("neg_lo:[")[2][:3].split(",") if x]
    signed = signed or [False, False]
    a, b = (
        as_numbers(type_a, bits, is_integer and sign)
        for bits, sign in zip((bits_a, bits_b), signed, strict=True)
    )
    c = as_numbers(type_d, bits_c, False)
    if "neg_hi" in modifiers:
        a, c = -a, -c
    # Row i of D is register i // groups of group i % groups.
    groups, shift = lanes // SIDE, 16 if "high" in name else 0
    registers = np.zeros((lanes, SIDE // groups), np.uint32)
    other = 0xABCD if BITS[type_d] == 16 else 0
    for i in range(SIDE):
        part = slice(SIDE * (i % groups), SIDE * (i % groups) + SIDE)
        registers[part, i // groups] = bits_c[i].astype(np.uint32) << np.uint32(shift) | np.uint32(
            other << (16 - shift)
        )
    operands = [
        torch.from_numpy(np.ascontiguousarray(x).view(np.int32))
        for x in (packed(bits_a, BITS[type_a], lanes), packed(bits_b, BITS[type_a], lanes), registers)
    ]
    module(lanes)[name][1, lanes](*operands)
    after = operands[2].numpy().view(np.uint32)
    actual = np.zeros((SIDE, SIDE), np.uint64)
    for i in range(SIDE):
        row = after[SIDE * (i % groups) : SIDE * (i % groups) + SIDE, i // groups]
        actual[i] = row >> np.uint32(shift) & np.uint32((1 << BITS[type_d]) - 1)
        if other:
            assert (row >> np.uint32(16 - shift) & np.uint32(0xFFFF) == other).all()
    total = a @ b.T
    if is_integer:
        total = total + c
        limited = np.clip(total, -(1 << 31), (1 << 31) - 1) if "clamp" in modifiers else total
        assert np.array_equal(actual.astype(object), limited & 0xFFFFFFFF)
        return
    scale = int(1 / UNIT)
    total, size = total + c * scale, np.abs(a) @ np.abs(b).T + np.abs(c) * scale
    bound = size * K / 2**24 + np.abs(total) * {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}[type_d] + scale
    assert (np.abs(result_numbers(type_d, actual, scale) - total) <= bound).all()
