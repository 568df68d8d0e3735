"""Attention in PyTorch, in the precision of the tensors that it is given."""

from __future__ import annotations

import torch


def scores(
    q: torch.Tensor,
    k: torch.Tensor,
    causal: bool = False,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
) -> torch.Tensor:
    """Logits (B, H, N_q, N_k) of q (B, N_q, H, D) and k (B, N_k, H_kv, D); -inf where a query sees no key.

    Query i stands at key i + N_k - N_q: the last query at the last key (FlashAttention's alignment,
    PyTorch's `causal_lower_right`). `causal` hides the keys behind that place, `window` > 0 those that are
    `window` or more away.
    """
    queries, keys = q.shape[1], k.shape[1]
    k = k.repeat_interleave(q.shape[2] // k.shape[2], dim=2)
    logits = torch.einsum("bqhd,bkhd->bhqk", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    place = torch.arange(queries, device=q.device)[:, None] + keys - queries
    distance = torch.arange(keys, device=q.device) - place
    hidden = torch.zeros_like(distance, dtype=torch.bool)
    if causal:
        hidden |= distance > 0
    if window:
        hidden |= distance.abs() >= window
    return logits.masked_fill(hidden, float("-inf"))


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    causal: bool = False,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """softmax(scores) v as (B, N_q, H, D_v), and the logarithms of the softmax's denominators, (B, H, N_q).

    `sinks` (H) are logits that count in the denominator only. A query that sees no key gives zeros, and -inf
    (with sinks its sink) as the logarithm.
    """
    logits = scores(q, k, causal, window, scale, softcap)
    if sinks is not None:
        column = sinks.to(logits.dtype)[None, :, None, None].expand(*logits.shape[:-1], 1)
        logits = torch.cat((logits, column), dim=-1)
    lse = torch.logsumexp(logits, dim=-1)
    blind = torch.isneginf(lse)
    weights = torch.softmax(logits, dim=-1).masked_fill(blind[..., None], 0)[..., : k.shape[1]]
    v = v.repeat_interleave(q.shape[2] // v.shape[2], dim=2)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), lse


def attention_packed(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    causal: bool = False,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention` of each of several sequences packed one after the other.

    q is (total_q, H, D), k and v (total_k, H_kv, D); sequence i begins at row cu_seqlens[i] and ends
    before row cu_seqlens[i + 1]. Gives (total_q, H, D_v) and (H, total_q).
    """
    outs, sums = [], []
    from_to_q, from_to_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    for i in range(len(from_to_q) - 1):
        rows_q, rows_k = slice(from_to_q[i], from_to_q[i + 1]), slice(from_to_k[i], from_to_k[i + 1])
        out, lse = attention(
            q[None, rows_q], k[None, rows_k], v[None, rows_k], causal, window, scale, softcap, sinks
        )
        outs.append(out[0])
        sums.append(lse[0])
    return torch.cat(outs), torch.cat(sums, dim=-1)


def attention_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    lse: torch.Tensor,
    dout: torch.Tensor,
    dlse: torch.Tensor | None = None,
    causal: bool = False,
    window: int = 0,
    scale: float | None = None,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """Gradients dq, dk, dv and dsinks (empty without sinks) by autograd of
    `attention`, which computes out and lse anew.
    """
    given = {"q": q, "k": k, "v": v} | ({} if sinks is None else {"sinks": sinks})
    leaves = {name: x.detach().requires_grad_() for name, x in given.items()}
    with torch.enable_grad():
        made, logarithms = attention(**leaves, causal=causal, window=window, scale=scale, softcap=softcap)
        loss = (made * dout).sum()
        if dlse is not None:
            # The logarithm of a query that sees no key is -inf, and has no gradient.
            loss = loss + (logarithms * dlse).masked_fill(torch.isneginf(logarithms), 0).sum()
    grads = torch.autograd.grad(loss, tuple(leaves.values()))
    return {"dsinks": q.new_empty(0)} | {f"d{name}": grad for name, grad in zip(leaves, grads, strict=True)}


def attention_paged(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor | None,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention` of one query a sequence, q (B, H, D), over pages of keys and values (pages, page, H_kv, D).

    Sequence i has seq_lens[i] keys, in the pages block_table[i] in order. Caches hold keys divided by
    `k_scale` and values divided by `v_scale`. Without `v_cache` values are the keys' first 512 columns
    (multi-head latent attention). Gives (B, H, D_v) and (B, H); a sequence without keys zeros and -inf.
    """
    outs, sums = [], []
    for i, length in enumerate(seq_lens.tolist()):
        pages = block_table[i].long()
        k = k_cache[pages].flatten(0, 1)[None, :length].to(q.dtype) * k_scale
        v = (
            k[..., :512]
            if v_cache is None
            else v_cache[pages].flatten(0, 1)[None, :length].to(q.dtype) * v_scale
        )
        out, lse = attention(q[i][None, None], k, v, scale=scale)
        outs.append(out[0, 0])
        sums.append(lse[0, :, 0])
    return torch.stack(outs), torch.stack(sums)
