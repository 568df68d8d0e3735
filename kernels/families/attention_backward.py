"""Gradients of attention: launches, inputs and checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Launch, Step, Tolerance
from workbench.targets import WAVE
from workbench_kernels.families import attention_forward as forward
from workbench_kernels.families.attention import ROOM, band, check_distances
from workbench_kernels.references.attention import attention

ROWS = 128
"""Keys, or queries, per work-group."""

PADDED = 64
"""Multiple to which the number of queries is rounded up where memory has one value for each."""

SOURCE = """#include "families/attention_backward.cuh"

using namespace kittens;
using namespace kittens::families::attention;
using globals = backward_globals<ELEMENT, DIM, DIM_V>;

__global__ __launch_bounds__(THREADS) void attention_prepare(const globals g) {
    prepare<ELEMENT, DIM, DIM_V, CAPPED>(g);
}
__global__ __launch_bounds__(WARP_THREADS) void attention_sinks(const globals g) {
    sinks<ELEMENT, DIM, DIM_V, CAPPED>(g);
}
"""
"""Kernels of all variants. A variant compiles its own besides and no other's."""

SPLIT_SOURCE = (
    SOURCE
    + """
__global__ __launch_bounds__(THREADS, KEYS_OCCUPANCY<DIM, CAPPED>) void attention_keys(const globals g) {
    keys<ELEMENT, DIM, DIM_V, CAPPED, false>(g);
}
__global__ __launch_bounds__(THREADS, QUERIES_OCCUPANCY<DIM>) void attention_queries(const globals g) {
    queries<ELEMENT, DIM, DIM_V, CAPPED>(g);
}
"""
)

CONVERT = """
__global__ __launch_bounds__(THREADS) void attention_convert(const globals g) { convert(g); }
"""

ATOMICS_SOURCE = (
    SOURCE
    + CONVERT
    + """
__global__ __launch_bounds__(THREADS, 1) void attention_keys_by_atomics(const globals g) {
    keys<ELEMENT, DIM, DIM_V, CAPPED, true>(g);
}
"""
)

PINNED_SOURCE = (
    SOURCE.replace("attention_backward.cuh", "attention_backward_pinned.cuh")
    + CONVERT
    + """
__global__ __launch_bounds__(THREADS, 1)
KITTENS_PINS_FROM(pinned::registers::FRAGMENTS, 256) void attention_keys_pinned(const globals g) {
    keys_pinned<ELEMENT, DIM>::run(g);
}
"""
)


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call: q, k and v as in attention/forward; out and lse are its results, dout and dlse have
    their shapes."""
    q, out, dout, lse = (arguments[name] for name in ("q", "out", "dout", "lse"))
    shape = forward.shape_of(**arguments)
    for name, tensor, like in (
        ("out", out, arguments["v"]),
        ("dout", dout, arguments["v"]),
        ("lse", lse, None),
        ("dlse", arguments["dlse"], None),
    ):
        of_rows = (q.shape[0], q.shape[2], q.shape[1])
        dims = of_rows if like is None else (*q.shape[:3], like.shape[3])
        dtype = torch.float32 if like is None else q.dtype
        if tensor is not None and (tuple(tensor.shape) != dims or tensor.dtype != dtype):
            raise ShapeError(
                f"attention: {name} is {tensor.dtype} {tuple(tensor.shape)}; expected {dtype} {dims}"
            )
    check_distances(out=out, dout=dout)
    return shape


def fits_whole(shape: Mapping[str, Any], arch: str) -> bool:
    """True if the variants that add up dQ in memory by whole tiles support a shape."""
    return shape["dim"] == shape["dim_v"] and shape["dim"] in (64, 128)


def check_whole(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses shapes that the variants with a sum of dQ in memory do not support."""
    forward.check(shape, arch)
    if not fits_whole(shape, arch):
        raise ShapeError(
            f"attention: head dimensions are {shape['dim']} and {shape['dim_v']}; the sum of dQ in memory "
            "supports 64 or 128, equal in both; use the variant 'split'"
        )


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Inputs of the forward pass, its results, and normally distributed gradients of them."""
    return _run_forward(forward.inputs(shape, generator), generator)


def far_below_zero(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Inputs whose logits are all around -25 sqrt(D); a key past the last, with logit 0, outweighs them."""
    tensors = forward.inputs(shape, generator)
    return _run_forward({**tensors, "q": tensors["q"] + 5, "k": tensors["k"] - 5}, generator)


