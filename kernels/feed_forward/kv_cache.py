"""Writes of new tokens' keys and values to a paged cache, in place."""

from __future__ import annotations

from workbench.operators import Choice, Index, KernelSpec, Range
from workbench_kernels.families import elementwise, scalars
from workbench_kernels.families import kv_cache as family
from workbench_kernels.references.kv_cache import kv_cache

spec = KernelSpec(
    name="feed_forward/kv_cache",
    doc="Writes rows of k and v, divided by k_scale and v_scale, in place to the slots of their tokens in a "
    "paged cache (blocks, heads, block, dim); tokens with a negative slot are skipped. bf16 or fp16; the "
    "cache has the same type or fp8 (e4m3, rounded to nearest, saturating).",
    source=family.SOURCE,
    entry="kv_cache",
    parameters={
        "tokens": Range(1, 1 << 20, default=16, doc="new tokens"),
        "heads": Range(1, 256, default=8, doc="heads of keys and values"),
        "dim": Range(8, 1024, step=8, default=128, doc="columns of a head"),
        "blocks": Range(1, 1 << 20, default=8, doc="blocks of the cache"),
        "block": Range(1, 1024, default=16, doc="tokens of a block"),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type of k and v"),
        "cache": Choice(("same", "fp8"), doc="element type of the cache"),
    },
    shapes=[{"tokens": 16, "heads": 3}, {"tokens": 9, "heads": 2, "dim": 64, "block": 32, "cache": "fp8"}],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {},
    mutates=("key_cache", "value_cache"),
    reference=kv_cache,
    shape_of=family.shape_of,
    define=lambda shape, arch: {
        "ELEMENT": scalars.C_TYPES[shape["dtype"]],
        "CACHE": scalars.C_TYPES["fp8" if shape["cache"] == "fp8" else shape["dtype"]],
    },
    check=family.check,
    launch=lambda shape, arch: elementwise.launch(family.elements(shape)),
    arguments=lambda shape, tensors: {
        **tensors,
        "slots": tensors["slots"].int(),
        **{name: shape[name] for name in ("tokens", "heads", "dim", "block")},
    },
    flops=lambda shape: 2 * family.elements(shape),
    bytes=lambda shape: 2 * family.elements(shape) * (3 if shape["cache"] == "fp8" else 4),
    tensors={
        "k v": "dtype[tokens, heads, 1, dim]",
        "key_cache value_cache": "dtype/fp8[blocks, heads, block, dim]",
        "slots": "int32/int64[tokens]",
    },
    notes={
        "slots": "slot of each token in the cache; a negative slot skips the token; int64 slots are copied "
        "to int32",
    },
    indexes={
        "slots": Index("blocks*block", below=0),
    },
)
