"""Mixtures of experts: one entry at a time, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from collection.case import Case, Draw, Make, empty
from torch.nn import functional

TOKENS, TOP_K, EXPERTS, BLOCK = 11, 2, 4, 16
E2M1 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])


def assigned(draw: Draw) -> torch.Tensor:
    """An expert for each id; the last expert has no ids."""
    return draw.integers(0, EXPERTS - 1, TOKENS * TOP_K, dtype=torch.int64)


def blocks(experts: torch.Tensor) -> dict[str, Any]:
    """Sorted ids, every expert's padded to whole blocks, and the expert of each block."""
    ids: list[int] = []
    owners: list[int] = []
    for expert in range(EXPERTS):
        rows = [i for i, e in enumerate(experts.tolist()) if e == expert]
        padding = -len(rows) % BLOCK
        ids += rows + [len(experts)] * padding
        owners += [expert] * ((len(rows) + padding) // BLOCK)
    return {
        "sorted_token_ids": torch.tensor(ids, dtype=torch.int32),
        "expert_ids": torch.tensor(owners, dtype=torch.int32),
    }


def ragged(experts: torch.Tensor) -> dict[str, Any]:
    """Ids by expert, and where each expert's begin."""
    sizes = torch.bincount(experts, minlength=EXPERTS)
    tiles = [e | b << 16 for e, size in enumerate(sizes.tolist()) for b in range(-(-size // 128))]
    return {
        "GatherIndx": experts.argsort(stable=True).to(torch.int32),
        "ExptHist": sizes.to(torch.int32),
        "ExptOffs": (sizes.cumsum(0) - sizes).to(torch.int32),
        "ExptData": torch.tensor(tiles, dtype=torch.int32),
        **{"grid_m": len(tiles), "grid_n": 1, "n_expts_act": TOP_K},
    }


def strides(**tensors: torch.Tensor) -> dict[str, int]:
    """Strides by the letters of their names: `am_ak=a` gives stride_am and stride_ak."""
    return {
        f"stride_{name}": stride
        for names, tensor in tensors.items()
        for name, stride in zip(names.split("_"), tensor.stride(), strict=True)
    }


def each_id(experts: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Row id is a[id / top_k] b[expert of id]."""
    return torch.stack([a[i // TOP_K] @ b[e] for i, e in enumerate(experts.tolist())])


def padded(rows: torch.Tensor, output: torch.Tensor) -> torch.Tensor:
    """The expected output: `rows`, then the output's previous content."""
    return torch.cat([rows, output[len(rows) :].double()])


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, -1)
    return functional.silu(gate) * up


def by_blocks(finish: Callable[[torch.Tensor], torch.Tensor], weighted: bool) -> Make:
    def make(draw: Draw) -> Case:
        experts, k, n = assigned(draw), 96, 64
        a, b = draw.normal(TOKENS, k), draw.normal(EXPERTS, k, n)
        lists, weights = blocks(experts), draw.uniform(TOKENS * TOP_K)
        sums = each_id(experts, a.double(), b.double()) * (weights.double()[:, None] if weighted else 1)
        rows = finish(sums)
        c = torch.zeros(len(lists["sorted_token_ids"]), rows.shape[1], dtype=torch.bfloat16)
        return Case(
            {
                **{"A": a, "B": b, "C": c, "topk_weights": weights, **lists},
                "num_tokens_post_padded": torch.tensor([len(c)], dtype=torch.int32),
                **{"N": n, "K": k, "num_valid_tokens": len(experts), "top_k": TOP_K},
                **strides(am_ak=a, be_bk_bn=b, cm_cn=c),
                "mul_routed_weight": weighted,
            },
            {"C": padded(rows, c)},
            atol=5e-2,
        )

    return make


def end_to_end(draw: Draw) -> Case:
    experts, k, n = assigned(draw), 64, 96
    a, w1, w2 = draw.normal(TOKENS, k), draw.normal(EXPERTS, n, k) / 8, draw.normal(EXPERTS, k, n // 2) / 8
    lists, weights = blocks(experts), draw.uniform(TOKENS * TOP_K)
    hidden = silu_and_mul(each_id(experts, a.double(), w1.double().mT))
    rows = torch.stack([h @ w2[e].double().T for h, e in zip(hidden, experts.tolist(), strict=True)])
    c = torch.zeros(len(lists["sorted_token_ids"]), k, dtype=torch.bfloat16)
    return Case(
        {
            **{"A": a, "W1": w1, "W2": w2, "C": c, "topk_weights": weights, **lists},
            "num_tokens_post_padded": torch.tensor([len(c)], dtype=torch.int32),
            **{"N": n, "K": k, "num_valid_tokens": len(experts), "top_k": TOP_K},
            **strides(am_ak=a, w1e_w1n_w1k=w1, w2e_w2n_w2k=w2.mT),
            **{"stride_cm": k, "mul_routed_weight": True},
        },
        {"C": padded(rows * weights.double()[:, None], c)},
        atol=5e-2,
    )


def swiglu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    gate, linear = x[:, ::2], x[:, 1::2]
    return gate * torch.sigmoid(alpha * gate) * (linear + 1)


def ragged_case(
    draw: Draw,
    x: torch.Tensor,
    w: torch.Tensor,
    extra: dict[str, Any],
    *,
    of: tuple[torch.Tensor, torch.Tensor],
) -> tuple[dict[str, Any], torch.Tensor, torch.Tensor]:
    """Shared arguments of ragged functions, the products of `of` by entry, and the expert of each entry."""
    experts = assigned(draw)
    lists = ragged(experts)
    order = lists["GatherIndx"].long()
    sums = each_id(experts, *of)[order]
    n = w.shape[-1]
    shared = {
        **{"X": x, "W": w, "N": n, "K": of[0].shape[1], **lists, **extra},
        **strides(xm_xk=x, we_wk_wn=w),
        **{"stride_ym": n, "stride_yn": 1},
    }
    return shared, sums, experts[order]


def a8w8(kind: str, swiglu_alpha: float | None) -> Make:
    def make(draw: Draw) -> Case:
        k, n = 96, 64
        if kind == "fp8":
            x, w = draw.normal(TOKENS, k, dtype=draw.fp8), draw.normal(EXPERTS, k, n, dtype=draw.fp8)
        else:
            dtype = torch.int8 if kind == "int8" else torch.bfloat16
            x, w = (draw.integers(-128, 128, *dims, dtype=dtype) for dims in ((TOKENS, k), (EXPERTS, k, n)))
        unit = 1.0 if kind == "fp8" else 1 / 16384
        scale_x, scale_w, bias = draw.uniform(1) * unit, draw.uniform(EXPERTS), draw.uniform(EXPERTS, n)
        shared, sums, experts = ragged_case(draw, x, w, {}, of=(x.double(), w.double()))
        rows = sums * scale_x.double() * scale_w.double()[experts][:, None] + bias.double()[experts]
        if swiglu_alpha is not None:
            rows = swiglu(rows, swiglu_alpha)
        return Case(
            {
                **shared,
                **{"X_scale": scale_x, "W_scale": scale_w, "bias": bias, "Y": empty(*rows.shape)},
                **{"apply_swiglu": swiglu_alpha is not None, "swiglu_alpha": swiglu_alpha or 0.0},
                "stride_ym": rows.shape[1],
            },
            {"Y": rows},
            atol=5e-2,
        )

    return make


def a8w8_blockscale(draw: Draw) -> Case:
    k, n, group_k, group_n = 128, 64, 64, 32
    x, w = (draw.integers(-128, 128, *dims, dtype=torch.int8) for dims in ((TOKENS, k), (EXPERTS, k, n)))
    scale_x, scale_w = draw.uniform(TOKENS, 2) / 128, draw.uniform(EXPERTS, 2, 2) / 128
    of_x = scale_x.double().repeat_interleave(group_k, 1)
    of_w = scale_w.double().repeat_interleave(group_k, 1).repeat_interleave(group_n, 2)
    shared, sums, _ = ragged_case(draw, x, w, {}, of=(x.double() * of_x, w.double() * of_w))
    return Case(
        {
            **{**shared, "X_scale": scale_x, "W_scale": scale_w, "bias": None, "Y": empty(*sums.shape)},
            **{"group_k": group_k, "group_n": group_n},
            **strides(xsm_xsk=scale_x, wse_wsk_wsn=scale_w),
        },
        {"Y": sums},
        atol=5e-2,
    )


def a8w4(zero_points: bool) -> Make:
    def make(draw: Draw) -> Case:
        k, n, group = 96, 64, 32
        x = draw.integers(-128, 128, TOKENS, k, dtype=torch.int8)
        w = draw.integers(0, 256, EXPERTS, k // 2, n, dtype=torch.uint8)
        scale = draw.uniform(EXPERTS, k // group, n) / 512
        zero = draw.integers(0, 16, EXPERTS, k // group, n, dtype=torch.float32)
        codes = torch.stack([w % 16, w // 16], 2).reshape(EXPERTS, k, n).double()
        less = zero.double().repeat_interleave(group, 1) if zero_points else 8
        dequantized = (codes - less) * scale.double().repeat_interleave(group, 1)
        scale_x = draw.uniform(1)
        shared, sums, _ = ragged_case(draw, x, w, {}, of=(x.double(), dequantized))
        return Case(
            {
                **{**shared, "X_scale": scale_x, "W_scale": scale, "W_zp": zero if zero_points else None},
                **{"Y": empty(*sums.shape), "group_size": group, "has_zero_point": zero_points},
                **strides(wse_wsk_wsn=scale),
            },
            {"Y": sums * scale_x.double()},
            atol=5e-2,
        )

    return make


def microscaled(codes: torch.Tensor, scales: torch.Tensor, dim: int) -> torch.Tensor:
    """Numbers of packed codes along `dim` times their scales."""
    packed, powers = codes.movedim(dim, -1).long(), scales.movedim(dim, -1).double()
    numbers = E2M1.double()[torch.stack([packed % 16, packed // 16], -1).flatten(-2)]
    return (numbers * (2 ** (powers - 127)).repeat_interleave(32, -1)).movedim(-1, dim)


def fp4_operands(draw: Draw, k: int, n: int) -> tuple[torch.Tensor, ...]:
    def codes(low: int, high: int, *dims: int) -> torch.Tensor:
        return draw.integers(low, high, *dims, dtype=torch.uint8)

    return (
        *(codes(0, 256, TOKENS, k // 2), codes(0, 256, EXPERTS, k // 2, n)),
        *(codes(122, 128, TOKENS, k // 32), codes(122, 128, EXPERTS, k // 32, n)),
    )


def a4w4(draw: Draw) -> Case:
    x, w, scale_x, scale_w = fp4_operands(draw, 96, 64)
    static_x, static_w = draw.uniform(1), draw.uniform(EXPERTS)
    of = microscaled(x, scale_x, 1), microscaled(w, scale_w, 1)
    shared, sums, experts = ragged_case(draw, x, w, {}, of=of)
    return Case(
        {
            **{**shared, "X_mx_scale": scale_x, "W_mx_scale": scale_w, "X_static_scale": static_x},
            **{"W_static_scale": static_w, "Y": empty(*sums.shape), "apply_swiglu": False},
        },
        {"Y": sums * static_x.double() * static_w.double()[experts][:, None]},
        atol=5e-2,
    )


def mxfp4(finish: Callable[[torch.Tensor], torch.Tensor]) -> Make:
    def make(draw: Draw) -> Case:
        k, n = 96, 64
        a, b, scale_a, scale_b = fp4_operands(draw, k, n)
        experts, tensor_scale, of_experts = assigned(draw), draw.uniform(1), draw.uniform(EXPERTS)
        lists, weights = blocks(experts), draw.uniform(TOKENS * TOP_K)
        sums = each_id(experts, microscaled(a, scale_a, 1), microscaled(b, scale_b, 1))
        factors = tensor_scale.double() * of_experts.double()[experts] * weights.double()
        rows = finish(sums * factors[:, None])
        c = torch.zeros(len(lists["sorted_token_ids"]), rows.shape[1], dtype=torch.bfloat16)
        return Case(
            {
                **{
                    "A": a,
                    "B": b,
                    "C": c,
                    "A_mx_scale": scale_a,
                    "B_mx_scale": scale_b,
                    "A_scale": tensor_scale,
                },
                **{"B_scale": of_experts, "topk_weights": weights, **lists, "mul_routed_weight": True},
                **{
                    "N": n,
                    "K": k,
                    "num_valid_tokens": len(experts),
                    "top_k": TOP_K,
                    "grid_m": 1,
                    "grid_n": 1,
                },
                **strides(am_ak=a, be_bk_bn=b, cm_cn=c, amxm_amxk=scale_a, bmxe_bmxk_bmxn=scale_b),
            },
            {"C": padded(rows, c)},
            atol=5e-2,
        )

    return make


CASES: dict[str, Make] = {
    "moe_op_tk.moe_gemm": by_blocks(lambda x: x, True),
    "moe_op_gelu_tk.moe_gelu": by_blocks(functional.gelu, False),
    "moe_op_silu_fused_tk.moe_silu_fused": by_blocks(silu_and_mul, True),
    "moe_op_e2e_tk.moe_e2e": end_to_end,
    "moe_op_gemm_a8w8_tk.moe_a8w8": a8w8("int8", None),
    "moe_op_gemm_a8w8_tk.moe_a8w8:fp8": a8w8("fp8", None),
    "moe_op_gemm_a8w8_tk.moe_a8w8:swiglu": a8w8("bf16", 1.7),
    "moe_op_gemm_a8w8_blockscale_tk.moe_a8w8_blockscale": a8w8_blockscale,
    "moe_op_gemm_a8w4_tk.moe_a8w4": a8w4(True),
    "moe_op_gemm_a8w4_tk.moe_a8w4:without zero points": a8w4(False),
    "moe_op_gemm_a4w4_tk.moe_a4w4": a4w4,
    "moe_op_mxfp4_tk.moe_mxfp4": mxfp4(lambda x: x),
    "moe_op_mxfp4_silu_fused_tk.moe_mxfp4_silu_fused": mxfp4(silu_and_mul),
}
