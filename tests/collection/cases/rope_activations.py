"""Rotary embeddings, activations, softmax, top-k, causal convolution, fused QKV."""

from __future__ import annotations

from collections.abc import Callable

import torch
from collection.case import Case, Draw, Make, empty
from torch.nn import functional

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "relu": functional.relu,
    "tanh": torch.tanh,
}


def turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotates the halves of the last dimension."""
    a, b = x.double().chunk(2, -1)
    c, s = cos.double(), sin.double()
    return torch.cat([a * c - b * s, b * c + a * s], -1)


def rope(draw: Draw) -> Case:
    x, cos, sin = draw.normal(2, 3, 9, 64), draw.normal(9, 32), draw.normal(9, 32)
    return Case(
        {"x": x, "out": empty(2, 3, 9, 64), "cos_half": cos, "sin_half": sin}, {"out": turned(x, cos, sin)}
    )


def fused_qkv(draw: Draw) -> Case:
    tokens, queries, keys, dim = 5, 4, 2, 64
    qkv = draw.normal(tokens, (queries + 2 * keys) * dim)
    cos, sin = draw.normal(tokens, dim // 2), draw.normal(tokens, dim // 2)
    q, k, v = qkv.view(tokens, -1, dim).split((queries, keys, keys), 1)
    c, s = cos[:, None], sin[:, None]
    return Case(
        {
            **{"qkv": qkv, "cos": cos, "sin": sin, "q": empty(tokens, queries, dim)},
            **{"k": empty(tokens, keys, dim), "v": empty(tokens, keys, dim)},
            **{"num_q_heads": queries, "num_kv_heads": keys},
        },
        {"q": turned(q, c, s), "k": turned(k, c, s), "v": v.double()},
    )


def plain(function: Callable[[torch.Tensor], torch.Tensor]) -> Make:
    def make(draw: Draw) -> Case:
        x = draw.normal(7, 100)
        return Case({"x": x, "out": empty(7, 100)}, {"out": function(x.double())})

    return make


def gated(function: Callable[[torch.Tensor], torch.Tensor]) -> Make:
    def make(draw: Draw) -> Case:
        x = draw.normal(7, 200)
        first, second = x.double().chunk(2, -1)
        return Case({"x": x, "out": empty(7, 100)}, {"out": function(first) * second})

    return make


def topk(draw: Draw) -> Case:
    x = draw.normal(7, 300)
    values, columns = torch.sort(x, dim=-1, descending=True, stable=True)
    return Case(
        {
            **{"x": x, "out_vals": empty(7, 5, dtype=torch.float32)},
            **{"out_idx": empty(7, 5, dtype=torch.int64), "K": 5},
        },
        {"out_vals": values[:, :5].float(), "out_idx": columns[:, :5]},
        exact=frozenset({"out_vals", "out_idx"}),
    )


def conv(width: int, silu: bool) -> Make:
    def make(draw: Draw) -> Case:
        x, w, bias = draw.normal(2, 9, 50), draw.normal(9, width), draw.normal(9)
        padded = functional.pad(x.double(), (width - 1, 0))
        filtered = functional.conv1d(padded, w.double()[:, None], bias.double() if silu else None, groups=9)
        arguments = {"x": x, "w": w, **({"bias": bias} if silu else {}), "out": empty(2, 9, 50), "K": width}
        return Case(arguments, {"out": functional.silu(filtered) if silu else filtered})

    return make


CASES: dict[str, Make] = {
    "rope_tk.rope_fwd": rope,
    **{f"activation_tk.{name}_fwd": plain(function) for name, function in ACTIVATIONS.items()},
    **{f"activation_tk.{name}_and_mul_fwd": gated(ACTIVATIONS[name]) for name in ("silu", "gelu")},
    "softmax_tk.softmax_fwd": plain(lambda x: torch.softmax(x, -1)),
    "topk_tk.topk_fwd": topk,
    "causal_conv1d_tk.causal_conv1d_fwd": conv(3, silu=False),
    "causal_conv1d_tk.causal_conv1d_bias_silu_fwd": conv(4, silu=True),
    "fused_qkv_split_qk_rope_tk.fused_qkv_split_qk_rope_fwd": fused_qkv,
}
