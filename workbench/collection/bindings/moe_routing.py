"""Routing of a mixture of experts: the best experts of tokens, lists by expert, sums of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.collection.convert import described_by
from workbench.collection.record import Function, Given, PortModule, Use
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch


def _ids(given: Given) -> None:
    described_by(given, "numel", given["topk_ids"].numel(), "the ids of topk_ids")


_ALIGN = Function(
    name="moe_align_block_size",
    arguments={
        **{"topk_ids": "i32 [*T]", "sorted_token_ids": "i32 [P]", "expert_ids": "i32 [blocks]"},
        **{"tokens_cnts_buffer": "i32 [*counts]", "cumsum_buffer": "i32 [*sums]"},
        **{"total_tokens_post_pad": "i32 [1] or i32 []"},
        **{"num_experts": "int", "block_size": "int", "numel": "int"},
    },
    uses=[
        Use(
            "moe_routing/align_block_size",
            {
                **{"topk_ids": "topk_ids", "experts": "num_experts", "block": "block_size"},
                "length": lambda given: len(given["sorted_token_ids"]),
            },
            {
                **{"sorted_token_ids": "ids", "expert_ids": "experts"},
                "num_tokens_post_padded": lambda given: given["total_tokens_post_pad"].reshape(1),
            },
            then=lambda given: _place(given),
        )
    ],
    checks=[_ids, lambda given: _room(given)],
    differs="The buffers are left alone: the operator has its own. Any number of ids; the port's second "
    "stage takes as many threads as there are experts.",
)


def _place(given: Given) -> None:
    """Puts ids and blocks' experts in their places; padding stays what the caller has put there."""
    for name, made, there in (
        ("sorted_token_ids", given["ids"], given["ids"] < given["numel"]),
        ("expert_ids", given["experts"], given["experts"] >= 0),
    ):
        given[name][: len(made)][there] = made[there]


