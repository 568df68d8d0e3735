"""Attention of one query a sequence over a paged cache of keys and values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Range, Step
from workbench_kernels.attention.forward import C_TYPES, DTYPES, ROOM, dtype_of
from workbench_kernels.references.attention import attention_paged

HEADS = 16
"""Heads of a wave."""

KEYS = 32
"""Keys in a block."""

ENOUGH = 1024
"""Work-groups that keep a GPU busy: splits are as many as that takes."""

FP8 = (torch.float8_e4m3fn, torch.float8_e4m3fnuz)

SOURCE = """#include "families/attention_decode.cuh"

using namespace kittens;
using namespace kittens::families::attention;
using globals = decode_globals<ELEMENT, CACHE, DIM, DIM_V>;

__global__ __launch_bounds__(WAVES *WARP_THREADS) void attention_decode(const globals g) {
    decode<ELEMENT, CACHE, DIM, DIM_V, WAVES, PAGE, LATENT>(g);
}
__global__ __launch_bounds__(WARP_THREADS) void attention_merge(const globals g) { merge(g); }
"""


def splits_of(batch: int, heads_kv: int, pages: int, page: int) -> int:
    """Splits that give a GPU enough work-groups, each of at least four blocks of keys."""
    wanted = -(-ENOUGH // (batch * heads_kv))
    return max(1, min(wanted, pages * page // (4 * KEYS), 64))


def shape_of(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor | None,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    scale: float | None = None,
    k_scale: float = 1.0,
    v_scale: float = 1.0,
) -> dict[str, Any]:
    """Shape of a call: q (B, H, D), caches (pages, page, H_kv, D and D_v), table (B, pages), lengths (B).

    Without `v_cache` values are the first 512 columns of keys (multi-head latent attention).
    """
    if q.dim() != 3 or k_cache.dim() != 4 or q.shape[-1] != k_cache.shape[-1]:
        raise ShapeError(
            f"attention: q is {tuple(q.shape)}, k_cache {tuple(k_cache.shape)}; expected (B, H, D) and "
            "(pages, rows of a page, H_kv, D)"
        )
    if v_cache is not None and (v_cache.dim() != 4 or v_cache.shape[:3] != k_cache.shape[:3]):
        raise ShapeError(
            f"attention: v_cache is {tuple(v_cache.shape)}; expected "
            f"{(*k_cache.shape[:3], 'D_v')}, as k_cache"
        )
    fp8 = k_cache.dtype in FP8
    for name, cache in (("k_cache", k_cache), ("v_cache", v_cache)):
        if cache is not None and (cache.dtype not in FP8 if fp8 else cache.dtype != q.dtype):
            raise ShapeError(f"attention: {name} is {cache.dtype}; expected {q.dtype}, as q, or float8_e4m3")
    lengths = seq_lens.shape[0] if seq_lens.dim() == 1 else -1
    tables = block_table.shape[0] if block_table.dim() == 2 else -1
    if not block_table.dtype == seq_lens.dtype == torch.int32 or not lengths == tables == q.shape[0]:
        raise ShapeError(
            f"attention: block_table is {block_table.dtype} {tuple(block_table.shape)}, seq_lens "
            f"{seq_lens.dtype} {tuple(seq_lens.shape)}; expected "
            f"int32 ({q.shape[0]}, pages) and int32 ({q.shape[0]},)"
        )
    if not all(0 < x < float("inf") for x in (1.0 if scale is None else scale, k_scale, v_scale)):
        raise ShapeError(
            f"attention: scale is {scale}, k_scale {k_scale}, v_scale {v_scale}; expected positive numbers"
        )
    return {
        "batch": q.shape[0],
        "pages": block_table.shape[1],
        "page": k_cache.shape[1],
        "heads": q.shape[1],
        "heads_kv": k_cache.shape[2],
        "dim": q.shape[2],
        "dim_v": 512 if v_cache is None else v_cache.shape[3],
        "dtype": dtype_of(q=q),
        "cache": "fp8" if fp8 else "as q",
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses head dimensions and head counts that do not go together."""
    if (shape["dim"], shape["dim_v"]) not in ((64, 64), (128, 128), (576, 512)):
        raise ShapeError(
            f"attention: head dimensions are {shape['dim']} and {shape['dim_v']}; supported are 64 and 64, "
            "128 and 128, and without v_cache 576 and 512"
        )
    if shape["heads"] % shape["heads_kv"]:
        raise ShapeError(
            f"attention: {shape['heads']} heads of q over {shape['heads_kv']} of the caches; "
            "expected a multiple"
        )


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Normally distributed q and caches, pages in any order, sequences of any lengths up to the table's."""
    batch, pages, page = shape["batch"], shape["pages"], shape["page"]
    latent = shape["dim"] == 576
    dtype = DTYPES[shape["dtype"]]
    stored = torch.float8_e4m3fn if shape["cache"] == "fp8" else dtype

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(*dims, generator=generator)

    lengths = torch.randint(0, pages * page + 1, (batch,), generator=generator)
    lengths[0] = pages * page - 1
    rows = (batch * pages, page, shape["heads_kv"])
    return {
        "q": normal(batch, shape["heads"], shape["dim"]).to(dtype),
        "k_cache": normal(*rows, shape["dim"]).to(stored),
        "v_cache": None if latent else normal(*rows, shape["dim_v"]).to(stored),
        "block_table": torch.randperm(batch * pages, generator=generator).view(batch, pages).to(torch.int32),
        "seq_lens": lengths.to(torch.int32),
        **({"k_scale": 0.5, "v_scale": 2.0} if shape["cache"] == "fp8" else {}),
    }


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    dims = (shape["batch"], shape["heads"])
    return {"out": ((*dims, shape["dim_v"]), tensors["q"].dtype), "lse": (dims, torch.float32)}


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """O and logarithms of each split."""
    splits = splits_of(shape["batch"], shape["heads_kv"], shape["pages"], shape["page"])
    dims = (shape["batch"], splits, shape["heads"])
    return {"partial": ((*dims, shape["dim_v"]), torch.float32), "partial_lse": (dims, torch.float32)}


