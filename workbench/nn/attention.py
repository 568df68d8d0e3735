"""Attention with its projections, and rotary position embedding."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from workbench import ops
from workbench.errors import UsageError
from workbench.nn.linear import Linear
from workbench.nn.norms import RMSNorm


class RotaryEmbedding(torch.nn.Module):
    """Rotates pairs of elements of heads by the angles of their positions, with `ops.rope`.

    Args:
        dim: number of elements of a head to rotate, even.
        max_positions: number of positions in the tables.
        base: theta of angles position * theta ** (-2 i / dim).
        interleaved: True if pairs are neighbours (GPT-J), False if they are half a head apart (NeoX, Llama).

    State dict: empty, as in transformers' LlamaRotaryEmbedding; tables are recomputed, in float32.
    """

    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(
        self,
        dim: int,
        max_positions: int = 4096,
        base: float = 10000.0,
        interleaved: bool = False,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        if dim % 2:
            raise UsageError(f"RotaryEmbedding: dim is {dim}; expected an even number")
        self.interleaved = interleaved
        # In float32, as in transformers.
        inverse = 1.0 / base ** (torch.arange(0, dim, 2, device=device).float() / dim)
        angles = torch.arange(max_positions, device=device).float()[:, None] * inverse
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def _apply(self, function: Any, recurse: bool = True) -> RotaryEmbedding:
        """Moves tables with the module; their dtype stays, because rounded angles would rotate too far."""
        super()._apply(  # type: ignore[no-untyped-call]
            lambda t: t if function(t[:0]).dtype != t.dtype else function(t), recurse
        )
        return self

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        """Heads [batch, heads, tokens, dim], rotated; positions int64 [tokens] or [batch, tokens]."""
        turned: torch.Tensor = ops.rope(x, self.cos, self.sin, positions, self.interleaved)
        return turned


class Attention(torch.nn.Module):
    """Self-attention with grouped heads, with the GEMM kernels, `ops.rope` and `ops.flash_attention`.

    Args:
        hidden_size: columns of x and of the result.
        heads: number of query heads.
        heads_kv: number of key and value heads; None for as many as `heads`.
        head_dim: 64, 128, 192 or 256; None for hidden_size / heads.
        bias: True if the projections of queries, keys and values have a bias.
        out_bias: True if the last projection has a bias; None for the value of `bias`.
        causal: True if a token does not attend to later ones.
        window: number of tokens that a token attends to, including itself; 0 for all.
        rotary: rotates queries and keys; None for no rotation.
        qk_norm: epsilon of an RMSNorm of each head of queries and keys before the rotation (Qwen3); None for
            no norm.
        device, dtype: device and dtype of the parameters; bf16 if dtype is None.

    State dict: `q_proj`, `k_proj`, `v_proj`, `o_proj`, as in transformers' LlamaAttention; with `qk_norm`
        also `q_norm` and `k_norm`, as in Qwen3Attention. That of a `torch.nn.MultiheadAttention`
        (`in_proj_weight`, `out_proj`, ...) loads as well, and `multihead_state_dict` returns one.
    """

    def __init__(
        self,
        hidden_size: int,
        heads: int,
        heads_kv: int | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        out_bias: bool | None = None,
        causal: bool = True,
        window: int = 0,
        rotary: RotaryEmbedding | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        qk_norm: float | None = None,
    ) -> None:
        super().__init__()
        if head_dim is None and hidden_size % heads:
            raise UsageError(f"Attention: hidden_size {hidden_size} is not a multiple of {heads} heads")
        self.heads, self.heads_kv = heads, heads_kv or heads
        self.head_dim = head_dim or hidden_size // heads
        self.causal, self.window, self.rotary = causal, window, rotary
        of_keys = self.heads_kv * self.head_dim
        self.q_proj = Linear(hidden_size, heads * self.head_dim, bias, device, dtype)
        self.k_proj = Linear(hidden_size, of_keys, bias, device, dtype)
        self.v_proj = Linear(hidden_size, of_keys, bias, device, dtype)
        last = bias if out_bias is None else out_bias
        self.o_proj = Linear(heads * self.head_dim, hidden_size, last, device, dtype)
        self.q_norm: torch.nn.Module | None = None
        self.k_norm: torch.nn.Module | None = None
        if qk_norm is not None:
            of_head = partial(RMSNorm, self.head_dim, qk_norm, device=device, dtype=self.q_proj.weight.dtype)
            self.q_norm, self.k_norm = of_head(), of_head()
        self.register_load_state_dict_pre_hook(_from_multihead)  # type: ignore[no-untyped-call]

    def forward(self, x: torch.Tensor, positions: torch.Tensor | None = None) -> torch.Tensor:
        """[batch, tokens, hidden_size] to the same; positions int64 [tokens] or [batch, tokens]."""
        q, k, v = (
            projection.unflatten(-1, (-1, self.head_dim))
            for projection in (self.q_proj(x), self.k_proj(x), self.v_proj(x))
        )
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        if self.rotary is not None:
            q, k = (self.rotary(heads.transpose(1, 2), positions).transpose(1, 2) for heads in (q, k))
        out = ops.flash_attention(q, k, v, causal=self.causal, window=self.window).out
        projected: torch.Tensor = self.o_proj(out.flatten(2))
        return projected

    def multihead_state_dict(self) -> dict[str, torch.Tensor]:
        """The state dict of a `torch.nn.MultiheadAttention` that computes the same."""
        state, named = self.state_dict(), ("q_proj", "k_proj", "v_proj")
        combined = {"in_proj_weight": torch.cat([state[f"{name}.weight"] for name in named])}
        if "q_proj.bias" in state:
            combined["in_proj_bias"] = torch.cat([state[f"{name}.bias"] for name in named])
        combined |= {f"out_proj.{k[7:]}": tensor for k, tensor in state.items() if k.startswith("o_proj.")}
        return combined


def _from_multihead(module: Attention, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Splits the parameters of `torch.nn.MultiheadAttention`."""
    sizes = [module.heads * module.head_dim, *[module.heads_kv * module.head_dim] * 2]
    for kind in ("weight", "bias"):
        whole = state.pop(f"{prefix}in_proj_{kind}", None)
        if whole is not None:
            for name, part in zip("qkv", whole.split(sizes), strict=True):
                state[f"{prefix}{name}_proj.{kind}"] = part
        last = state.pop(f"{prefix}out_proj.{kind}", None)
        if last is not None:
            state[f"{prefix}o_proj.{kind}"] = last
