"""Rotary embeddings, activations, softmax, top-k, causal convolution, fused QKV."""

from __future__ import annotations

from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError


def _rowwise(name: str, operator: str, *, halves: int = 1) -> Function:
    """A function of rows x, into out."""
    wide = "N" if halves == 1 else f"{halves}*N"
    return Function(
        name=name,
        arguments={"x": f"real [*M {wide}]", "out": "real [*M N]"},
        uses=[Use(f"activations/{operator}", {"x": "x"}, {"out": "out"})],
    )


_ROPE = Function(
    name="rope_fwd",
    arguments={
        **{"x": "real [B H S D]", "out": "real [B H S D]"},
        **{"cos_half": "real [S D/2]", "sin_half": "real [S D/2]"},
    },
    uses=[Use("rotary/rope", {"x": "x", "cos": "cos_half", "sin": "sin_half"}, {"out": "out"})],
    differs="Any even D; the port takes 64, 128 and 256.",
)

_QKV = Function(
    name="fused_qkv_split_qk_rope_fwd",
    arguments={
        **{"qkv": "real [T W]", "cos": "real [T D/2]", "sin": "real [T D/2]"},
        **{"q": "real [T Q D]", "k": "real [T H D]", "v": "real [T H D]"},
        **{"num_q_heads": "int", "num_kv_heads": "int"},
    },
    uses=[
        Use(
            "rotary/fused_qkv_split_qk_rope",
            {
                "qkv": lambda call: call["qkv"].unflatten(-1, (-1, call.sizes["D"])),
                "cos": "cos",
                "sin": "sin",
                "heads": "num_q_heads",
            },
            {"q": "q", "k": "k", "v": "v"},
        )
    ],
    differs="Any number of heads of q, k and v. The port has three settings, and writes heads first.",
)

_TOPK = Function(
    name="topk_fwd",
    arguments={"x": "real [*M N]", "out_vals": "fp32 [*M P]", "out_idx": "i64 [*M P]", "K": "int"},
    uses=[
        Use("activations/topk", {"x": "x", "k": "K"}, {"values": "out_vals", "columns": "out_idx"}),
    ],
    differs="Among equal elements, the first ones, in their order.",
)


def _conv(name: str, activation: str, **bias: str) -> Function:
    """A causal convolution; K is the number of weights, which their tensor has too."""
    return Function(
        name=name,
        arguments={"x": "real [B D L]", "w": "real [D W]", **bias, "out": "real [B D L]", "K": "int"},
        uses=[
            Use(
                "activations/causal_conv1d",
                {"x": "x", "weight": "w", **{n: n for n in bias}, "activation": lambda call: activation},
                {"out": "out"},
            )
        ],
        checks=[_weights],
        differs="Any number of weights from 2 to 9; the port takes 3 and 4.",
    )


def _weights(call: Call) -> None:
    if call["K"] != call.sizes["W"]:
        raise ArgumentError(f"K is {call['K']}; expected the {call.sizes['W']} columns of w")


MODULES = (
    PortModule(
        row=4,
        name="rope_tk",
        functions=[_ROPE],
        doc="Halves of heads rotated: cat(x1 cos - x2 sin, x2 cos + x1 sin).",
    ),
    PortModule(
        row=5,
        name="activation_tk",
        functions=[
            *(_rowwise(f"{name}_fwd", name) for name in ("silu", "gelu", "gelu_tanh", "relu", "tanh")),
            *(_rowwise(f"{name}_fwd", name, halves=2) for name in ("silu_and_mul", "gelu_and_mul")),
        ],
        doc="Functions of elements; gated ones of the first half of a row, times the second.",
    ),
    PortModule(
        row=6,
        name="softmax_tk",
        functions=[_rowwise("softmax_fwd", "softmax")],
        doc="Softmax of rows.",
    ),
    PortModule(
        row=7, name="topk_tk", functions=[_TOPK], doc="The largest elements of rows, and where they are."
    ),
    PortModule(
        row=8,
        name="causal_conv1d_tk",
        functions=[
            _conv("causal_conv1d_fwd", "none"),
            _conv("causal_conv1d_bias_silu_fwd", "silu", bias="real [D]"),
        ],
        doc="Causal convolution of each channel with a few weights.",
    ),
    PortModule(
        row=9,
        name="fused_qkv_split_qk_rope_tk",
        functions=[_QKV],
        doc="A fused QKV split, with queries and keys rotated.",
    ),
)