def waves_of(shape: Mapping[str, Any]) -> int:
    """Waves of a work-group, 16 heads each: 4 where that many share keys."""
    return 4 if shape["heads"] // shape["heads_kv"] > HEADS else 1


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    """What an instance is compiled for."""
    element = C_TYPES[shape["dtype"]]
    return {
        "ELEMENT": element,
        "CACHE": "fp8e4m3" if shape["cache"] == "fp8" else element,
        "DIM": shape["dim"],
        "DIM_V": shape["dim_v"],
        "WAVES": waves_of(shape),
        "PAGE": shape["page"],
        "LATENT": "true" if shape["dim"] == 576 else "false",
    }


def launch_decode(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for the heads that share keys, and a split."""
    waves = waves_of(shape)
    groups = -(-(shape["heads"] // shape["heads_kv"]) // (waves * HEADS))
    splits = splits_of(shape["batch"], shape["heads_kv"], shape["pages"], shape["page"])
    width = shape["dim"] + (0 if shape["dim"] == 576 else shape["dim_v"])
    block = KEYS * width * (1 if shape["cache"] == "fp8" else 2)
    return Launch(
        grid=(shape["heads_kv"] * groups, splits, shape["batch"]),
        block=64 * waves,
        dynamic_shared=block * (2 if 2 * block <= ROOM[arch] else 1),
    )


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    scale = shape["dim"] ** -0.5 if tensors["scale"] is None else tensors["scale"]
    latent = tensors["v_cache"] is None
    return {
        "q": tensors["q"][:, :, None],
        "k": tensors["k_cache"],
        "v": tensors["k_cache"][..., : shape["dim_v"]].new_empty(1, 1, 1, 512)
        if latent
        else tensors["v_cache"],
        "table": tensors["block_table"],
        "lengths": tensors["seq_lens"],
        "out": tensors["out"][:, :, None],
        **{name: tensors[name] for name in ("lse", "partial", "partial_lse")},
        "scale": scale * tensors["k_scale"],
        "scale_v": tensors["k_scale"] if latent else tensors["v_scale"],
    }


spec = KernelSpec(
    name="attention/decode",
    doc="One query a sequence over a paged cache, split along keys and merged; GQA, MLA, fp8 caches.",
    source=SOURCE,
    steps=[
        Step("split", "attention_decode", launch_decode, arguments),
        Step(
            "merge",
            "attention_merge",
            lambda shape, arch: Launch(grid=(shape["heads"], 1, shape["batch"]), block=64),
            arguments,
        ),
    ],
    workspace=workspace,
    parameters={
        "batch": Range(1, 1 << 16, default=2, doc="sequences"),
        "pages": Range(1, 1 << 16, default=16, doc="pages of the longest sequence"),
        "page": Choice((16, 32, 64, 128, 256), default=16, doc="rows of a page"),
        "heads": Range(1, 1024, default=32, doc="heads of the queries"),
        "heads_kv": Range(1, 1024, default=8, doc="heads of keys and values; divides heads"),
        "dim": Choice((64, 128, 576), default=128, doc="head dimension of queries and keys"),
        "dim_v": Choice((64, 128, 512), default=128, doc="head dimension of values"),
        "dtype": Choice(("bf16", "fp16"), doc="element type of q and O"),
        "cache": Choice(("as q", "fp8"), doc="element type of the caches"),
    },
    shapes=[
        {"batch": 3, "pages": 20, "page": 16, "heads": 8, "heads_kv": 2},
        {
            "batch": 2,
            "pages": 3,
            "page": 64,
            "heads": 4,
            "heads_kv": 1,
            "dim": 64,
            "dim_v": 64,
            "cache": "fp8",
        },
        {"batch": 2, "pages": 3, "page": 64, "heads": 40, "heads_kv": 1, "dim": 576, "dim_v": 512},
    ],
    inputs=inputs,
    outputs=outputs,
    reference=attention_paged,
    shape_of=shape_of,
    define=define,
    check=check,
    # Lengths decide the work; of full tables:
    flops=lambda shape: (
        2 * (shape["dim"] + shape["dim_v"]) * shape["batch"] * shape["heads"] * shape["pages"] * shape["page"]
    ),
    bytes=lambda shape: (
        (shape["dim"] + (0 if shape["dim"] == 576 else shape["dim_v"]))
        * (1 if shape["cache"] == "fp8" else 2)
        * shape["batch"]
        * shape["heads_kv"]
        * shape["pages"]
        * shape["page"]
        + 2 * (shape["dim"] + shape["dim_v"]) * shape["batch"] * shape["heads"]
    ),
)
