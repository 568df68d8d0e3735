"""The step before latent attention in decoding: absorbed weights, rotary embedding, the cache's new rows."""

from __future__ import annotations

import torch

from workbench.operators import Choice, Index, KernelSpec, Range, Step
from workbench_kernels.families import elementwise
from workbench_kernels.families import gemm as products
from workbench_kernels.families import gemm_quantized as quantized
from workbench_kernels.families import latent_rows as family
from workbench_kernels.references.latent import bmm_rope_kv_cache

spec = KernelSpec(
    name="feed_forward/bmm_rope_kv_cache",
    doc="The step before latent attention in decoding: writes [q_nope w_kᵀ, rotated q_pe], and in place the "
    "cache's rows [k_nope, rotated k_rope] / k_scale; w_k is fp4 with power-of-two scales, fp8 with one "
    "scale, or bf16.",
    source=family.SOURCE,
    parameters={
        "batch": Range(1, 1 << 16, default=4, doc="tokens with queries"),
        "tokens": Range(
            1, 1 << 16, default=4, doc="tokens with keys: those with queries, and optionally more after them"
        ),
        "heads": Range(1, 256, default=16, doc="heads of queries"),
        "key_heads": Range(1, 64, default=1, doc="heads of keys"),
        "deep": Range(128, 4096, step=128, default=128, doc="columns of q_nope"),
        "rank": Range(8, 4096, step=8, default=512, doc="columns of the latent vectors"),
        "dim": Range(16, 512, step=16, default=64, doc="columns that are rotated"),
        "places": Range(
            1, 1 << 20, default=256, doc="rows of the cache, and of cos and sin in the generated inputs"
        ),
        "weights": Choice(family.WEIGHTS, doc="format of w_k"),
        "cache": Choice(("same", "fp8"), doc="element type of the cache"),
        "table": Choice(tuple(family.TABLES), doc="element type of cos and sin"),
        "interleaved": Choice((1, 0), doc="whether pairs are adjacent (GPT-J), or half a head apart (NeoX)"),
    },
    shapes=[
        {"batch": 3, "tokens": 5, "heads": 2, "rank": 136, "dim": 32, "places": 40},
        {"batch": 2, "tokens": 2, "heads": 3, "rank": 64, "weights": "fp8", "cache": "fp8", "interleaved": 0},
        {"batch": 5, "tokens": 5, "heads": 4, "key_heads": 2, "rank": 64, "weights": "bf16", "table": "bf16"},
    ],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {
        "q_out": ((shape["batch"], shape["heads"], shape["rank"] + shape["dim"]), torch.bfloat16),
        "k_pe": (tuple(tensors["k_rope"].shape), torch.bfloat16),
    },
    mutates=("kv_cache",),
    workspace=lambda shape, tensors: {
        "plain": ((shape["heads"], shape["batch"], shape["rank"]), torch.bfloat16)
    },
    reference=bmm_rope_kv_cache,
    shape_of=family.shape_of,
    check=family.check,
    define=family.define,
    steps=(
        Step(
            "product",
            "gemm",
            family.launch,
            arguments=lambda shape, t: {
                **{"a": t["q_nope"], "b": t["w_k"], "c": t["plain"]},
                **family.factors(shape, t["w_k_scale"]),
            },
        ),
        Step(
            "rows",
            "latent_rows",
            lambda shape, arch: elementwise.launch(family.rows(shape)),
            arguments=family.arguments,
        ),
    ),
    flops=lambda shape: products.flops(family.as_gemm(shape)),
    bytes=lambda shape: quantized.bytes_moved(family.as_gemm(shape)) + 4 * family.rows(shape),
    tensors={
        "q_nope": "bf16[heads, batch, deep]",
        "w_k": "uint8[heads, rank, deep/2] | fp8/bf16[heads, rank, deep]",
        "q_pe": "bf16[batch, heads, dim]",
        "k_nope": "bf16[tokens, key_heads, rank]",
        "k_rope": "bf16[tokens, key_heads, dim]",
        "kv_cache": "bf16/fp8[places, key_heads, rank+dim]",
        "slots positions": "int64[tokens]",
        "cos sin": "table[angles, dim/2]",
        "w_k_scale": "uint8[heads, rank, deep/32] | fp32[1]",
        "q_out": "bf16[batch, heads, rank+dim]",
        "k_pe": "bf16[tokens, key_heads, dim]",
    },
    indexes={
        "slots": Index("places", below=0),
        "positions": Index("angles"),
    },
    notes={
        "kv_cache": "rows [k_nope, rotated k_rope] divided by `k_scale`, written in place",
    },
)
