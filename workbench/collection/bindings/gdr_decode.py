"""The gated delta rule token by token, and the operations around it in a decoding layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.collection.convert import sizes_match
from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch

_SIZES = {"T": "T", "B": "B", "H": "H", "HV": "G", "K": "K", "V_dim": "V"}


def _packed(call: Call, name: str) -> Any:
    """A tensor of B x T tokens, those of all batches as one where cu_seqlens counts them; None stays."""
    tensor, s = call[name], call.sizes
    if tensor is None:
        return None
    tokens = (1, s["B"] * s["T"]) if call["cu_seqlens"] is not None else (s["B"], s["T"])
    behind = tensor.shape[2:]
    if math.prod(tensor.shape[:2]) != math.prod(tokens):
        raise ArgumentError(f"{name} is {tuple(tensor.shape)}; expected {s['B']} x {s['T']} tokens")
    return tensor.view(*tokens, *behind)


def _states(call: Call, name: str) -> Any:
    """(sequences, HV, K, V), the first two of which are one dimension in the port."""
    tensor, s = call[name], call.sizes
    count = s["B"] if call["cu_seqlens"] is None else s["N"]
    dims = (count, s["G"], s["K"], s["V"])
    if tensor is None or tensor.numel() != math.prod(dims):
        shape = "None" if tensor is None else tuple(tensor.shape)
        raise ArgumentError(f"{name} is {shape}; expected {dims}, or the first two as one")
    return tensor.view(dims)


def _last(call: Call) -> torch.Tensor:
    """Output of the last states; scratch where store_final_state is False."""
    import torch

    if call["store_final_state"]:
        states: torch.Tensor = _states(call, "ht")
        return states
    s = call.sizes
    count = s["B"] if call["cu_seqlens"] is None else s["N"]
    return torch.empty(count, s["G"], s["K"], s["V"], device=call["q"].device)


def _strengths(call: Call) -> torch.Tensor:
    beta: torch.Tensor = _packed(call, "beta").float()
    return beta


def _check_beta(call: Call) -> None:
    if call["is_beta_headwise"] != (call["beta"].dim() == 3):
        raise ArgumentError(
            f"is_beta_headwise is {call['is_beta_headwise']}, beta {tuple(call['beta'].shape)}; "
            "expected (B, T, HV) where it is True, else (B, T, HV, V)"
        )


_FUSED_RECURRENT = Function(
    name="fused_recurrent_fwd",
    arguments={
        **{"q": "real [B T H K]", "k": "real [B T H K]", "v": "real [B T G V]"},
        # An argument that a flag disables may be anything.
        **{"g": "fp32 [*Q1] or none", "gk": "fp32 [*Q2] or none", "gv": "fp32 [*Q3] or none"},
        **{"beta": "real [B T G] or real [B T G V]", "o": "real [B T G V]"},
        **{"h0": "fp32 [*Q4] or none", "ht": "fp32 [*Q5] or none", "cu_seqlens": "i32 [N+1] or none"},
        **{"scale": "float", **dict.fromkeys(_SIZES, "int")},
        **dict.fromkeys(("use_g", "use_gk", "use_gv"), "bool"),
        **dict.fromkeys(("is_beta_headwise", "use_initial_state", "store_final_state"), "bool"),
    },
    defaults={
        **{"use_g": True, "use_gk": False, "use_gv": False},
        **{"is_beta_headwise": True, "use_initial_state": True, "store_final_state": True},
    },
    uses=[
        Use(
            "gated_delta/recurrent",
            {
                "q": lambda call: _packed(call, "q"),
                "k": lambda call: _packed(call, "k"),
                "v": lambda call: _packed(call, "v"),
                "g": lambda call: _packed(call, "g") if call["use_g"] else None,
                "gk": lambda call: _packed(call, "gk") if call["use_gk"] else None,
                "gv": lambda call: _packed(call, "gv") if call["use_gv"] else None,
                "beta": _strengths,
                "initial_state": lambda call: _states(call, "h0") if call["use_initial_state"] else None,
                **{"cu_seqlens": "cu_seqlens", "scale": "scale"},
            },
            {"o": lambda call: _packed(call, "o"), "last_state": _last},
        )
    ],
    checks=[sizes_match(_SIZES), _check_beta],
    differs="Columns of the state are a multiple of 16, its rows 64, 128 or 256; cu_seqlens gives the number "
    "of sequences, where the port uses B.",
)


def _indices(call: Call) -> Any:
    """State index of each sequence; -1 for all if use_initial_state is False."""
    import torch

    indices: torch.Tensor = call["h0_indices"]
    return indices if call["use_initial_state"] else torch.full_like(indices, -1)


_SIGMOID_GATED = Function(
    name="fused_sigmoid_gating_recurrent",
    arguments={
        **{"A_log": "real [G]", "a": "real [B T G]", "dt_bias": "real [G]"},
        **{"softplus_beta": "float", "softplus_threshold": "float"},
        **{"q": "real [B T H K]", "k": "real [B T H K]", "v": "real [B T G V]", "b": "real [B T G]"},
        **{"o": "real [1 S G V] or real [B T G V]", "h0_source": "fp32 [P G K V]", "h0_indices": "i32 [N]"},
        **{"cu_seqlens": "i32 [N+1] or none", "scale": "float", **dict.fromkeys(_SIZES, "int")},
        **{"use_initial_state": "bool", "use_qk_l2norm": "bool"},
    },
    defaults={"use_initial_state": True, "use_qk_l2norm": False},
    uses=[
        Use(
            "gated_delta/sigmoid_gated_recurrent",
            {
                "q": lambda call: _packed(call, "q"),
                "k": lambda call: _packed(call, "k"),
                "v": lambda call: _packed(call, "v"),
                "a": lambda call: _packed(call, "a"),
                "b": lambda call: _packed(call, "b"),
                "a_log": lambda call: call["A_log"].float(),
                "dt_bias": lambda call: call["dt_bias"].float(),
                **{"states": "h0_source", "indices": _indices, "cu_seqlens": "cu_seqlens", "scale": "scale"},
                **{"softplus_beta": "softplus_beta", "softplus_threshold": "softplus_threshold"},
                "use_qk_l2norm": "use_qk_l2norm",
            },
            {"o": lambda call: _packed(call, "o")},
        )
    ],
    checks=[sizes_match(_SIZES)],
    differs="Columns of the state are a multiple of 16, its rows 64, 128 or 256; lengths of q and k are over "
    "all their columns, where the port's are over each 64.",
)

_CONV_UPDATE = Function(
    name="causal_conv1d_update_split_qkv",
    arguments={
        **{"x": "real [B D S]", "w": "real [D P+1]", "bias": "real [*Q1] or none"},
        **{"conv_state": "real [L D P]", "conv_state_indices": "i32|i64 [B] or none"},
        **{"q": "real [B KD S]", "k": "real [B KD S]", "v": "real [B VD S]"},
        **dict.fromkeys(("key_dim", "value_dim", "batch", "dim", "seqlen", "width"), "int"),
        **{"num_cache_lines": "int", "has_bias": "bool", "silu_activation": "bool"},
        "is_continuous_batching": "bool",
    },
    defaults={"has_bias": True, "silu_activation": True, "is_continuous_batching": False},
    uses=[
        Use(
            "gated_delta/causal_conv1d_update",
            {
                **{"x": "x", "weight": "w", "conv_state": "conv_state", "key_dim": "key_dim"},
                "bias": lambda call: call["bias"] if call["has_bias"] else None,
                "indices": lambda call: (
                    call["conv_state_indices"].long() if call["is_continuous_batching"] else None
                ),
                "activation": lambda call: "silu" if call["silu_activation"] else "none",
            },
            {"q": "q", "k": "k", "v": "v"},
        )
    ],
    checks=[
        sizes_match(
            {
                **{"key_dim": "KD", "value_dim": "VD", "batch": "B", "dim": "D", "seqlen": "S"},
                "num_cache_lines": "L",
            }
        )
    ],
    differs="2 to 9 weights, with and without bias and silu; the port takes 2 to 4 in some combinations and "
    "does another for the rest. An index below 0 gives zeros.",
)

_QKVZBA = Function(
    name="fused_qkvzba_split",
    arguments={
        **{"mixed_qkv": "bf16|fp16 [B C]", "z": "bf16|fp16 [B Z] or bf16|fp16 [B HV DV]"},
        **{"b_out": "bf16|fp16 [B HV]", "a_out": "bf16|fp16 [B HV]"},
        **{"mixed_qkvz": "bf16|fp16 [B W]", "mixed_ba": "bf16|fp16 [B 2*HV]"},
        **dict.fromkeys(("batch_size", "num_heads_qk", "num_heads_v", "head_qk", "head_v"), "int"),
    },
    uses=[
        Use(
            "gated_delta/qkvzba_split",
            {
                **{"mixed_qkvz": "mixed_qkvz", "mixed_ba": "mixed_ba", "key_dim": "head_qk"},
                **{"heads": "num_heads_qk", "groups": lambda g: g["num_heads_v"] // g["num_heads_qk"]},
            },
            {
                **{"mixed_qkv": "mixed_qkv", "b": "b_out", "a": "a_out"},
                "z": lambda call: call["z"].view(len(call["z"]), call["num_heads_v"], -1),
            },
        )
    ],
    checks=[sizes_match({"batch_size": "B", "num_heads_v": "HV"})],
)

_N = {"N": "int"}


def _difference(name: str, squared: bool) -> Function:
    return Function(
        name=name,
        arguments={"x": "fp32 [*M]", "y": "fp32 [*M]", "out": "fp32 [*M]", **_N},
        uses=[
            Use("gated_delta/difference", {"x": "x", "y": "y", "squared": lambda _: squared}, {"out": "out"})
        ],
    )


def _reduce(name: str, operation: str) -> Function:
    return Function(
        name=name,
        arguments={"input": "fp32 [M]", "output": "fp32 [M/256]", **_N},
        uses=[
            Use(
                "gated_delta/block_reduce",
                {"x": "input", "operation": lambda _: operation},
                {"out": "output"},
            )
        ],
        checks=[sizes_match({"N": "M"})],
    )


def _scratch(call: Call) -> Any:
    """Lengths, which the port's function does not return."""
    import torch

    rows = call["input"].shape[:-1]
    return torch.empty(rows, dtype=torch.float32, device=call["input"].device)


