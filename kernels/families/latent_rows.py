"""Absorbed weights, rotation and the cache's new rows of latent attention: arguments of each launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench import dtypes
from workbench.errors import ShapeError
from workbench.operators import Launch
from workbench_kernels.families import elementwise, scalars
from workbench_kernels.families import gemm as products
from workbench_kernels.families import gemm_quantized as quantized

NAME = "feed_forward/bmm_rope_kv_cache"

SOURCE = f"""{products.SOURCE}
#include "families/elementwise.cuh"
__global__ __launch_bounds__(256) void
latent_rows(const kittens::families::elementwise::latent_rows<PAIRS, bf16, CACHE, TABLE> g) {{
    g.run(kittens::families::elementwise::index());
}}
"""

TABLES = {known.name: known.dtype for known in (dtypes.FP32, dtypes.BF16)}

WEIGHTS = ("fp4", "fp8", "bf16")


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    q_nope, w_k, q_pe, k_nope = (arguments[name] for name in ("q_nope", "w_k", "q_pe", "k_nope"))
    if q_nope.dim() != 3 or w_k.dim() != 3 or q_pe.dim() != 3 or k_nope.dim() != 3:
        raise ShapeError(
            f"{NAME}: q_nope is {tuple(q_nope.shape)}, w_k {tuple(w_k.shape)}, q_pe {tuple(q_pe.shape)}, "
            f"k_nope {tuple(k_nope.shape)}; expected (heads, B, P), (heads, rank, ..), (B, heads, D) and "
            "(tokens, .., rank)"
        )
    weights = quantized.format_of("w_k", w_k, WEIGHTS)
    (heads, batch, deep), rank, dim = q_nope.shape, w_k.shape[1], q_pe.shape[2]
    tokens, key_heads = k_nope.shape[:2]
    places, angles = (
        arguments[name].shape[0] if arguments[name].dim() else 0 for name in ("kv_cache", "cos")
    )
    cache = arguments["kv_cache"].dtype if arguments["kv_cache"].dtype in scalars.FP8 else torch.bfloat16
    table = arguments["cos"].dtype if arguments["cos"].dtype in TABLES.values() else torch.float32
    scale = {"fp4": ((heads, rank, deep // 32), torch.uint8), "fp8": ((1,), torch.float32)}.get(weights)
    bf16 = torch.bfloat16
    expected: dict[str, tuple[tuple[int, ...], torch.dtype]] = {
        "q_nope": ((heads, batch, deep), bf16),
        "w_k": ((heads, rank, deep // 2 if weights == "fp4" else deep), w_k.dtype),
        "q_pe": ((batch, heads, dim), bf16),
        "k_nope": ((tokens, key_heads, rank), bf16),
        "k_rope": ((tokens, key_heads, dim), bf16),
        "kv_cache": ((places, key_heads, rank + dim), cache),
        **{"slots": ((tokens,), torch.int64), "positions": ((tokens,), torch.int64)},
        **dict.fromkeys(("cos", "sin"), ((angles, dim // 2), table)),
        **({} if scale is None else {"w_k_scale": scale}),
    }
    for name, (dims, dtype) in expected.items():
        if arguments[name] is None:
            raise ShapeError(f"{NAME}: {name} is None; expected {dims} {dtype} with w_k of {weights}")
        elementwise.like(NAME, name, arguments[name], dims, dtype)
    if batch > tokens:
        raise ShapeError(
            f"{NAME}: {batch} tokens with queries, {tokens} with keys; expected at least as many keys"
        )
    return {
        **{"batch": batch, "tokens": tokens, "heads": heads, "key_heads": key_heads, "deep": deep},
        **{"rank": rank, "dim": dim, "places": places, "weights": weights},
        "cache": "same" if cache == bf16 else "fp8",
        "table": next(name for name, dtype in TABLES.items() if dtype == table),
        "interleaved": int(arguments["interleaved"]),
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Random slots of the cache, each for one token; the last token has none."""
    heads, batch, tokens, dim = (shape[name] for name in ("heads", "batch", "tokens", "dim"))
    format = quantized.FORMATS[shape["weights"]]
    deep = shape["deep"] // 2 if shape["weights"] == "fp4" else shape["deep"]

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(*dims, generator=generator).bfloat16()

    angles = torch.rand(shape["places"], dim // 2, generator=generator) * 6
    cache = normal(shape["places"], shape["key_heads"], shape["rank"] + dim)
    slots = torch.randperm(shape["places"], generator=generator)[:tokens]
    slots[1:][-1:] = -1
    tensors = {
        "q_nope": normal(heads, batch, shape["deep"]),
        "w_k": format.draw((heads, shape["rank"], deep), generator),
        "q_pe": normal(batch, heads, dim),
        "k_nope": normal(tokens, shape["key_heads"], shape["rank"]),
        "k_rope": normal(tokens, shape["key_heads"], dim),
        "kv_cache": cache.to(scalars.FP8[0]) if shape["cache"] == "fp8" else cache,
        "slots": slots,
        "positions": torch.randint(0, shape["places"], (tokens,), generator=generator),
        **{"cos": angles.cos().to(TABLES[shape["table"]]), "sin": angles.sin().to(TABLES[shape["table"]])},
        **{"k_scale": 0.5, "interleaved": bool(shape["interleaved"])},
    }
    if shape["weights"] == "fp4":
        dims = (heads, shape["rank"], shape["deep"] // 32)
        tensors["w_k_scale"] = quantized.draw_scale("powers", dims, generator)
    elif shape["weights"] == "fp8":
        tensors["w_k_scale"] = torch.tensor([0.03])
    return tensors


def as_gemm(shape: Mapping[str, Any]) -> dict[str, Any]:
    """The product's shape, by the names of the GEMMs' specs."""
    scale = {"fp4": "powers", "fp8": "squares"}.get(shape["weights"], "none")
    return {
        **{"batch": shape["heads"], "m": shape["batch"], "n": shape["rank"], "k": shape["deep"]},
        **{"a": "bf16", "b": shape["weights"], "scale_a": "none", "scale_b": scale},
        **{"bias": 0, "activation": "none", "gate": 0, "residual": 0},
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Checks that rows are whole pieces, and the product's requirements."""
    quantized.check(as_gemm(shape), arch)
    if shape["tokens"] > shape["places"] or shape["batch"] > shape["tokens"]:
        raise ShapeError(
            f"{NAME}: {shape['batch']} tokens with queries, {shape['tokens']} with keys, {shape['places']} "
            "places; expected each to be at most the next"
        )


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    operation = as_gemm(shape)
    if shape["weights"] == "bf16":
        product = "double_buffer<bf16, bf16, layout::nt, 128, epilogue<>>"
    else:
        product = f"block_scaled<{quantized.products(operation)}, bf16, epilogue<>>"
    return {
        "GEMM": product,
        "PAIRS": "true" if shape["interleaved"] else "false",
        "CACHE": (dtypes.E4M3FN if shape["cache"] == "fp8" else dtypes.BF16).qualified,
        "TABLE": "float" if shape["table"] == "fp32" else "kittens::bf16",
    }


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """Grid and block of the product q_nope @ w_k."""
    family = products.launch(128, 256) if shape["weights"] == "bf16" else quantized.launch
    return family(as_gemm(shape), arch)


def factors(shape: Mapping[str, Any], scale: torch.Tensor | None) -> dict[str, Any]:
    """Scales for the product: powers unchanged, and the one of fp8 repeated for each square."""
    if scale is None or shape["weights"] == "bf16":
        return {}
    if shape["weights"] == "fp8":
        squares = (quantized.blocks(shape["rank"], 128), shape["deep"] // 128)
        scale = scale.expand(shape["heads"], *squares).contiguous()
    return {"scale_b": scale}


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{
            name: tensors[name]
            for name in ("plain", "q_pe", "k_nope", "k_rope", "q_out", "cos", "sin", "slots")
        },
        **{"k_pe_out": tensors["k_pe"], "cache": tensors["kv_cache"], "positions": tensors["positions"]},
        **{"k_scale": tensors["k_scale"], "queries": shape["batch"], "keys": shape["tokens"]},
        **{
            "q_heads": shape["heads"],
            "k_heads": shape["key_heads"],
            "rank": shape["rank"],
            "dim": shape["dim"],
        },
    }


def rows(shape: Mapping[str, Any]) -> int:
    """Elements of q_out and of the cache's new rows."""
    count = shape["batch"] * shape["heads"] + shape["tokens"] * shape["key_heads"]
    return int(count * (shape["rank"] + shape["dim"]))
