"""Other functions for mixtures of experts: routing to one expert in one call, conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.collection.convert import as_fp8, described_by, own_fp8
from workbench.collection.record import Call, Function, PortModule, Use

if TYPE_CHECKING:
    import torch

_TOP1 = Function(
    name="moe_routing_sigmoid_top1_fused",
    arguments={
        **{"X": "bf16 [M K]", "W": "bf16 [K N]", "topk_ids": "i32|i64 [M k]", "topk_weights": "real [M k]"},
        **{"m": "int", "n": "int", "k_dim": "int", "topk": "int", "fused_shared_experts": "bool"},
    },
    uses=[
        Use(
            "moe_misc/routing_sigmoid_top1",
            {"x": "X", "w": "W", "shared": lambda call: int(call["fused_shared_experts"])},
            {"indices": "topk_ids", "values": "topk_weights"},
        )
    ],
    differs="Computes; the port gives expert 0 for every token.",
)


def _static_sizes(call: Call) -> None:
    described_by(call, "N", call["x"].shape[-1], "columns of x")


_STATIC = Function(
    name="downcast_to_static_fp8",
    arguments={
        **{"x": "bf16 [*M C]", "y": "u8|e4m3fn|e4m3fnuz [*M C]", "scale": "fp32 [1] or fp32 []"},
        **{"M": "int", "N": "int"},
    },
    uses=[
        Use(
            "moe_misc/static_fp8_quant",
            {"x": "x", "scale": lambda call: call["scale"].reshape(1), "format": own_fp8},
            {"out": as_fp8("y")},
        )
    ],
    checks=[_static_sizes],
    differs="Rounds to the nearest number; the port truncates; fp8 is the target's own.",
)


def _mx(name: str) -> dict[str, str]:
    """Kinds of numbers: a byte has two of fp4."""
    return {name: "u8 [R C/2] or u8|e4m3fn|e4m3fnuz [R C]"}


def _numbers(name: str) -> Callable[[Call], torch.Tensor]:
    """Bytes with two numbers of fp4, or fp8."""
    return lambda call: call[name] if call["is_fp4"] else as_fp8(name)(call)


_DOWNCAST = Function(
    name="downcast_to_mxfp",
    arguments={
        **_mx("mx_tensor"),
        **{"mx_scale": "u8 [R C/32]", "src": "bf16 [R C]", "outer_dim": "int", "quant_dim": "int"},
        "is_fp4": "bool",
    },
    uses=[
        Use(
            "quantization/mx_quant",
            {
                "x": "src",
                "format": lambda call: "e2m1" if call["is_fp4"] else own_fp8(call),
                "rounding": lambda call: "up",
            },
            {"out": _numbers("mx_tensor"), "scales": "mx_scale"},
        )
    ],
    differs=_STATIC.differs,
)

_UPCAST = Function(
    name="upcast_from_mxfp",
    arguments={
        **{"out": "bf16 [R C]", "mx_scale": "u8 [R C/32]", **_mx("mx_tensor")},
        **{"outer_dim": "int", "quant_dim": "int", "is_fp4": "bool"},
    },
    uses=[Use("moe_misc/upcast_mx", {"x": _numbers("mx_tensor"), "powers": "mx_scale"}, {"out": "out"})],
    differs="fp8 is the target's own, fnuz on gfx942.",
)

MODULES = (
    PortModule(
        row=48,
        name="moe_routing_sigmoid_top1_fused_tk",
        functions=[_TOP1],
        doc="The best expert of each token by the sigmoid of a projection.",
    ),
    PortModule(
        row=49,
        name="quant_moe_tk",
        functions=[_STATIC, _DOWNCAST, _UPCAST],
        doc="bf16 to fp8 with a known scale, to the microscaled formats and back.",
    ),
)
