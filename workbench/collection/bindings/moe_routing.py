"""Routing of a mixture of experts: the best experts of tokens, lists by expert, sums of bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.collection.convert import described_by
from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch


def _ids(call: Call) -> None:
    described_by(call, "numel", call["topk_ids"].numel(), "the ids of topk_ids")


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
                "length": lambda call: len(call["sorted_token_ids"]),
            },
            {
                **{"sorted_token_ids": "ids", "expert_ids": "experts"},
                "num_tokens_post_padded": lambda call: call["total_tokens_post_pad"].reshape(1),
            },
            then=lambda call: _write_ids(call),
        )
    ],
    checks=[_ids, lambda call: _room(call)],
    differs="The buffers are left alone: the operator has its own. Any number of ids; the port's second "
    "stage takes as many threads as there are experts.",
)


def _write_ids(call: Call) -> None:
    """Puts ids and blocks' experts in their places; the padding keeps the caller's values."""
    for name, entries, mask in (
        ("sorted_token_ids", call["ids"], call["ids"] < call["numel"]),
        ("expert_ids", call["experts"], call["experts"] >= 0),
    ):
        call[name][: len(entries)][mask] = entries[mask]


def _blocks(call: Call) -> int:
    return -(-len(call["sorted_token_ids"]) // call["block_size"]) if call["block_size"] > 0 else 0


def _room(call: Call) -> None:
    if len(call["expert_ids"]) < _blocks(call):
        raise ArgumentError(
            f"expert_ids has {len(call['expert_ids'])}; expected {_blocks(call)} or more, one for each "
            f"{call['block_size']} of sorted_token_ids"
        )


def _matrix(call: Call, words: int) -> torch.Tensor:
    """The matrix of bits, rows x words, as its strides say."""
    bits: torch.Tensor = call["B"]
    return bits.as_strided((call["shape_bm"], words), (call["stride_bm"], call["stride_bn"]))


def _partials(call: Call) -> torch.Tensor:
    """Sums before each tile of 128 rows, as the strides say."""
    sums: torch.Tensor = call["Partials"]
    size = (-(-call["shape_bm"] // 128), 32 * call["shape_bn"])
    return sums.as_strided(size, (call["stride_pm"], call["stride_pn"]))


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
            {"bits": lambda call: _matrix(call, call["shape_bn"])},
            {"sums": "Ret", "partials": _partials},
        )
    ],
    differs="Writes the rows of Partials for existing tiles; the port also adds to those up to the next 256 "
    "rows.",
)
_SUMS_FUSED = Function(
    name="sum_bitmatrix_rows_fused",
    arguments={"B": "i32 [*B]", **_BITS, "Ret": "i32 [E]", "N_BLKS_BITMATRIX": "int"},
    uses=[
        Use(
            "moe_routing/bitmatrix_sums",
            {"bits": lambda call: _matrix(call, call["N_BLKS_BITMATRIX"])},
            {"sums": "Ret"},
        )
    ],
    differs="Any number of rows; the port's counts the first 128.",
)

_STARTS = {"TokenStart": "i32 [E+1]", "TileStart": "i32 [E+1]"}


def _tiles(call: Call, tiles: str, log2: int | None = None) -> dict[str, object]:
    return {
        "hist": call["Hist"],
        "tile_log2": call["tile_dim_log2"] if log2 is None else log2,
        "length": len(call[tiles]),
    }


def _expert_data(outputs: dict[str, str], tiles: str, log2: int | None = None) -> Use:
    """The operator, with the outputs that a stage returns; the others are not returned."""
    return Use(
        "moe_routing/expert_data",
        {
            name: lambda call, name=name: _tiles(call, tiles, log2)[name]  # type: ignore[misc]
            for name in ("hist", "tile_log2", "length")
        },
        outputs,
    )


def _gates(call: Call) -> None:
    described_by(call, "n_gates", int(call["Hist"].sum()), "the sum of Hist")


def _one_tile_each(call: Call) -> None:
    starts = [0, *(call["Hist"] > 0).cumsum(0).tolist()]
    described_by(
        call,
        "TileStart",
        starts,
        "one tile for each expert with tokens; expt_data_stage2 takes more",
        count=len(starts),
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
        differs="Writes all of MDTileInfo; the port writes only the entries after the last tile, and stage 2"
        " the rest.",
    ),
    Function(
        name="expt_data_stage2",
        arguments={
            **{"Hist": "i32 [E]", "TileStart": "i32 [E+1]", "TileInfo": "i32 [L]"},
            **{"n_expts_tot": "int", "tile_dim_log2": "int"},
        },
        uses=[_expert_data({"tile_info": "TileInfo"}, "TileInfo")],
        differs="After the last tile it writes -1, as stage 1 does.",
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


def _bits(call: Call) -> torch.Tensor:
    """Words x rows of the matrix of bits, as its strides say."""
    bits: torch.Tensor = call["Bits"]
    words = -(-call["n_expts_tot"] // 32)
    return bits.as_strided((words, call["n_rows"]), (call["stride_bn"], call["stride_bm"]))


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
            {"x": "X", "k": "K", "score": lambda call: "softmax" if call["apply_softmax"] else "none"},
            {"values": "Yv", "indices": "Yi", "bits": _bits},
        )
    ],
    differs="Equal values keep their order, for any number of experts; the port supports 256.",
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
