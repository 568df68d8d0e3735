"""Attention over paged caches."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty

ALL, VALUES = 576, 512
"""Columns of keys, and of values."""


def attended(
    q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float, cap: float = 0.0
) -> torch.Tensor:
    """Attention of a token's heads (H, 576) over keys and values, in float64; zeros without keys."""
    logits = scale * (q.double() @ keys.double().T)
    if cap:
        logits = cap * torch.tanh(logits / cap)
    return logits.softmax(-1) @ values.double() if len(keys) else torch.zeros(len(q), VALUES).double()


def mla_decode(*, use_rope: bool, own_values: bool) -> Make:
    """Three sequences, one empty, of rows anywhere; values are a view of keys, or their own."""

    def make(draw: Draw) -> Case:
        batch, heads, rows, lengths = 3, 5, 40, (21, 0, 37)
        q, keys = draw.normal(batch, heads, ALL), draw.normal(rows, ALL)
        values = draw.normal(rows, VALUES) if own_values else keys[:, :VALUES]
        angles = torch.rand(9, 32, generator=draw.generator) * 6
        table = torch.cat((angles.cos(), angles.sin()), dim=1).bfloat16()
        positions = draw.integers(0, 9, batch)
        indices = draw.integers(0, rows, sum(lengths))
        indptr = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)
        scale, cap = 0.05, 3.0
        rotated = q.double()
        if use_rope:
            (a, b), (c, s) = (
                rotated[..., VALUES:].chunk(2, -1),
                table[positions][:, None].double().chunk(2, -1),
            )
            rotated = torch.cat((rotated[..., :VALUES], a * c - b * s, b * c + a * s), -1)
        out = []
        for i in range(batch):
            own_rows = indices[indptr[i] : indptr[i + 1]].long()
            out.append(attended(rotated[i], keys[own_rows], values[own_rows], scale, cap))
        return Case(
            {
                **{"Q": q, "K_buffer": keys, "V_buffer": values, "cos_sin_cache": table},
                **{"positions": positions, "kv_indptr": indptr, "kv_indices": indices},
                **{"att_mid": empty(batch, heads, 8, VALUES + 1, dtype=torch.float32)},
                **{"O": empty(batch, heads, VALUES), "scale": scale, "logit_cap": cap},
                **{"batch_size": batch, "rotary_dim": 64, "use_rope": use_rope},
            },
            {"O": torch.stack(out)},
        )

    return make


def sparse_mla(draw: Draw) -> Case:
    """Five tokens of two sequences, each with its own list of keys, some of them missing."""
    heads, pages, page, count = 4, 6, 8, 11
    starts, lengths = torch.tensor([0, 2, 5]).to(torch.int32), torch.tensor([19, 24]).to(torch.int32)
    table = torch.randperm(pages, generator=draw.generator).view(2, 3).to(torch.int32)
    q, keys = draw.normal(5, heads, ALL), draw.normal(pages, page, 1, ALL)
    values = draw.normal(pages, page, 1, VALUES)
    topk = draw.integers(-3, 19, 5, count).clamp(min=-1)
    topk[3] = -1
    out = []
    for token, sequence in enumerate((0, 0, 1, 1, 1)):
        places = topk[token][topk[token] >= 0].long()
        pages_of, within = table[sequence][places // page].long(), places % page
        out.append(attended(q[token], keys[pages_of, within, 0], values[pages_of, within, 0], 0.05))
    return Case(
        {
            **{"Q": q, "K_cache": keys, "V_cache": values, "block_table": table, "topk_indices": topk},
            **{"seq_lens": lengths, "query_start_lens": starts, "O": empty(5, heads, VALUES), "scale": 0.05},
            **{"num_tokens": 5, "num_seqs": 2, "topk_count": count},
        },
        {"O": torch.stack(out)},
    )


CASES: dict[str, Make] = {
    "mla_decode_rope_tk.mla_decode": mla_decode(use_rope=True, own_values=False),
    "mla_decode_rope_tk.mla_decode:own values": mla_decode(use_rope=False, own_values=True),
    "unified_attn_sparse_mla_tk.sparse_mla": sparse_mla,
}
