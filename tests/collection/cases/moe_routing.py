"""Routing: by plain Python over lists."""

from __future__ import annotations

from typing import Any

import torch
from collection.case import Case, Draw, Make, empty

I32 = torch.int32
PADDING = -7
"""Initial value of a caller's lists: places without an id must keep it, as in the port and AITER."""


def align(draw: Draw) -> Case:
    experts, block = 9, 16
    routed = draw.integers(0, experts - 1, 300)
    ids: list[int] = []
    owners: list[int] = []
    for expert in range(experts):
        rows = [i for i, e in enumerate(routed.tolist()) if e == expert]
        rows += [PADDING] * (-len(rows) % block)
        ids += rows
        owners += [expert] * (len(rows) // block)
    total, spare = len(ids), 2 * block
    outputs = {
        "sorted_token_ids": torch.full((total + spare,), PADDING, dtype=I32),
        "expert_ids": torch.full((total // block + 2,), PADDING, dtype=I32),
        "total_tokens_post_pad": empty(1, dtype=I32),
    }
    expected = {
        "sorted_token_ids": torch.tensor(ids + [PADDING] * spare),
        "expert_ids": torch.tensor([*owners, PADDING, PADDING]),
        "total_tokens_post_pad": torch.tensor([total]),
    }
    return Case(
        {
            **{"topk_ids": routed.view(150, 2), **outputs},
            **{"tokens_cnts_buffer": torch.zeros((experts + 1) * experts, dtype=I32)},
            **{"cumsum_buffer": torch.zeros(experts + 1, dtype=I32)},
            **{"num_experts": experts, "block_size": block, "numel": len(routed)},
        },
        expected,
        exact=frozenset(expected),
    )


def bits_of(draw: Draw, rows: int, words: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A column-major matrix of bits, and its bits one by one."""
    set_bits = draw.integers(0, 2, rows, 32 * words, dtype=torch.int64)
    packed = (set_bits.view(rows, words, 32) << torch.arange(32)).sum(-1)
    return torch.where(packed >= 1 << 31, packed - (1 << 32), packed).to(I32).T.contiguous(), set_bits


def bit_sums(draw: Draw) -> Case:
    rows, words, tiles = 300, 2, 3
    matrix, set_bits = bits_of(draw, rows, words)
    return Case(
        {
            **{"B": matrix, "shape_bm": rows, "stride_bm": 1, "stride_bn": rows},
            **{"Ret": empty(64, dtype=I32), "Partials": empty(tiles, 64, dtype=I32)},
            **{"stride_pm": 64, "stride_pn": 1, "shape_pn": tiles, "shape_bn": words},
        },
        {
            "Ret": set_bits.sum(0),
            "Partials": torch.stack([set_bits[: 128 * tile].sum(0) for tile in range(tiles)]),
        },
        exact=frozenset(("Ret", "Partials")),
    )


def bit_sums_fused(draw: Draw) -> Case:
    matrix, set_bits = bits_of(draw, 77, 3)
    return Case(
        {
            **{"B": matrix, "shape_bm": 77, "stride_bm": 1, "stride_bn": 77},
            **{"Ret": empty(96, dtype=I32), "N_BLKS_BITMATRIX": 3},
        },
        {"Ret": set_bits.sum(0)},
        exact=frozenset(("Ret",)),
    )


def expert_data(name: str) -> Make:
    def make(draw: Draw) -> Case:
        log2 = 30 if name == "stage2_fused" else 4
        hist = draw.integers(0, 100, 12)
        hist[5] = 0
        tokens, tiles, info = [0], [0], []
        for expert, count in enumerate(hist.tolist()):
            tile_count = -(-count >> log2) if count == 0 else ((count - 1) >> log2) + 1
            tokens.append(tokens[-1] + count)
            tiles.append(tiles[-1] + tile_count)
            info += [tile << 16 | expert for tile in range(tile_count)]
        length = len(info) + 5
        tables = {
            "TokenStart": torch.tensor(tokens),
            "TileStart": torch.tensor(tiles),
            "MDTileInfo": torch.tensor(info + [-1] * 5),
        }
        arguments: dict[str, Any] = {"Hist": hist, "n_expts_tot": 12}
        if name.startswith("stage2"):
            arguments |= {"TileStart": tables["TileStart"].to(I32), "TileInfo": empty(length, dtype=I32)}
            arguments |= {} if name == "stage2_fused" else {"tile_dim_log2": log2}
            expected = {"TileInfo": tables["MDTileInfo"]}
        else:
            arguments |= {key: empty(len(value), dtype=I32) for key, value in tables.items()}
            arguments |= {"max_num_tiles": length, "n_gates": tokens[-1], "tile_dim_log2": log2}
            arguments |= {"use_fused_stage2": False} if name == "compute" else {}
            expected = tables
        return Case(arguments, expected, exact=frozenset(expected))

    return make


def topk(draw: Draw) -> Case:
    rows, experts, k = 21, 70, 4
    x = draw.normal(rows, experts)
    values, indices, matrix = [], [], torch.zeros(3, rows, dtype=torch.int64)
    for row, scores in enumerate(x.double().tolist()):
        best = sorted(range(experts), key=lambda column: (-scores[column], column))[:k]
        values.append([scores[column] for column in best])
        indices.append(best)
        for column in best:
            matrix[column // 32, row] |= 1 << column % 32
    expected = {
        "Yv": torch.tensor(values, dtype=torch.float64).softmax(-1),
        "Yi": torch.tensor(indices),
        "Bits": torch.where(matrix >= 1 << 31, matrix - (1 << 32), matrix).flatten(),
    }
    return Case(
        {
            **{
                "X": x,
                "stride_xm": experts,
                "Yv": empty(rows, k),
                "Yi": empty(rows, k, dtype=I32),
                "stride_ym": k,
            },
            **{"Bits": empty(3 * rows, dtype=I32), "stride_bm": 1, "stride_bn": rows},
            **{"n_rows": rows, "n_expts_tot": experts, "K": k, "apply_softmax": True},
        },
        expected,
        exact=frozenset(("Yi", "Bits")),
    )


CASES: dict[str, Make] = {
    "moe_align_block_size_tk.moe_align_block_size": align,
    "moe_bitmatrix_tk.sum_bitmatrix_rows": bit_sums,
    "moe_bitmatrix_tk.sum_bitmatrix_rows_fused": bit_sums_fused,
    **{
        f"moe_expt_data_tk.expt_data_{name}": expert_data(name)
        for name in ("stage1", "stage2", "stage2_fused", "compute")
    },
    "moe_topk_tk.moe_topk": topk,
}
