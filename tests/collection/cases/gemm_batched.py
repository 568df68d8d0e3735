"""Products of batches."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty
from collection.cases.gemm_basic import fp4, powers


def bf16(transposed: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, b, bias = draw.normal(2, 20, 136), draw.normal(2, 136, 24), draw.normal(2, 1, 24)
        out = torch.baddbmm(bias.double(), a.double(), b.double())
        given = b.mT.contiguous() if transposed else b
        return Case({"A": a, "B": given, "C": empty(2, 20, 24), "bias": bias}, {"C": out}, atol=5e-2)

    return make


def a8w8(draw: Draw) -> Case:
    a, b = (draw.integers(-128, 128, 2, *dims, dtype=torch.int8) for dims in ((20, 144), (144, 32)))
    sa, sb, bias = draw.uniform(2, 20, 1), draw.uniform(2, 1, 32), draw.normal(2, 1, 32)
    out = (a.double() @ b.double()) * sa.double() * sb.double() + bias.double()
    return Case(
        {"A": a, "B": b, "sa": sa, "sb": sb, "C": empty(2, 20, 32), "bias": bias}, {"C": out}, atol=0.1
    )


def a16wfp4(packed: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, (codes, values), (scale, factors) = (
            draw.normal(2, 20, 128),
            fp4(draw, 2, 24, 128),
            powers(draw, 2, 24, 4),
        )
        if not packed:
            b = values.bfloat16().mT.contiguous()
            out = a.double() @ values.mT
            return Case({"A": a, "B": b, "C": empty(2, 20, 24), "b_scale": None}, {"C": out}, atol=5e-2)
        out = a.double() @ (values * factors).mT
        return Case({"A": a, "B": codes, "C": empty(2, 20, 24), "b_scale": scale}, {"C": out}, atol=0.2)

    return make


def afp4wfp4(draw: Draw) -> Case:
    (a, left), (b, right) = fp4(draw, 2, 20, 128), fp4(draw, 2, 24, 128)
    (of_a, factors_a), (of_b, factors_b) = powers(draw, 2, 20, 4), powers(draw, 2, 24, 4)
    out = (left * factors_a) @ (right * factors_b).mT
    return Case(
        {"A": a, "B": b, "C": empty(2, 20, 24), "a_scale": of_a, "b_scale": of_b}, {"C": out}, atol=0.5
    )


CASES: dict[str, Make] = {
    "batched_gemm_bf16_tk.dispatch": bf16(transposed=False),
    "batched_gemm_bf16_tk.dispatch:transposed": bf16(transposed=True),
    "batched_gemm_a8w8_tk.dispatch": a8w8,
    "batched_gemm_a16wfp4_tk.dispatch": a16wfp4(packed=True),
    "batched_gemm_a16wfp4_tk.dispatch:bf16": a16wfp4(packed=False),
    "batched_gemm_afp4wfp4_tk.dispatch": afp4wfp4,
}

SAMPLED = [name for name in CASES if ":" in name]
