"""Cases of fused products."""

from __future__ import annotations

from typing import Any

import torch
from collection.case import Case, Draw, Make, empty
from collection.cases.gemm_basic import blocks, fp4, narrow, powers

Product = tuple[dict[str, Any], torch.Tensor]


def of_8_bits(draw: Draw) -> Product:
    """A, B and scales, and the product."""
    a, b = narrow(draw, "fp8", 20, 256), narrow(draw, "fp8", 24, 256)
    sa, sb = draw.uniform(20, 2), draw.uniform(2, 24)
    out = (a.double() * blocks(sa, 256)) @ (b.double() * blocks(sb.T, 256)).T
    return {"a": a, "b": b, "sa": sa, "sb": sb}, out


def of_4_bits(draw: Draw, packed: bool = True) -> Product:
    (a, left), (b, right) = fp4(draw, 20, 256), fp4(draw, 24, 256)
    (sa, factors_a), (sb, factors_b) = powers(draw, 20, 8), powers(draw, 24, 8)
    out = (left * factors_a) @ (right * factors_b).T
    if packed:
        return {"a": a, "b": b, "sa": sa, "sb": sb}, out
    floats = [torch.exp2(s.float() - 127) for s in (sa, sb)]
    return {"a": left.bfloat16(), "b": right.bfloat16(), "sa": floats[0], "sb": floats[1]}, out


def two(product: Product, draw: Draw, bits: str, scales: str) -> Case:
    """The other product is of bf16."""
    operands, out = product
    a16, b16 = draw.normal(20, 256), draw.normal(40, 256)
    arguments = {
        **{f"a{bits}": operands["a"], f"b{bits}": operands["b"], f"c{bits}": empty(20, 24)},
        **{f"sa{scales}": operands["sa"], f"sb{scales}": operands["sb"]},
        **{"a16": a16, "b16": b16, "c16": empty(20, 40)},
    }
    return Case(arguments, {f"c{bits}": out, "c16": a16.double() @ b16.double().T}, atol=0.5)


def mul_add(product: Product, draw: Draw, c_b: str) -> Case:
    operands, out = product
    c_a = draw.normal(20, 24)
    added = {"row": draw.normal(1, 24), "number": 1.5}[c_b]
    plus = added.double() if isinstance(added, torch.Tensor) else added
    arguments = {**operands, "c": empty(20, 24), "c_a": c_a, "c_b": added}
    order = ("a", "b", "c", "sa", "sb", "c_a", "c_b")
    return Case({name: arguments[name] for name in order}, {"c": c_a.double() * out + plus}, atol=0.5)


CASES: dict[str, Make] = {
    "fused_gemm_a8w8_blockscale_a16w16_tk.dispatch": lambda draw: two(of_8_bits(draw), draw, "8", ""),
    "fused_gemm_a8w8_blockscale_mul_add_tk.dispatch": lambda draw: mul_add(of_8_bits(draw), draw, "number"),
    "fused_gemm_afp4wfp4_a16w16_tk.dispatch": lambda draw: two(of_4_bits(draw), draw, "4", "4"),
    "fused_gemm_afp4wfp4_a16w16_tk.dispatch:bf16": lambda draw: two(of_4_bits(draw, False), draw, "4", "4"),
    "fused_gemm_afp4wfp4_mul_add_tk.dispatch": lambda draw: mul_add(of_4_bits(draw), draw, "row"),
    "fused_gemm_afp4wfp4_mul_add_tk.dispatch:bf16": lambda draw: mul_add(
        of_4_bits(draw, False), draw, "number"
    ),
}

SAMPLED = [name for name in CASES if ":" in name]
