"""The gated delta rule in plain PyTorch, one token at a time."""

from __future__ import annotations

from itertools import pairwise

import torch


def delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor | None = None,
    gk: torch.Tensor | None = None,
    gv: torch.Tensor | None = None,
    beta: torch.Tensor | None = None,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q (Yang et al., Gated Delta Networks, 2024).

    Args:
        q, k: (B, T, H, K).
        v: (B, T, H_v, V); heads of q and k serve H_v / H heads of v each.
        g, gk, gv: logarithms of decays of the state (B, T, H_v), its rows (.., K), its columns (.., V).
        beta: (B, T, H_v), or (B, T, H_v, V).
        initial_state: (sequences, H_v, K, V).
        cu_seqlens: (sequences + 1) starts of packed sequences, with B = 1.
        scale: factor of o; K ** -0.5 where it is None.
        use_qk_l2norm: whether q and k are first divided by their lengths.

    Returns:
        o (B, T, H_v, V) and the last states (sequences, H_v, K, V).
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    batches, tokens, heads, keys = q.shape
    groups = v.shape[2] // heads
    q, k = (x.to(wide).repeat_interleave(groups, 2) for x in (q, k))
    if use_qk_l2norm:
        q, k = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    if cu_seqlens is None:
        spans = [(b, 0, tokens) for b in range(batches)]
    else:
        starts = cu_seqlens.tolist()
        spans = [(0, first, end) for first, end in pairwise(starts)]
    o = torch.zeros(*v.shape, dtype=wide)
    last = torch.zeros(len(spans), v.shape[2], keys, v.shape[3], dtype=wide)
    for n, (b, first, end) in enumerate(spans):
        # Not a view of `last`, which is overwritten below: autograd needs the previous states.
        h = torch.zeros_like(last[n]) if initial_state is None else initial_state[n].to(wide)
        for t in range(first, end):
            if g is not None:
                h = h * g[b, t].to(wide).exp()[:, None, None]
            if gk is not None:
                h = h * gk[b, t].to(wide).exp()[:, :, None]
            if gv is not None:
                h = h * gv[b, t].to(wide).exp()[:, None, :]
            u = v[b, t].to(wide) - torch.einsum("hkv,hk->hv", h, k[b, t])
            if beta is not None:
                u = u * beta[b, t].to(wide).view(len(u), -1)
            h = h + k[b, t][:, :, None] * u[:, None, :]
            o[b, t] = torch.einsum("hkv,hk->hv", h, q[b, t]) * (keys**-0.5 if scale is None else scale)
        last[n] = h
    return o.to(v.dtype), last.to(torch.promote_types(torch.float32, wide))


def sigmoid_gated_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a_log: torch.Tensor,
    a: torch.Tensor,
    dt_bias: torch.Tensor,
    b: torch.Tensor,
    states: torch.Tensor,
    indices: torch.Tensor,
    cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    softplus_beta: float = 1.0,
    softplus_threshold: float = 20.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rule with g = -exp(a_log) softplus(a + dt_bias) and beta = sigmoid(b).

    Args:
        a_log, dt_bias: (H_v).
        a, b: (B, T, H_v).
        states: (states, H_v, K, V).
        indices: (sequences), the state of each; with a negative index a sequence begins with zeros, and its
            last state is not stored.

    Returns:
        o (B, T, H_v, V) and the new states.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    positive = torch.nn.functional.softplus(a.to(wide) + dt_bias.to(wide), softplus_beta, softplus_threshold)
    there = indices >= 0
    first = states[indices.clamp(min=0).long()] * there[:, None, None, None]
    o, last = delta_rule(
        *(q, k, v),
        g=-a_log.to(wide).exp() * positive,
        beta=b.to(wide).sigmoid(),
        initial_state=first,
        cu_seqlens=cu_seqlens,
        scale=scale,
        use_qk_l2norm=use_qk_l2norm,
    )
    pool = states.to(last.dtype).clone()
    pool[indices[there].long()] = last[there]
    return o, pool
