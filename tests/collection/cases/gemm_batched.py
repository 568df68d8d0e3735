"""Cases of batched products."""

from __future__ import annotations

from dataclasses import replace

import torch
from collection.case import Case, Draw, Make, empty
from collection.cases.gemm_basic import fp4, powers


def of_four(make: Make) -> Make:
    """The case with a leading dimension of 1 and B as N x K, as the port's own tests call it."""

    def make_4d(draw: Draw) -> Case:
        case = make(draw)
        arguments = dict(case.arguments)
        arguments["B"] = arguments["B"].mT.contiguous()
        for name in ("sa", "sb"):
            if name in arguments:
                arguments[name] = arguments[name].flatten(1)[:, None]
        arguments = {name: None if value is None else value[None] for name, value in arguments.items()}
        return replace(case, arguments=arguments, expected={"C": case.expected["C"][None]})

    return make_4d


def bf16(transposed: bool, n: int = 24) -> Make:
    def make(draw: Draw) -> Case:
        a, b, bias = draw.normal(2, 20, 136), draw.normal(2, 136, n), draw.normal(2, 1, n)
        out = torch.baddbmm(bias.double(), a.double(), b.double())
        operand = b.mT.contiguous() if transposed else b
        return Case({"A": a, "B": operand, "C": empty(2, 20, n), "bias": bias}, {"C": out}, atol=5e-2)

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


def afp4wfp4_of_bf16(draw: Draw) -> Case:
    (_, left), (_, right) = fp4(draw, 2, 20, 128), fp4(draw, 2, 24, 128)
    arguments = {"A": left.bfloat16(), "B": right.bfloat16().mT.contiguous(), "C": empty(2, 20, 24)}
    return Case({**arguments, "a_scale": None, "b_scale": None}, {"C": left @ right.mT}, atol=0.5)


CASES: dict[str, Make] = {
    "batched_gemm_bf16_tk.dispatch": bf16(transposed=False),
    "batched_gemm_bf16_tk.dispatch:transposed": bf16(transposed=True),
    "batched_gemm_bf16_tk.dispatch:square": of_four(bf16(transposed=False, n=136)),
    "batched_gemm_a8w8_tk.dispatch": a8w8,
    "batched_gemm_a8w8_tk.dispatch:four": of_four(a8w8),
    "batched_gemm_a16wfp4_tk.dispatch": a16wfp4(packed=True),
    "batched_gemm_a16wfp4_tk.dispatch:bf16": a16wfp4(packed=False),
    "batched_gemm_a16wfp4_tk.dispatch:four": of_four(a16wfp4(packed=False)),
    "batched_gemm_afp4wfp4_tk.dispatch": afp4wfp4,
    "batched_gemm_afp4wfp4_tk.dispatch:four": of_four(afp4wfp4_of_bf16),
}

SAMPLED = [name for name in CASES if ":" in name]