def _blocks(given: Given) -> int:
    return -(-len(given["sorted_token_ids"]) // given["block_size"]) if given["block_size"] > 0 else 0


def _room(given: Given) -> None:
    if len(given["expert_ids"]) < _blocks(given):
        raise ArgumentError(
            f"expert_ids has {len(given['expert_ids'])}; expected {_blocks(given)} or more, one for each "
            f"{given['block_size']} of sorted_token_ids"
        )


def _matrix(given: Given, words: int) -> torch.Tensor:
    """The matrix of bits, rows x words, as its strides say."""
    bits: torch.Tensor = given["B"]
    return bits.as_strided((given["shape_bm"], words), (given["stride_bm"], given["stride_bn"]))


def _partials(given: Given) -> torch.Tensor:
    """Sums before each tile of 128 rows, as the strides say."""
    sums: torch.Tensor = given["Partials"]
    size = (-(-given["shape_bm"] // 128), 32 * given["shape_bn"])
    return sums.as_strided(size, (given["stride_pm"], given["stride_pn"]))


_BITS = {"shape_bm": "int", "stride_bm": "int", "stride_bn": "int"}

_SUMS = Function(
    name="sum_bitmatrix_rows",
    arguments={
        **{"B": "i32 [*B]", **_BITS, "Ret": "i32 [E]", "Partials": "i32 [*P]"},
        **{"stride_pm": "int", "stride_pn": "int", "shape_pn": "int", "shape_bn": "int"},
    },
    uses=[
        Use(
            "moe_routing/bitmatrix_sums",
            {"bits": lambda given: _matrix(given, given["shape_bn"])},
            {"sums": "Ret", "partials": _partials},
        )
    ],
    differs="Of Partials the rows of tiles that there are; the port also adds to those up to the next 256 "
    "rows.",
)
_SUMS_FUSED = Function(
    name="sum_bitmatrix_rows_fused",
    arguments={"B": "i32 [*B]", **_BITS, "Ret": "i32 [E]", "N_BLKS_BITMATRIX": "int"},
    uses=[
        Use(
            "moe_routing/bitmatrix_sums",
            {"bits": lambda given: _matrix(given, given["N_BLKS_BITMATRIX"])},
            {"sums": "Ret"},
        )
    ],
    differs="Any number of rows; the port's counts the first 128.",
)

_STARTS = {"TokenStart": "i32 [E+1]", "TileStart": "i32 [E+1]"}


def _tiles(given: Given, tiles: str, log2: int | None = None) -> dict[str, object]:
    return {
        "hist": given["Hist"],
        "tile_log2": given["tile_dim_log2"] if log2 is None else log2,
        "length": len(given[tiles]),
    }


def _expert_data(outputs: dict[str, str], tiles: str, log2: int | None = None) -> Use:
    """The operator, with those of its outputs that a stage has; others stay inside."""
    return Use(
        "moe_routing/expert_data",
        {
            name: lambda given, name=name: _tiles(given, tiles, log2)[name]  # type: ignore[misc]
            for name in ("hist", "tile_log2", "length")
        },
        outputs,
    )


def _gates(given: Given) -> None:
    described_by(given, "n_gates", int(given["Hist"].sum()), "the sum of Hist")


def _one_tile_each(given: Given) -> None:
    wanted = [0, *(given["Hist"] > 0).cumsum(0).tolist()]
    described_by(
        given,
        "TileStart",
        wanted,
        "one tile for each expert with tokens; expt_data_stage2 takes more",
        count=len(wanted),
    )


_ALL = {"token_start": "TokenStart", "tile_start": "TileStart", "tile_info": "MDTileInfo"}
_STAGES = (
    Function(
        name="expt_data_stage1",
        arguments={
            **{"Hist": "i32 [E]", **_STARTS, "MDTileInfo": "i32 [L]", "n_expts_tot": "int"},
            **{"max_num_tiles": "int", "n_gates": "int", "tile_dim_log2": "int"},
        },
        uses=[_expert_data(_ALL, "MDTileInfo")],
        checks=[_gates],
        differs="Writes MDTileInfo whole, which the port leaves to stage 2 but for what is behind the last"
        " tile.",
    ),
    Function(
        name="expt_data_stage2",
        arguments={
            **{"Hist": "i32 [E]", "TileStart": "i32 [E+1]", "TileInfo": "i32 [L]"},
            **{"n_expts_tot": "int", "tile_dim_log2": "int"},
        },
        uses=[_expert_data({"tile_info": "TileInfo"}, "TileInfo")],
        differs="Behind the last tile it writes -1, as stage 1 does.",
    ),
    Function(
        name="expt_data_stage2_fused",
        arguments={
            **{"Hist": "i32 [E]", "TileStart": "i32 [E+1]", "TileInfo": "i32 [L]"},
            "n_expts_tot": "int",
        },
        uses=[_expert_data({"tile_info": "TileInfo"}, "TileInfo", 30)],
        checks=[_one_tile_each],
        differs="Refuses experts of several tiles; the port writes the first tile only.",
    ),
    Function(
        name="expt_data_compute",
        arguments={
            **{"Hist": "i32 [E]", **_STARTS, "MDTileInfo": "i32 [L]", "n_expts_tot": "int"},
            **{"max_num_tiles": "int", "n_gates": "int", "tile_dim_log2": "int", "use_fused_stage2": "bool"},
        },
        uses=[_expert_data(_ALL, "MDTileInfo")],
        checks=[_gates],
        differs="Lists every tile with use_fused_stage2 too.",
    ),
)


def _bits(given: Given) -> torch.Tensor:
    """Words x rows of the matrix of bits, as its strides say."""
    bits: torch.Tensor = given["Bits"]
    words = -(-given["n_expts_tot"] // 32)
    return bits.as_strided((words, given["n_rows"]), (given["stride_bn"], given["stride_bm"]))


_TOPK = Function(
    name="moe_topk",
    arguments={
        **{
            "X": "bf16|fp32 [T E]",
            "stride_xm": "int",
            "Yv": "real [T K]",
            "Yi": "i32|i64 [T K]",
            "stride_ym": "int",
        },
        **{"Bits": "i32 [*B]", "stride_bm": "int", "stride_bn": "int"},
        **{"n_rows": "int", "n_expts_tot": "int", "K": "int", "apply_softmax": "bool"},
    },
    uses=[
        Use(
            "moe_routing/topk",
            {"x": "X", "k": "K", "score": lambda given: "softmax" if given["apply_softmax"] else "none"},
            {"values": "Yv", "indices": "Yi", "bits": _bits},
        )
    ],
    differs="Of equal values those in front come first, whatever the number of experts; the port takes 256.",
)

MODULES = (
    PortModule(
        row=44,
        name="moe_align_block_size_tk",
        functions=[_ALIGN],
        doc="Ids sorted by expert, each expert's padded to whole blocks; the expert of each block.",
    ),
    PortModule(
        row=45,
        name="moe_bitmatrix_tk",
        functions=[_SUMS, _SUMS_FUSED],
        doc="Set bits of each column of a matrix of bits: tokens of each expert.",
    ),
    PortModule(
        row=46,
        name="moe_expt_data_tk",
        functions=_STAGES,
        doc="Where experts' tokens and tiles begin, and the expert of each tile.",
    ),
    PortModule(
        row=47,
        name="moe_topk_tk",
        functions=[_TOPK],
        doc="The best experts of each token, with their softmax and a matrix of bits.",
    ),
)
