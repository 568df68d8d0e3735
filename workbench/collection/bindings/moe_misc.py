"""Besides: routing to one expert in one call, conversions."""

from __future__ import annotations

from workbench.collection.record import Function, PortModule, Use

_TOP1 = Function(
    name="moe_routing_sigmoid_top1_fused",
    arguments={
        **{"X": "bf16 [M K]", "W": "bf16 [K N]", "topk_ids": "i32|i64 [M k]", "topk_weights": "real [M k]"},
        **{"m": "int", "n": "int", "k_dim": "int", "topk": "int", "fused_shared_experts": "bool"},
    },
    uses=[
        Use(
            "moe_misc/routing_sigmoid_top1",
            {"x": "X", "w": "W", "shared": lambda given: int(given["fused_shared_experts"])},
            {"indices": "topk_ids", "values": "topk_weights"},
        )
    ],
    differs="Computes; the port gives expert 0 for every token.",
)

MODULES = (
    PortModule(
        row=48,
        name="moe_routing_sigmoid_top1_fused_tk",
        functions=[_TOP1],
        doc="The best expert of each token by the sigmoid of a projection.",
    ),
)
