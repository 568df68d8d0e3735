"""Routing to one expert, conversions."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty


def top1(shared: bool, spread: int = 1) -> Make:
    """Sigmoids are floats, as AITER's: with a `spread` of 16 those of many experts are 1."""

    def make(draw: Draw) -> Case:
        tokens, experts, k = 33, 24, 64
        # Multiples of 2^-7 are summed without rounding, so both sides have the same sigmoids.
        x, w = ((4 * draw.normal(*dims)).round() / 4 for dims in ((tokens, k), (k, experts)))
        w = w * (spread / 8)
        scores, best = torch.sigmoid((x.double() @ w.double()).float()).max(1, keepdim=True)
        more = torch.ones(tokens, int(shared), dtype=torch.int64)
        return Case(
            {
                **{"X": x, "W": w, "topk_ids": empty(tokens, 1 + shared, dtype=torch.int32)},
                **{"topk_weights": empty(tokens, 1 + shared), "m": tokens, "n": experts, "k_dim": k},
                **{"topk": 1, "fused_shared_experts": shared},
            },
            {
                "topk_ids": torch.cat([best, experts * more], 1),
                "topk_weights": torch.cat([scores.double(), more], 1),
            },
            exact=frozenset(("topk_ids",)),
        )

    return make


E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def static_fp8(draw: Draw) -> Case:
    x, scale = 100 * draw.normal(9, 64), draw.uniform(1)
    largest = torch.finfo(draw.fp8).max
    quantized = (x.float() / scale).clamp(-largest, largest).to(draw.fp8)
    return Case(
        {"x": x, "y": empty(9, 64, dtype=torch.uint8), "scale": scale, "M": 9, "N": 64},
        {"y": quantized.view(torch.uint8)},
        exact=frozenset(("y",)),
    )


def powers_of(blocks: torch.Tensor, largest: float) -> torch.Tensor:
    """The lowest power of two with which the greatest of each block is no larger than that."""
    powers = torch.zeros(blocks.shape[:-1], dtype=torch.int64)
    for at, greatest in enumerate(blocks.abs().amax(-1).flatten().tolist()):
        power = 1
        while greatest / 2.0 ** (power - 127) > largest:
            power += 1
        powers.view(-1)[at] = power
    return powers


def downcast(fp4: bool) -> Make:
    def make(draw: Draw) -> Case:
        rows, cols = 5, 96
        source = 3 * draw.normal(rows, cols)
        blocks = source.double().unflatten(-1, (-1, 32))
        largest = 6.0 if fp4 else torch.finfo(draw.fp8).max
        powers = powers_of(blocks, largest)
        scaled = (blocks / 2.0 ** (powers - 127).double()[..., None]).flatten(1)
        if fp4:
            values = torch.tensor(E2M1, dtype=torch.float64)
            # The nearest value; of two equally near ones the even code.
            apart = (scaled.abs()[..., None] - values).abs() + 1e-9 * (torch.arange(8) % 2)
            codes = apart.argmin(-1) + 8 * (scaled < 0)
            packed = codes[:, ::2] + 16 * codes[:, 1::2]
        else:
            packed = scaled.float().to(draw.fp8).view(torch.uint8).long()
        width = cols // 2 if fp4 else cols
        return Case(
            {
                **{"mx_tensor": empty(rows, width, dtype=torch.uint8), "src": source},
                **{"mx_scale": empty(rows, cols // 32, dtype=torch.uint8)},
                **{"outer_dim": rows, "quant_dim": cols, "is_fp4": fp4},
            },
            {"mx_tensor": packed, "mx_scale": powers},
            exact=frozenset(("mx_tensor", "mx_scale")),
        )

    return make


def upcast(fp4: bool) -> Make:
    def make(draw: Draw) -> Case:
        rows, cols = 5, 96
        powers = draw.integers(120, 134, rows, 3, dtype=torch.uint8)
        if fp4:
            stored = draw.integers(0, 256, rows, cols // 2, dtype=torch.uint8)
            codes = torch.stack([stored % 16, stored // 16], -1).flatten(1).long()
            numbers = torch.tensor(E2M1, dtype=torch.float64)[codes % 8] * (1 - 2 * (codes // 8))
        else:
            fp8 = draw.normal(rows, cols, dtype=draw.fp8)
            stored, numbers = fp8.view(torch.uint8), fp8.double()
        wide = numbers * (2.0 ** (powers.double() - 127)).repeat_interleave(32, -1)
        return Case(
            {
                **{"out": empty(rows, cols), "mx_scale": powers, "mx_tensor": stored},
                **{"outer_dim": rows, "quant_dim": cols, "is_fp4": fp4},
            },
            {"out": wide},
            exact=frozenset(("out",)),
        )

    return make


CASES: dict[str, Make] = {
    "moe_routing_sigmoid_top1_fused_tk.moe_routing_sigmoid_top1_fused": top1(False),
    "moe_routing_sigmoid_top1_fused_tk.moe_routing_sigmoid_top1_fused:ones": top1(shared=False, spread=16),
    "moe_routing_sigmoid_top1_fused_tk.moe_routing_sigmoid_top1_fused:shared": top1(True),
    "quant_moe_tk.downcast_to_static_fp8": static_fp8,
    **{
        f"quant_moe_tk.{name}:{'fp4' if fp4 else 'fp8'}": make(fp4)
        for name, make in (("downcast_to_mxfp", downcast), ("upcast_from_mxfp", upcast))
        for fp4 in (True, False)
    },
}
