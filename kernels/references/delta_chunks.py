"""The gated delta rule, one chunk at a time, in plain PyTorch, step by step.

Operands of products are rounded to k's dtype, the matrix cores' operand type; float64 is not rounded.
"""

from __future__ import annotations

from itertools import pairwise

import torch

Span = tuple[int, int, int, int]
"""Batch, first token and end of a chunk, and its index among all chunks of the batch."""


def at_most(tokens: int, sequences: int, chunk: int) -> int:
    """Largest possible number of chunks of packed sequences, whatever their lengths."""
    return (tokens + sequences * (chunk - 1)) // chunk


def spans(batches: int, tokens: int, cu_seqlens: torch.Tensor | None, chunk: int) -> list[list[Span]]:
    """The chunks of each sequence."""
    if cu_seqlens is None:
        parts = [(b, 0, tokens, 0) for b in range(batches)]
    else:
        parts, number = [], 0
        for first, end in pairwise(cu_seqlens.tolist()):
            parts.append((0, first, end, number))
            number += -(-(end - first) // chunk)
    return [
        [(b, at, min(at + chunk, end), number + n) for n, at in enumerate(range(first, end, chunk))]
        for b, first, end, number in parts
    ]


def _all_spans(x: torch.Tensor, cu_seqlens: torch.Tensor | None, chunk: int) -> list[Span]:
    return [span for sequence in spans(x.shape[0], x.shape[1], cu_seqlens, chunk) for span in sequence]


def _wide(x: torch.Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _heads(x: torch.Tensor, groups: int) -> torch.Tensor:
    """(tokens, H, K) as (H groups, tokens, K)."""
    return x.to(_wide(x)).repeat_interleave(groups, 1).transpose(0, 1)


def _decays(g: torch.Tensor, bounded: bool = False) -> torch.Tensor:
    """exp(G_i - G_j) for j up to i of sums (tokens, H): (H, tokens, tokens); zero for decays above one."""
    apart = g.T[:, :, None] - g.T[:, None, :]
    none = torch.ones_like(apart, dtype=torch.bool).triu(1)
    return apart.masked_fill(none | (apart > 0) if bounded else none, -torch.inf).exp()


def cumulative_sums(
    x: torch.Tensor,
    cu_seqlens: torch.Tensor | None = None,
    chunk: int = 64,
    scale: float = 1.0,
    reverse: bool = False,
) -> torch.Tensor:
    """`scale` times the sums of x (B, T, ..) over its chunk's tokens, up to each token or from it on."""
    sums = torch.zeros_like(x)
    for b, first, end, _ in _all_spans(x, cu_seqlens, chunk):
        part = x[b, first:end]
        sums[b, first:end] = part.flip(0).cumsum(0).flip(0) if reverse else part.cumsum(0)
    return scale * sums


def products(
    k: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    chunk: int = 64,
) -> torch.Tensor:
    """tril(beta_i k_i k_j exp(g_i - g_j), -1) of each chunk.

    Args:
        k: (B, T, H, K).
        beta: (B, T, H_v); heads of k serve H_v / H heads each.
        g: cumulative sums within chunks (B, T, H_v) of the logarithms of decays.
        cu_seqlens: starts of packed sequences, with B = 1.

    Returns:
        (B, T, H_v, chunk), a row for each token.
    """
    return _products(k, beta, g, cu_seqlens, chunk, bounded=False)


def _products(
    k: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor | None,
    cu_seqlens: torch.Tensor | None,
    chunk: int,
    bounded: bool,
) -> torch.Tensor:
    groups = beta.shape[2] // k.shape[2]
    a = torch.zeros(*beta.shape, chunk, dtype=_wide(k))
    for b, first, end, _ in _all_spans(k, cu_seqlens, chunk):
        keys = _heads(k[b, first:end], groups)
        products = keys @ keys.mT * beta[b, first:end].T[:, :, None]
        if g is not None:
            products = products * _decays(g[b, first:end], bounded)
        a[b, first:end, :, : end - first] = products.tril(-1).transpose(0, 1)
    return a


def summed_products(
    k: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    cu_seqlens: torch.Tensor | None = None,
    chunk: int = 64,
    bounded: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Cumulative sums of g within chunks, and `products` with them.

    Args:
        bounded: whether products with decays above one are zero.
    """
    sums = cumulative_sums(g, cu_seqlens, chunk)
    return sums, _products(k, beta, sums, cu_seqlens, chunk, bounded)


def inverse(a: torch.Tensor, cu_seqlens: torch.Tensor | None = None) -> torch.Tensor:
    """(1 + tril(a, -1))^-1 of each chunk of a (B, T, H, chunk); a chunk has as many tokens as a row has
    columns."""
    inverses = torch.zeros_like(a)
    for b, first, end, _ in _all_spans(a, cu_seqlens, a.shape[-1]):
        matrix = a[b, first:end, :, : end - first].transpose(0, 1).tril(-1)
        identity = torch.eye(end - first, dtype=a.dtype).expand_as(matrix)
        solved = torch.linalg.solve_triangular(matrix + identity, identity, upper=False, unitriangular=True)
        inverses[b, first:end, :, : end - first] = solved.transpose(0, 1)
    return inverses


def representation(
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    a: torch.Tensor,
    g: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """w = a (beta exp(g) k) (B, T, H_v, K) and u = a (beta v) (B, T, H_v, V) of each chunk.

    Args:
        k, v, beta, g, cu_seqlens: as for `products`; v (B, T, H_v, V).
        a: the inverses (B, T, H_v, chunk).
    """
    groups = v.shape[2] // k.shape[2]
    w, u = v.new_zeros(*v.shape[:3], k.shape[3]), torch.zeros_like(v)
    for b, first, end, _ in _all_spans(k, cu_seqlens, a.shape[-1]):
        span = slice(first, end)
        matrix = a[b, span, :, : end - first].transpose(0, 1) * beta[b, span].T[:, None, :]
        rounded = matrix.to(k.dtype).to(_wide(k))
        u[b, span] = (rounded @ _heads(v[b, span], 1)).transpose(0, 1).to(v.dtype)
        if g is not None:
            rounded = (matrix * g[b, span].T[:, None, :].exp()).to(k.dtype).to(_wide(k))
        w[b, span] = (rounded @ _heads(k[b, span], groups)).transpose(0, 1).to(v.dtype)
    return w, u


def prepared(
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    g: torch.Tensor,
    cu_seqlens: torch.Tensor | None = None,
    chunk: int = 64,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The part that is independent for each chunk: sums of g, the inverses of `products`, w and u."""
    sums, a = summed_products(k, beta, g, cu_seqlens, chunk)
    solved = inverse(a, cu_seqlens)
    return sums, solved, *representation(k, v, beta, solved, sums, cu_seqlens)


def states(
    k: torch.Tensor,
    w: torch.Tensor,
    u: torch.Tensor,
    g: torch.Tensor | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    chunk: int = 64,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The state at each chunk's beginning, corrections u - w h, and states after each sequence.

    Args:
        k, g, cu_seqlens: as for `products`; w, u: those of `representation`.
        initial_state: (sequences, H_v, K, V); zeros where it is None.

    Returns:
        h (B, chunks, H_v, K, V), for packed sequences (1, `at_most`, ..) with zeros after the last,
        corrections (B, T, H_v, V), last states (sequences, H_v, K, V).
    """
    batches, tokens, heads, keys = w.shape
    groups, wide = heads // k.shape[2], _wide(k)
    sequences = spans(batches, tokens, cu_seqlens, chunk)
    chunks = -(-tokens // chunk) if cu_seqlens is None else at_most(tokens, len(sequences), chunk)
    h = k.new_zeros(batches, chunks, heads, keys, u.shape[3])
    corrections = torch.zeros_like(u)
    last = torch.zeros(len(sequences), heads, keys, u.shape[3], dtype=wide)
    for n, sequence in enumerate(sequences):
        now = last[n] if initial_state is None else initial_state[n].to(wide)
        for b, first, end, number in sequence:
            span = slice(first, end)
            h[b, number] = now.to(h.dtype)
            correction = _heads(u[b, span], 1) - _heads(w[b, span], 1) @ now.to(k.dtype).to(wide)
            corrections[b, span] = correction.transpose(0, 1).to(u.dtype)
            if g is not None:
                end_of = g[b, end - 1].to(wide)
                correction = correction * (end_of - g[b, span]).T[:, :, None].exp()
                now = now * end_of.exp()[:, None, None]
            now = now + _heads(k[b, span], groups).mT @ correction.to(k.dtype).to(wide)
        last[n] = now
    return h, corrections, last


def outputs(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    h: torch.Tensor,
    g: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None,
    chunk: int = 64,
) -> torch.Tensor:
    """o = scale (exp(g) q h + tril(q_i k_j exp(g_i - g_j)) v).

    Args:
        q, k: (B, T, H, K); g, cu_seqlens: as for `products`.
        v, h: corrections and states of `states`.
        scale: K ** -0.5 where it is None.
    """
    groups, wide = v.shape[2] // k.shape[2], _wide(k)
    o = torch.zeros(*v.shape, dtype=wide)
    for b, first, end, number in _all_spans(q, cu_seqlens, chunk):
        span = slice(first, end)
        queries, keys = _heads(q[b, span], groups), _heads(k[b, span], groups)
        before, inside = queries @ h[b, number].to(wide), queries @ keys.mT
        if g is not None:
            before = before * g[b, span].T[:, :, None].exp()
            inside = inside * _decays(g[b, span])
        out = before + inside.tril().to(k.dtype).to(wide) @ _heads(v[b, span], 1)
        o[b, span] = out.transpose(0, 1)
    return (o * (k.shape[3] ** -0.5 if scale is None else scale)).to(v.dtype)


def chunk_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    chunk: int = 64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The gated delta rule by these steps: the same results as `delta_rule`, which goes token by token."""
    if use_qk_l2norm:
        wide = _wide(q)
        q, k = (
            (x.to(wide) * torch.rsqrt((x.to(wide) ** 2).sum(-1, keepdim=True) + 1e-6)).to(x.dtype)
            for x in (q, k)
        )
    sums, _, w, u = prepared(k, v, beta, g, cu_seqlens, chunk)
    h, corrections, last = states(k, w, u, sums, initial_state, cu_seqlens, chunk)
    return outputs(q, k, corrections, h, sums, cu_seqlens, scale, chunk), last
