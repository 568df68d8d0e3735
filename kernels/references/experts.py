"""Mixtures of experts in PyTorch, in the precision of its tensors."""

from __future__ import annotations

from collections.abc import Callable

import torch

from workbench_kernels.references.gemm import ACTIVATIONS, numbers_of


def swiglu(x: torch.Tensor, alpha: float) -> torch.Tensor:
    """x sigmoid(alpha x) (y + 1) of adjacent columns x and y."""
    gate, linear = x[..., ::2], x[..., 1::2]
    return gate * torch.sigmoid(alpha * gate) * (linear + 1)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """silu of the first half of the columns times the second."""
    gate, up = x.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


FINISHES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {**ACTIVATIONS, "silu_and_mul": silu_and_mul}
"""Functions of a row of sums, by name."""


def of_experts(a: torch.Tensor, b: torch.Tensor, tokens: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    """Row tokens[i] of a times matrix experts[i] of b, for each i; zeros where the expert is negative."""
    products = a.new_zeros(len(tokens), b.shape[-1])
    for expert in experts.unique().tolist():
        if expert >= 0:
            rows = experts == expert
            products[rows] = a[tokens[rows]] @ b[expert]
    return products


def listed(
    sorted_token_ids: torch.Tensor, expert_ids: torch.Tensor, padded: torch.Tensor, valid: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids in a list of blocks, without its padding, and the expert of each."""
    block = len(sorted_token_ids) // len(expert_ids)
    count = int(padded[0])
    ids = sorted_token_ids[:count].long()
    experts = expert_ids.long().repeat_interleave(block)[:count]
    return ids[ids < valid], experts[ids < valid]


def sorted_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None = None,
    activation: str = "none",
    layout: str = "nn",
) -> torch.Tensor:
    """Row i of the result is activation(weights[i] a[i / top_k] b[expert]), for each id i of the list.

    Args:
        a: tokens x K.
        b: experts x K x N, N x K where layout is "nt".
        sorted_token_ids, expert_ids: whole blocks of ids, and the expert of each block; its rows are zeros
            where that is negative. An id is token * top_k + which of its experts; others are padding.
        num_tokens_post_padded: one number: ids of the list that count.
        activation: also "silu_and_mul": silu of the first half of the columns times the second.
    """
    return _finished_list(
        a,
        b.mT if layout == "nt" else b,
        listed(sorted_token_ids, expert_ids, num_tokens_post_padded, len(a) * top_k),
        top_k,
        weights,
        activation,
    )


def _finished_list(
    a: torch.Tensor,
    b: torch.Tensor,
    entries: tuple[torch.Tensor, torch.Tensor],
    top_k: int,
    weights: torch.Tensor | None,
    activation: str,
) -> torch.Tensor:
    ids, experts = entries
    sums = of_experts(a, b, ids // top_k, experts)
    if weights is not None:
        sums = sums * weights[ids][:, None]
    rows = FINISHES[activation](sums)
    out = rows.new_zeros(len(a) * top_k, rows.shape[-1])
    out[ids] = rows
    return out


def mlp(
    a: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Row i of the result is weights[i] (silu(x g) * (x u)) W2, with x = a[i / top_k], by the id's expert.

    w1 is experts x N x K, rows of g before rows of u; w2 is experts x K x N / 2. Lists as in `sorted_gemm`.
    """
    lists = (sorted_token_ids, expert_ids, num_tokens_post_padded)
    hidden = sorted_gemm(a, w1, *lists, top_k, activation="silu_and_mul", layout="nt")
    return sorted_gemm(hidden.to(a.dtype), w2, *lists, 1, weights, layout="nt")


def ragged_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None,
    top_k: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Products of entries offsets[e] to offsets[e + 1] and matrix e of b; and the expert of each entry.

    Entry i is row gather[i] / top_k of a, or row i.
    """
    ends = offsets.long()
    experts = torch.arange(len(b), device=a.device).repeat_interleave(ends[1:] - ends[:-1])
    entries = torch.arange(len(experts), device=a.device)
    return of_experts(a, b, entries if gather is None else gather.long() // top_k, experts), experts


def scaled(
    sums: torch.Tensor,
    experts: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    bias: torch.Tensor | None,
) -> torch.Tensor:
    """Sums times one number and a number of each row's expert, plus the expert's row of bias."""
    if scale_a is not None:
        sums = sums * scale_a
    if scale_b is not None:
        sums = sums * scale_b[experts][:, None]
    return sums if bias is None else sums + bias[experts]


def microscaled(codes: torch.Tensor, powers: torch.Tensor, dim: int) -> torch.Tensor:
    """e2m1 elements, two (adjacent along `dim`) per byte, times 2^(power - 127) for each 32; float64."""
    numbers = numbers_of(codes.movedim(dim, -1), "e2m1")
    return (numbers * torch.exp2(powers.movedim(dim, -1).double() - 127).repeat_interleave(32, -1)).movedim(
        -1, dim
    )


def int4(codes: torch.Tensor) -> torch.Tensor:
    """Integers from 0 to 15 in experts x K / 2 x N bytes, lowest bits first, as experts x K x N."""
    return torch.stack([codes & 15, codes >> 4], 2).flatten(1, 2)


def a8w8(
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    swiglu: bool = False,
    alpha: float = 1.0,
) -> torch.Tensor:
    """scale_a scale_b[e] A B_e + bias[e] of entries of a ragged list; with `swiglu`, that of adjacent
    columns."""
    wide = _wide(scale_a, bias)
    sums, experts = ragged_gemm(a.to(wide), b.to(wide), offsets, gather, top_k)
    out = scaled(sums, experts, scale_a, scale_b, bias)
    return _swiglu(out, alpha) if swiglu else out


def a8w8_blockscale(
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_a: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    group_k: int = 128,
    group_n: int = 128,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """A B_e + bias[e] with block scales.

    The scales of A are tokens x K / group_k, those of B experts x K / group_k x N / group_n.
    """
    wide, (k, n) = blocks_a.dtype, b.shape[1:]
    of_a = blocks_a.repeat_interleave(group_k, -1)[:, :k]
    of_b = blocks_b.repeat_interleave(group_k, 1)[:, :k].repeat_interleave(group_n, 2)[..., :n]
    sums, experts = ragged_gemm(a.to(wide) * of_a, b.to(wide) * of_b, offsets, gather, top_k)
    return scaled(sums, experts, None, None, bias)


def a8w4(
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    group_k: int = 128,
    zero: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
) -> torch.Tensor:
    """scale_a A ((B_e - zero) * factors): B of integers from 0 to 15; zero is 8 where it is None.

    b is experts x K / 2 x N bytes; blocks_b and zero are experts x K / group_k x N.
    """
    wide, k = blocks_b.dtype, 2 * b.shape[1]
    of_b, less = (
        factors.repeat_interleave(group_k, 1)[:, :k]
        for factors in (blocks_b, torch.full_like(blocks_b, 8) if zero is None else zero.to(wide))
    )
    sums, experts = ragged_gemm(a.to(wide), (int4(b).to(wide) - less) * of_b, offsets, gather, top_k)
    return scaled(sums, experts, scale_a, None, None)


def a4w4(
    a: torch.Tensor,
    b: torch.Tensor,
    powers_a: torch.Tensor,
    powers_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None = None,
    top_k: int = 1,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    swiglu: bool = False,
    alpha: float = 1.0,
) -> torch.Tensor:
    """scale_a scale_b[e] A B_e of fp4 (e2m1): A is tokens x K / 2, B experts x K / 2 x N bytes; float64."""
    left, right = microscaled(a, powers_a, 1), microscaled(b, powers_b, 1)
    sums, experts = ragged_gemm(left, right, offsets, gather, top_k)
    out = scaled(sums, experts, scale_a, scale_b, None)
    return _swiglu(out, alpha) if swiglu else out


def mxfp4(
    a: torch.Tensor,
    b: torch.Tensor,
    powers_a: torch.Tensor,
    powers_b: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None = None,
    activation: str = "none",
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
) -> torch.Tensor:
    """`sorted_gemm` of fp4 operands as in `a4w4`, times scale_a scale_b[e]; float64."""
    right = microscaled(b, powers_b, 1)
    if scale_b is not None:
        right = right * scale_b[:, None, None]
    left = microscaled(a, powers_a, 1)
    if scale_a is not None:
        left = left * scale_a
    lists = (sorted_token_ids, expert_ids, num_tokens_post_padded)
    return sorted_gemm(left, right, *lists, top_k, weights, activation)


def _wide(*tensors: torch.Tensor | None) -> torch.dtype:
    """The precision to compute in where operands have 8 bits: that of the others, or float32."""
    return next((tensor.dtype for tensor in tensors if tensor is not None), torch.float32)


_swiglu = swiglu
"""Under a name that no argument hides."""
