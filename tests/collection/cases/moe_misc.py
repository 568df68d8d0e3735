"""Routing to one expert, conversions."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty


def top1(shared: bool) -> Make:
    def make(draw: Draw) -> Case:
        tokens, experts, k = 33, 24, 64
        x, w = draw.normal(tokens, k), draw.normal(k, experts) / 8
        scores, chosen = torch.sigmoid(x.double() @ w.double()).max(1, keepdim=True)
        more = torch.ones(tokens, int(shared), dtype=torch.int64)
        return Case(
            {
                **{"X": x, "W": w, "topk_ids": empty(tokens, 1 + shared, dtype=torch.int32)},
                **{"topk_weights": empty(tokens, 1 + shared), "m": tokens, "n": experts, "k_dim": k},
                **{"topk": 1, "fused_shared_experts": shared},
            },
            {
                "topk_ids": torch.cat([chosen, experts * more], 1),
                "topk_weights": torch.cat([scores, more], 1),
            },
            exact=frozenset(("topk_ids",)),
        )

    return make


CASES: dict[str, Make] = {
    "moe_routing_sigmoid_top1_fused_tk.moe_routing_sigmoid_top1_fused": top1(False),
    "moe_routing_sigmoid_top1_fused_tk.moe_routing_sigmoid_top1_fused:shared": top1(True),
}