_L2_NORMALIZE = Function(
    name="l2_normalize",
    arguments={"input": "fp32 [M D]", "output": "fp32 [M D]", "N": "int", "vec_len": "int"},
    uses=[
        Use(
            "gated_delta/l2_norm",
            {"x": "input", "eps": lambda _: 1e-6},
            {"y": "output", "rstd": _scratch},
        )
    ],
    checks=[sizes_match({"N": "M", "vec_len": "D"})],
    differs="Any length; the port loses part of a sum if a length, rounded up to 64, is not a power of two.",
)


def _cast(name: str, source: str, to: str) -> Function:
    return Function(
        name=name,
        arguments={"input": f"{source} [*M]", "output": f"{to} [*M]", **_N},
        uses=[Use("gated_delta/cast", {"x": "input", "to": lambda _: to}, {"out": "output"})],
    )


MODULES = (
    PortModule(
        row=52,
        name="causal_conv1d_split_qkv_tk",
        functions=[_CONV_UPDATE],
        doc="Causal convolution of a few tokens behind kept columns, split into q, k and v.",
    ),
    PortModule(
        row=53,
        name="fused_qkvzba_split_tk",
        functions=[_QKVZBA],
        doc="A layer's two projections as q, k, v behind one another, z, b and a.",
    ),
    PortModule(
        row=54,
        name="fused_recurrent_tk",
        functions=[_FUSED_RECURRENT],
        doc="h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q.",
    ),
    PortModule(
        row=55,
        name="fused_sigmoid_gating_recurrent_tk",
        functions=[_SIGMOID_GATED],
        doc="Row 54 with gates of a layer's projections and states of a pool, in place.",
    ),
    PortModule(
        row=56,
        name="gdr_utils_tk",
        functions=[
            _difference("abs_diff", False),
            _difference("squared_diff", True),
            _reduce("max_reduce", "max"),
            _reduce("sum_reduce", "sum"),
            _cast("bf16_to_float", "bf16", "fp32"),
            _cast("float_to_bf16", "fp32", "bf16"),
            _L2_NORMALIZE,
        ],
        doc="Differences, reductions of blocks, casts, rows of length one.",
    ),
)
