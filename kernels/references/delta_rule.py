"""The gated delta rule as plain PyTorch, token after token."""

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
        beta: (B, T, H_v).
        initial_state: (sequences, H_v, K, V).
        cu_seqlens: (sequences + 1) starts of sequences that lie behind one another, with B = 1.
        scale: of o; K ** -0.5 where it is None.
        use_qk_l2norm: q and k are divided by their lengths first.

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
        h = last[n] if initial_state is None else initial_state[n].to(wide)
        for t in range(first, end):
            if g is not None:
                h = h * g[b, t].to(wide).exp()[:, None, None]
            if gk is not None:
                h = h * gk[b, t].to(wide).exp()[:, :, None]
            if gv is not None:
                h = h * gv[b, t].to(wide).exp()[:, None, :]
            u = v[b, t].to(wide) - torch.einsum("hkv,hk->hv", h, k[b, t])
            if beta is not None:
                u = u * beta[b, t].to(wide)[:, None]
            h = h + k[b, t][:, :, None] * u[:, None, :]
            o[b, t] = torch.einsum("hkv,hk->hv", h, q[b, t]) * (keys**-0.5 if scale is None else scale)
        last[n] = h
    return o.to(v.dtype), last.to(torch.promote_types(torch.float32, wide))
