"""What a gated delta layer does with whole sequences."""

from __future__ import annotations

from workbench.collection.convert import described_by, sizes_told
from workbench.collection.record import Function, Given, PortModule, Use


def _strides_told(given: Given) -> None:
    x = given["x"]
    for name, stride in zip(("stride_x_dim", "stride_x_token"), x.stride(), strict=True):
        described_by(given, name, stride, f"the stride of x {tuple(x.shape)}")


_CONV_SPLIT = Function(
    name="causal_conv1d_fwd_split",
    arguments={
        **{
            "x": "real [D T]",
            "w": "real [D W]",
            "bias": "real [*Q1] or none",
            "query_start_loc": "i32 [N+1]",
        },
        **{"q_out": "real [T KD]", "k_out": "real [T KD]", "v_out": "real [T VD]"},
        **dict.fromkeys(("dim", "k_dim", "v_dim", "kernel_width", "total_tokens", "num_seqs"), "int"),
        **dict.fromkeys(("max_seqlen", "stride_x_dim", "stride_x_token"), "int"),
        **{"has_bias": "bool", "silu_activation": "bool"},
    },
    defaults={"has_bias": True, "silu_activation": True},
    uses=[
        Use(
            "gated_delta/causal_conv1d_split",
            {
                **{"x": "x", "weight": "w", "starts": "query_start_loc", "key_dim": "k_dim"},
                "bias": lambda given: given["bias"] if given["has_bias"] else None,
                "activation": lambda given: "silu" if given["silu_activation"] else "none",
            },
            {"q": "q_out", "k": "k_out", "v": "v_out"},
        )
    ],
    checks=[
        sizes_told(
            {
                **{"dim": "D", "k_dim": "KD", "v_dim": "VD", "kernel_width": "W"},
                **{"total_tokens": "T", "num_seqs": "N"},
            }
        ),
        _strides_told,
    ],
    differs="2 to 9 weights; bf16 and fp16 besides floats; max_seqlen is not needed.",
)

MODULES = (
    PortModule(
        row=57,
        name="causal_conv1d_fwd_split_qkv_tk",
        functions=[_CONV_SPLIT],
        doc="Causal convolution of sequences, split into q, k and v.",
    ),
)
