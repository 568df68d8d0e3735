"""Attention over paged caches: latent attention of one query per sequence, and of selected keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch

_LATENT_ONLY = "Caches of 512 + 64 columns, any heads; the port is compiled for one setting"


def _values(keys: str, values: str, call: Call) -> torch.Tensor | None:
    """The values' cache; None if it is a view of the keys' first columns, which are then loaded once."""
    k, v = call[keys], call[values]
    same = k.data_ptr() == v.data_ptr() and k.stride() == v.stride()
    return None if same else v


def _count(name: str, of: str, size: str) -> _Count:
    """Checks a number that also follows from the tensors."""
    return _Count(name, of, size)


class _Count:
    def __init__(self, name: str, of: str, size: str) -> None:
        self.name, self.of, self.size = name, of, size

    def __call__(self, call: Call) -> None:
        expected = call.sizes[self.size]
        if call[self.name] != expected:
            raise ArgumentError(f"{self.name} is {call[self.name]}; expected {expected}, as {self.of} has")


def _turns_all_columns(call: Call) -> None:
    """The port's page and kernel take columns for `rotary_dim`, and pairs of them."""
    if call["rotary_dim"] not in (32, 64):
        raise ArgumentError(
            f"rotary_dim is {call['rotary_dim']}; expected 64, the columns of positions, or 32, their pairs"
        )


_MLA_DECODE = Function(
    name="mla_decode",
    arguments={
        **{"Q": "bf16|fp16 [B H 576]", "K_buffer": "bf16|fp16 [N 576] or fp8 [N 576]"},
        **{"V_buffer": "bf16|fp16 [N 512] or fp8 [N 512]", "cos_sin_cache": "bf16|fp16 [P 64]"},
        **{"positions": "i32|i64 [B] or i32|i64 [B 1]", "kv_indptr": "i32 [B+1]", "kv_indices": "i32 [I]"},
        **{"att_mid": "fp32 [B H S W]", "O": "bf16|fp16 [B H 512]"},
        **{"scale": "float", "logit_cap": "float", "batch_size": "int"},
        **{"rotary_dim": "int", "use_rope": "bool"},
    },
    uses=[
        Use(
            "attention_paged/mla_decode_rope",
            {
                "q": "Q",
                "kv_cache": "K_buffer",
                "v_cache": lambda call: _values("K_buffer", "V_buffer", call),
                "kv_indptr": "kv_indptr",
                "kv_indices": "kv_indices",
                "cos_sin_cache": lambda call: call["cos_sin_cache"] if call["use_rope"] else None,
                "positions": lambda call: call["positions"].flatten().long() if call["use_rope"] else None,
                "scale": "scale",
                "softcap": "logit_cap",
            },
            {"out": "O"},
        )
    ],
    checks=[_count("batch_size", "Q", "B"), _turns_all_columns],
    differs=f"{_LATENT_ONLY}, leaves positions out and writes no output. att_mid is left alone.",
)

_SPARSE_MLA = Function(
    name="sparse_mla",
    arguments={
        **{"Q": "bf16|fp16 [T H 576]", "K_cache": "bf16|fp16 [N P 1 576] or fp8 [N P 1 576]"},
        **{"V_cache": "bf16|fp16 [N P 1 512] or fp8 [N P 1 512]", "block_table": "i32 [B M]"},
        **{"topk_indices": "i32 [T K]", "seq_lens": "i32 [B]", "query_start_lens": "i32 [B+1]"},
        **{"O": "bf16|fp16 [T H 512]", "scale": "float"},
        **{"num_tokens": "int", "num_seqs": "int", "topk_count": "int"},
    },
    uses=[
        Use(
            "attention_paged/unified_attn_sparse_mla",
            {
                "q": "Q",
                "kv_cache": "K_cache",
                "v_cache": lambda call: _values("K_cache", "V_cache", call),
                "topk_indices": "topk_indices",
                "block_table": "block_table",
                "seq_lens": "seq_lens",
                "cu_seqlens_q": "query_start_lens",
                "scale": "scale",
            },
            {"out": "O"},
        )
    ],
    checks=[
        _count("num_tokens", "Q", "T"),
        _count("num_seqs", "block_table", "B"),
        _count("topk_count", "topk_indices", "K"),
    ],
    differs=f"{_LATENT_ONLY}, and leaves the last 64 columns out. It ignores places past a sequence's end.",
)

MODULES = (
    PortModule(
        row=50,
        name="mla_decode_rope_tk",
        functions=[_MLA_DECODE],
        doc="softmax(scale (q kᵀ + turned(q_pe) k_peᵀ)) v of one query per sequence, over listed rows.",
    ),
    PortModule(
        row=51,
        name="unified_attn_sparse_mla_tk",
        functions=[_SPARSE_MLA],
        doc="Latent attention of each token over the positions chosen for it, through a table of pages.",
    ),
)