def _run_forward(given: dict[str, Any], generator: torch.Generator) -> dict[str, Any]:
    wide = {k: v.float() if isinstance(v, torch.Tensor) else v for k, v in given.items()}
    return with_gradients(given, head_by_head(wide), generator)


def with_gradients(
    tensors: Mapping[str, Any], results: tuple[torch.Tensor, torch.Tensor], generator: torch.Generator
) -> dict[str, Any]:
    """Inputs of the forward pass, out and lse computed from them in float32, and random gradients of both."""
    (out, lse), dtype = results, tensors["q"].dtype
    return {
        **tensors,
        "out": out.to(dtype).contiguous(),
        "lse": lse.contiguous(),
        "dout": torch.randn(out.shape, generator=generator).to(dtype),
        "dlse": torch.randn(lse.shape, generator=generator),
    }


def head_by_head(tensors: Mapping[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """`attention` of each sequence and head of keys separately: all logits together may take tens of GB."""
    q, k, v, sinks = tensors["q"], tensors["k"], tensors["v"], tensors.get("sinks")
    settings = {name: value for name, value in tensors.items() if name not in ("q", "k", "v", "sinks")}
    heads = q.shape[2] // k.shape[2]

    def head_result(b: int, h: int) -> tuple[torch.Tensor, torch.Tensor]:
        group = slice(h * heads, (h + 1) * heads)
        parts = {
            "q": q[b : b + 1, :, group],
            "k": k[b : b + 1, :, h : h + 1],
            "v": v[b : b + 1, :, h : h + 1],
        }
        return attention(**parts, **settings, sinks=None if sinks is None else sinks[group])

    results = [[head_result(b, h) for h in range(k.shape[2])] for b in range(q.shape[0])]
    return (
        torch.cat([torch.cat([out for out, _ in sequence], dim=2) for sequence in results]),
        torch.cat([torch.cat([lse for _, lse in sequence], dim=1) for sequence in results]),
    )


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    made = {f"d{name}": (tensors[name].shape, tensors[name].dtype) for name in ("q", "k", "v")}
    return {**made, "dsinks": ((shape["heads"] if shape["sinks"] else 0,), torch.float32)}


def workspace(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Workspace for the terms added to each query's logits and to its row of dP."""
    rows = -(-shape["queries"] // PADDED) * PADDED
    dims = (shape["batch"], shape["heads"], rows)
    return {"shift": (dims, torch.float32), "delta": (dims, torch.float32)}


def workspace_by_atomics(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The same workspace, and sums of dQ, initially zero."""
    return with_sums(workspace(shape, tensors), shape)


def with_sums(given: Mapping[str, Any], shape: Mapping[str, Any]) -> dict[str, Any]:
    """A workspace with sums of dQ, with a row for each value of delta."""
    return {**given, "dq_sums": ((*given["delta"][0], shape["dim"]), torch.float32, 0.0)}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    names = ("q", "k", "v", "out", "dout", "dq", "dk", "dv", "lse", "dlse", "shift", "delta", "softcap")
    scale, sinks = tensors["scale"], tensors["sinks"]
    return {
        **{name: tensors[name] for name in names},
        "sinks": None if sinks is None else sinks.float(),
        "dsinks": None if sinks is None else tensors["dsinks"],
        "dq_sums": tensors.get("dq_sums"),
        **band(tensors["causal"], tensors["window"]),
        "scale": shape["dim"] ** -0.5 if scale is None else scale,
        "cu_seqlens_q": None,
        "cu_seqlens_k": None,
        "sequences": shape["batch"],
    }


def summed(shape: Mapping[str, Any]) -> Tolerance:
    """Bounds of dK and dV: rounding errors of P and dS add up as the square root of the number of queries,
    over all heads that share a key; up to 1024 queries the bounds are those of dQ."""
    terms = shape["queries"] * shape["heads"] // shape["heads_kv"]
    bounds = Tolerance(2e-2, 1e-1) if shape["dtype"] == "bf16" else Tolerance(1e-2, 1e-2)
    return replace(bounds, atol=bounds.atol * max(1.0, (terms / 1024) ** 0.5))


def summed_for_sinks(shape: Mapping[str, Any]) -> Tolerance:
    """Bounds of a sink's gradient: the sum over queries of p dO . O, where p is the sink's part of the
    softmax and O was rounded. O is the mean of the keys' values times 1 - p, and p (1 - p) is at most 1/4;
    errors add up as square roots. With a mask, some queries see few keys. Eight standard deviations, for many
    heads."""
    rounding = (2**-9 if shape["dtype"] == "bf16" else 2**-12) / 3**0.5
    seen = min(shape["keys"], shape["window"] or shape["keys"])
    terms = shape["queries"] / seen
    if shape["causal"] or shape["window"]:
        terms += 1 + math.log(shape["queries"])
    deviation = rounding / 4 * (shape["batch"] * shape["dim_v"] * terms) ** 0.5
    return Tolerance(2e-2, max(1e-1, 8 * deviation))


def launch_of(rows: str, heads: str, shared: bool, turned: int = 0) -> Any:
    """A launch with a work-group for 128 rows of a head; shared memory holds `turned` transposed rows and two
    blocks."""

    def launch(shape: Mapping[str, Any], arch: str) -> Launch:
        grid = (shape[heads], -(-shape[rows] // ROWS), shape["batch"])
        dim, dim_v = (forward.tile(shape[name]) for name in ("dim", "dim_v"))
        block = 64 if dim <= 128 and dim * (8 * 64 + 2 * turned) <= ROOM[arch] else 32
        blocks = 4 * block * (dim + dim_v) + 2 * turned * dim
        return Launch(grid=grid, block=256, dynamic_shared=blocks if shared else 0)

    return launch


PREPARE = Step("prepare", "attention_prepare", launch_of("queries", "heads", False), arguments)

SINKS = Step(
    "sinks",
    "attention_sinks",
    lambda shape, arch: Launch(grid=shape["heads"], block=WAVE),
    arguments,
    when=lambda shape, arch: bool(shape["sinks"]),
)

PINNED_KEYS, PINNED_QUERIES = 256, 32
"""Keys per work-group and queries per step of the pinned variant."""


def launch_pinned(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for 256 keys: V, two blocks of Q, dO and dS; and for each wave two of shift and delta."""
    vectors = 4 * 2 * 2 * 4 * 2 * PINNED_QUERIES
    return Launch(
        grid=(shape["heads_kv"], -(-shape["keys"] // PINNED_KEYS), shape["batch"]),
        block=256,
        dynamic_shared=2 * shape["dim"] * (PINNED_KEYS + 4 * PINNED_QUERIES)
        + 2 * 2 * PINNED_KEYS * PINNED_QUERIES
        + vectors,
    )


def fits_pinned(shape: Mapping[str, Any], arch: str) -> bool:
    """True on gfx950, whose loads it uses, for bf16, whose conversions it uses; a soft cap exceeds its
    registers."""
    return fits_whole(shape, arch) and arch == "gfx950" and shape["dtype"] == "bf16" and not shape["capped"]


def check_pinned(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses shapes that the pinned variant does not support."""
    check_whole(shape, arch)
    if not fits_pinned(shape, arch):
        raise ShapeError(
            f"attention: {arch}, {shape['dtype']}, soft cap {'on' if shape['capped'] else 'off'}; the "
            "kernel with pinned registers supports gfx950, bf16 and no soft cap; use the variant 'atomics'"
        )


SPLIT = [
    PREPARE,
    Step("keys", "attention_keys", launch_of("keys", "heads_kv", True), arguments),
    Step("queries", "attention_queries", launch_of("queries", "heads", True), arguments),
    SINKS,
]

BY_ATOMICS = [
    PREPARE,
    Step("keys", "attention_keys_by_atomics", launch_of("keys", "heads_kv", True, ROWS), arguments),
    Step("convert", "attention_convert", launch_of("queries", "heads", False), arguments),
    SINKS,
]

BY_PINNED = [
    PREPARE,
    Step("keys", "attention_keys_pinned", launch_pinned, arguments),
    Step("convert", "attention_convert", launch_of("queries", "heads", False), arguments),
    SINKS,
]
