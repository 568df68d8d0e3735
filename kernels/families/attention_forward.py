"""Attention of dense and of packed sequences: common parts of its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Parameter, Range, Tunables, Variant
from workbench.targets import WAVE, default_product, wave_size
from workbench_kernels.families import scalars
from workbench_kernels.families.attention import (
    ROOM,
    band,
    check_distances,
    check_settings,
    dtype_of,
    warn_if_turned,
)

WAVES = 4
"""Waves of a work-group."""
QUERIES = 128
"""Queries per work-group, in waves of 64 lanes; see `queries_of_group`."""

SIZES = ((64, 64), (80, 80), (96, 96), (112, 112), (128, 128), (192, 128), (256, 256))
"""Head dimensions of queries and keys, and of values."""


def tile(dim: int) -> int:
    """Columns of the tiles for a head dimension; those beyond the dimension are zero."""
    return -(-dim // 32) * 32


SOURCE = """#include "families/attention.cuh"

using namespace kittens;
using namespace kittens::families::attention;

#ifndef WAVES
#define WAVES OCCUPANCY<DIM, DIM_V>
#endif
#ifndef BLOCK_OF_KEYS
#define BLOCK_OF_KEYS KEYS<DIM, DIM_V>
#endif
__global__ __launch_bounds__(THREADS, WAVES) void
attention_forward(const forward_globals<ELEMENT, DIM, DIM_V> g) {
    forward<ELEMENT, DIM, DIM_V, CAPPED, BLOCK_OF_KEYS>(g);
}
"""

PING_PONG = """#include "families/attention_ping_pong.cuh"

using namespace kittens;
using namespace kittens::families::attention;

__global__ __launch_bounds__(512, 2) void attention_forward(const forward_globals<ELEMENT, DIM, DIM_V> g) {
    forward_ping_pong<ELEMENT, DIM, CAPPED>(g);
}
"""

PARAMETERS: dict[str, Parameter] = {
    "batch": Range(1, 1 << 16, default=1, doc="sequences"),
    "queries": Range(1, 1 << 20, default=1024, doc="queries of a sequence"),
    "keys": Range(1, 1 << 20, default=1024, doc="keys of a sequence"),
    "heads": Range(1, 1024, default=8, doc="heads of queries"),
    "heads_kv": Range(1, 1024, default=8, doc="heads of keys and values; a divisor of heads"),
    "dim": Choice((64, 80, 96, 112, 128, 192, 256), default=128, doc="head dimension of queries and keys"),
    "dim_v": Choice(
        (64, 80, 96, 112, 128, 256), default=128, doc="head dimension of values: dim, or 128 where dim is 192"
    ),
    "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
    "causal": Choice((0, 1), doc="whether keys after a query's position are hidden"),
    "window": Range(0, 1 << 20, default=0, doc="keys at this distance or more are hidden; 0 for none"),
    "capped": Choice((0, 1), doc="whether logits are soft-capped"),
    "sinks": Choice((0, 1), doc="whether heads have sinks"),
}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses head dimensions and counts that do not match, and tensors beyond 32-bit offsets."""
    if (shape["dim"], shape["dim_v"]) not in SIZES:
        raise ShapeError(
            f"attention: head dimensions are {shape['dim']} and {shape['dim_v']}; supported are "
            + ", ".join(f"{a} and {b}" for a, b in SIZES)
        )
    if shape["heads"] % shape["heads_kv"]:
        raise ShapeError(
            f"attention: {shape['heads']} heads of q and {shape['heads_kv']} of k and v; expected a multiple"
        )
    if max(shape["keys"], shape["queries"]) * shape["heads"] * shape["dim"] * 2 >= 1 << 32:
        raise ShapeError("attention: a sequence has 4 GiB or more; expected less, since offsets have 32 bits")


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call: q is (B, N_q, H, D), k (B, N_k, H_kv, D), v (B, N_k, H_kv, D_v)."""
    q, k, v = (arguments[name] for name in ("q", "k", "v"))
    dtype = dtype_of(q=q, k=k, v=v)
    fits = q.dim() == k.dim() == v.dim() == 4 and q.shape[0] == k.shape[0] and q.shape[3] == k.shape[3]
    if not fits or k.shape[:3] != v.shape[:3]:
        raise ShapeError(
            f"attention: q is {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}; "
            "expected (B, N_q, H, D), (B, N_k, H_kv, D) and (B, N_k, H_kv, D_v)"
        )
    warn_if_turned("attention", "[batch, tokens, heads, dim]", k.shape[2], k.shape[1])
    check_distances(q=q, k=k, v=v)
    check_settings(
        arguments["scale"], arguments["window"], arguments["softcap"], q.shape[2], arguments["sinks"]
    )
    return {
        "batch": q.shape[0],
        "queries": q.shape[1],
        "keys": k.shape[1],
        "heads": q.shape[2],
        "heads_kv": k.shape[2],
        "dim": q.shape[3],
        "dim_v": v.shape[3],
        "dtype": dtype,
        "causal": int(arguments["causal"]),
        "window": arguments["window"],
        "capped": int(arguments["softcap"] > 0),
        "sinks": int(arguments["sinks"] is not None),
    }


def settings(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """The inputs other than q, k and v."""
    options: dict[str, Any] = {"causal": bool(shape["causal"]), "window": shape["window"]}
    if shape["capped"]:
        options["softcap"] = 5.0
    if shape["sinks"]:
        options["sinks"] = torch.randn(shape["heads"], generator=generator)
    return options


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Normally distributed q, k and v."""

    def normal(rows: int, heads: int, dim: int) -> torch.Tensor:
        made = torch.randn(shape["batch"], rows, heads, dim, generator=generator)
        return made.to(scalars.HALVES[shape["dtype"]])

    return {
        "q": normal(shape["queries"], shape["heads"], shape["dim"]),
        "k": normal(shape["keys"], shape["heads_kv"], shape["dim"]),
        "v": normal(shape["keys"], shape["heads_kv"], shape["dim_v"]),
        **settings(shape, generator),
    }


