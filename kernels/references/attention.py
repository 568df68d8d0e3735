"""Attention in PyTorch, in the precision of its tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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

    Query i is at the position of key i + N_k - N_q: the last query at the last key (FlashAttention's
    alignment, PyTorch's `causal_lower_right`). `causal` hides the keys after that position, `window` > 0
    those at a distance of `window` or more.
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

    `sinks` (H) are logits that count in the denominator only. The result of a query that sees no key is zero,
    and its logarithm -inf (with sinks, its sink).
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
    """`attention` of each of several packed sequences.

    q is (total_q, H, D), k and v (total_k, H_kv, D); sequence i begins at row cu_seqlens[i] and ends before
    row cu_seqlens[i + 1]. Returns (total_q, H, D_v) and (H, total_q).
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
    """Gradients dq, dk, dv and dsinks (empty without sinks) by autograd of `attention`, which recomputes out
    and lse.
    """
    settings = {"causal": causal, "window": window, "scale": scale, "softcap": softcap}
    return _gradients(attention, {"q": q, "k": k, "v": v, "sinks": sinks}, settings, dout, dlse)


def attention_packed_backward(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
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
    """`attention_backward` for the packed sequences of `attention_packed`."""
    settings = {"causal": causal, "window": window, "scale": scale, "softcap": softcap}
    starts = {"cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k}
    tensors = {"q": q, "k": k, "v": v, "sinks": sinks}
    return _gradients(attention_packed, tensors, {**settings, **starts}, dout, dlse)


def _gradients(
    function: Callable[..., tuple[torch.Tensor, torch.Tensor]],
    tensors: Mapping[str, torch.Tensor | None],
    settings: Mapping[str, object],
    dout: torch.Tensor,
    dlse: torch.Tensor | None,
) -> dict[str, torch.Tensor]:
    """Gradients of the inputs that are not None, from the gradients of the function's results."""
    leaves = {name: x.detach().requires_grad_() for name, x in tensors.items() if x is not None}
    with torch.enable_grad():
        out, logarithms = function(**leaves, **settings)
        loss = (out * dout).sum()
        if dlse is not None:
            # The logarithm of a query that sees no key is -inf, and has no gradient.
            loss = loss + (logarithms * dlse).masked_fill(torch.isneginf(logarithms), 0).sum()
    grads = torch.autograd.grad(loss, tuple(leaves.values()))
    return {"dsinks": dout.new_empty(0)} | {
        f"d{name}": grad for name, grad in zip(leaves, grads, strict=True)
    }


def attention_paged(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor | None,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
    cu_seqlens_q: torch.Tensor | None = None,
    max_queries: int = 0,
    causal: bool = True,
    window: int = 0,
    softcap: float = 0.0,
    sinks: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention` of a few queries per sequence, q (tokens, H, D), over pages (pages, page, H_kv, D).

    Sequence i has seq_lens[i] keys, in the pages block_table[i] in order, and the queries cu_seqlens_q[i] to
    cu_seqlens_q[i + 1] - 1, at most `max_queries` (0: any number), at the positions of its last keys; without
    `cu_seqlens_q`, only token i. Caches hold keys divided by `k_scale` and values divided by `v_scale`.
    Without `v_cache`, the values are the keys' first 512 columns (multi-head latent attention). Returns
    (tokens, H, D_v) and (tokens, H); zeros and -inf (or the sink) for a query that sees no key.
    """
    outs, sums = [], []
    starts = range(len(seq_lens) + 1) if cu_seqlens_q is None else cu_seqlens_q.tolist()
    for i, length in enumerate(seq_lens.tolist()):
        pages = block_table[i].long()
        k = k_cache[pages].flatten(0, 1)[None, :length].to(q.dtype) * k_scale
        v = (
            k[..., :512]
            if v_cache is None
            else v_cache[pages].flatten(0, 1)[None, :length].to(q.dtype) * v_scale
        )
        queries = q[None, starts[i] : starts[i + 1]]
        out, lse = attention(queries, k, v, causal, window, scale, softcap, sinks)
        outs.append(out[0])
        sums.append(lse[0].T)
    return torch.cat(outs), torch.cat(sums)


def latent_attention(
    q: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scale: float | None,
    kv_scale: float,
    softcap: float = 0.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention` of one query, q (H, 576), over keys (keys, 576) and values, the first 512 columns."""
    k, v = (x[None, :, None].to(q.dtype) * kv_scale for x in (keys, values[:, :512]))
    out, lse = attention(q[None, None], k, v, scale=scale, softcap=softcap)
    return out[0, 0], lse[0, :, 0]


def turned(
    x: torch.Tensor, cos_sin_cache: torch.Tensor, positions: torch.Tensor, interleaved: bool
) -> torch.Tensor:
    """x (B, H, D) rotated by the angles of each sequence's position; pairs are half a head apart, or
    adjacent."""
    cos, sin = cos_sin_cache[positions].to(x.dtype)[:, None].chunk(2, dim=-1)
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, dim=-1)
    pair = (a * cos - b * sin, b * cos + a * sin)
    return torch.stack(pair, dim=-1).flatten(-2) if interleaved else torch.cat(pair, dim=-1)


def mla_decode_rope(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    kv_indptr: torch.Tensor,
    kv_indices: torch.Tensor,
    cos_sin_cache: torch.Tensor | None = None,
    positions: torch.Tensor | None = None,
    scale: float | None = None,
    kv_scale: float = 1.0,
    softcap: float = 0.0,
    interleaved: bool = False,
    v_cache: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Latent attention of one query per sequence, q (B, H, 512 + 64), over rows of a cache (rows, 576).

    Keys of sequence i are the rows kv_indices[kv_indptr[i]] to kv_indices[kv_indptr[i + 1] - 1], -1 for none;
    their first 512 columns are values, or `v_cache` (rows, 512) has them. With `cos_sin_cache` (positions, 32
    cosines and 32 sines) q's last 64 columns are rotated by the angles of positions[i]; the keys in the cache
    already are. Caches hold keys and values divided by `kv_scale`. Returns (B, H, 512) and (B, H); zeros and
    -inf for a sequence without keys.
    """
    if cos_sin_cache is not None and positions is not None:
        last = turned(q[..., 512:], cos_sin_cache, positions, interleaved)
        q = torch.cat((q[..., :512], last), dim=-1)
    outs, sums = [], []
    starts = kv_indptr.tolist()
    for i, query in enumerate(q):
        indices = kv_indices[starts[i] : starts[i + 1]].long()
        keys, values = ((kv_cache if x is None else x)[indices[indices >= 0]] for x in (None, v_cache))
        out, lse = latent_attention(query, keys, values, scale, kv_scale, softcap)
        outs.append(out)
        sums.append(lse)
    return torch.stack(outs), torch.stack(sums)


def sparse_mla(
    q: torch.Tensor,
    kv_cache: torch.Tensor,
    topk_indices: torch.Tensor,
    block_table: torch.Tensor | None = None,
    seq_lens: torch.Tensor | None = None,
    cu_seqlens_q: torch.Tensor | None = None,
    scale: float | None = None,
    kv_scale: float = 1.0,
    v_cache: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Latent attention of each query, q (queries, H, 576), over the keys in topk_indices (queries, topk).

    Without a table, indices are rows of the cache (pages, page, 1, 576), counted through all pages. With
    `block_table` (B, pages) and `seq_lens` (B), they are positions in the query's sequence; `cu_seqlens_q`
    has its queries as in `attention_paged`. Indices of -1 and past the end of the sequence are skipped;
    repeated ones count repeatedly. Values are the keys' first 512 columns, or those of `v_cache` (pages,
    page, 1, 512). Returns (queries, H, 512) and (queries, H).
    """
    outs, sums = [], []
    rows, page = kv_cache.flatten(0, 2), kv_cache.shape[1]
    value_rows = rows if v_cache is None else v_cache.flatten(0, 2)
    sequences = list(range(len(q)))
    if cu_seqlens_q is not None:
        sequences = [i for i, count in enumerate(cu_seqlens_q.diff().tolist()) for _ in range(count)]
    for i, query in enumerate(q):
        indices = topk_indices[i].long()
        if block_table is None or seq_lens is None:
            indices = indices[(indices >= 0) & (indices < len(rows))]
        else:
            s = sequences[i]
            indices = indices[(indices >= 0) & (indices < seq_lens[s])]
            indices = block_table[s].long()[indices // page] * page + indices % page
        out, lse = latent_attention(query, rows[indices], value_rows[indices], scale, kv_scale)
        outs.append(out)
        sums.append(lse)
    return torch.stack(outs), torch.stack(sums)