def large(size: float) -> Callable[[Mapping[str, Any], torch.Generator], dict[str, Any]]:
    """Inputs with q and k multiplied by `size`."""

    def enlarged(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
        given = inputs(shape, generator)
        return {**given, "q": given["q"] * size, "k": given["k"] * size}

    return enlarged


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """O, with q's dimensions but v's head dimension, and the logarithms."""
    b, n, h = shape["batch"], shape["queries"], shape["heads"]
    return {"out": ((b, n, h, shape["dim_v"]), tensors["q"].dtype), "lse": ((b, h, n), torch.float32)}


MACROS = {"WAVES": "waves", "BLOCK_OF_KEYS": "keys_of_block"}
"""Macros of the tunables; the kernel has defaults for both."""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    """Macros of an instance; masks, sinks and lengths are run-time arguments."""
    return {
        "ELEMENT": scalars.C_TYPES[shape["dtype"]],
        "DIM": shape["dim"],
        "DIM_V": shape["dim_v"],
        "CAPPED": "true" if shape["capped"] else "false",
        **{macro: shape[name] for macro, name in MACROS.items() if shape.get(name)},
    }


def shared_bytes(shape: Mapping[str, Any], arch: str) -> int:
    """Two blocks of keys and values; the LDS that the work-groups of a compute unit share limits the keys."""
    width = tile(shape["dim"]) + tile(shape["dim_v"])
    room = ROOM[arch] // (1 if width > 320 else 2)
    whole = tile(shape["dim"]) % 64 or 4 * width * 64 <= room
    return int(4 * width * (shape.get("keys_of_block") or (64 if whole else 32)))


def registers(shape: Mapping[str, Any], arch: str) -> int:
    """Vector registers for 32 queries: Q, O and the logits of a block, and the block's keys and values."""
    width, keys = shape["dim"] + shape["dim_v"], shape.get("keys_of_block") or 32
    return int(shape["dim"] // 4 + (shape["dim_v"] + keys) // 2 + keys * width // 128)


def queries_of_group(arch: str) -> int:
    """Queries per work-group: one for two lanes."""
    return QUERIES * wave_size(arch) // WAVE


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group of four waves for some queries of a head."""
    grid = (shape["heads"], -(-shape["queries"] // queries_of_group(arch)), shape["batch"])
    return Launch(grid=grid, block=WAVES * wave_size(arch), dynamic_shared=shared_bytes(shape, arch))


def takes_ping_pong(shape: Mapping[str, Any], arch: str) -> bool:
    """True if all queries see all keys, and there are at least as many work-groups of eight waves as compute
    units.

    Timing model, MI355X, four waves compared with eight: with 32 work-groups of eight waves 21% faster, with
    128 6 to 13% faster; with 512 and 2048, 5 and 12% slower without a mask, 16 and 1% faster if causal.
    """
    if not fits_ping_pong(shape, arch):
        return False
    groups = shape["batch"] * shape["heads"] * -(-shape["queries"] // (2 * QUERIES))
    masked = shape["causal"] or shape["window"]
    many = groups >= default_product(arch).compute_units
    return many and not masked and bool(shape["queries"] > QUERIES)


def fits_ping_pong(shape: Mapping[str, Any], arch: str) -> bool:
    """True on gfx950, whose loads and LDS it uses; a soft cap and wider heads exceed the registers."""
    return arch == "gfx950" and shape["dim"] == shape["dim_v"] in (64, 128) and not shape["capped"]


def check_ping_pong(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses shapes that the variant with eight waves does not support."""
    check(shape, arch)
    if not fits_ping_pong(shape, arch):
        raise ShapeError(
            f"attention: {arch}, head dimensions {shape['dim']} and {shape['dim_v']}, soft cap "
            f"{'on' if shape['capped'] else 'off'}; the ping-pong of eight waves supports gfx950, "
            "dimensions of 64 or 128 and no soft cap; use the variant 'four_waves'"
        )


def launch_ping_pong(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group of eight waves for 256 queries of a head; two blocks of 64 keys and values."""
    grid = (shape["heads"], -(-shape["queries"] // 256), shape["batch"])
    return Launch(grid=grid, block=8 * WAVE, dynamic_shared=8 * 64 * shape["dim"])


VARIANTS = {
    "ping_pong": Variant(takes_ping_pong, source=PING_PONG, launch=launch_ping_pong, check=check_ping_pong),
    "four_waves": Variant(
        tunables=Tunables(registers=registers, keys_of_block=(0, 32, 64, 128), waves=(0, 1, 2))
    ),
}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    scale, sinks = tensors["scale"], tensors["sinks"]
    return {
        **{name: tensors[name] for name in ("q", "k", "v", "out", "lse", "softcap")},
        **band(tensors["causal"], tensors["window"]),
        "scale": shape["dim"] ** -0.5 if scale is None else scale,
        "sinks": None if sinks is None else sinks.float(),
        "cu_seqlens_q": None,
        "cu_seqlens_k": None,
    }


def pairs(shape: Mapping[str, Any]) -> int:
    """Pairs of a query and a key that it sees, of one head and sequence."""
    seen = band(shape["causal"], shape["window"])
    offset, keys = shape["keys"] - shape["queries"], shape["keys"]
    places = torch.arange(shape["queries"]) + offset
    first = (places - seen["left"]).clamp(0, keys)
    end = (places + seen["right"] + 1).clamp(0, keys)
    return int((end - first).clamp(min=0).sum())


def flops(shape: Mapping[str, Any]) -> int:
    """2 (D + D_v) for each pair of a query and a key that it sees."""
    return int(2 * (shape["dim"] + shape["dim_v"]) * shape["batch"] * shape["heads"] * pairs(shape))


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """q, k, v and O once, and the logarithms."""
    width = shape["dim"] + shape["dim_v"]
    rows_q, rows_k = shape["queries"] * shape["heads"], shape["keys"] * shape["heads_kv"]
    return int(shape["batch"] * (2 * width * (rows_q + rows_k) + 4 * rows_q))
