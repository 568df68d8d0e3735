"""Split of a gated delta layer's two projections: concatenated q, k and v; z, b and a."""

from __future__ import annotations

from workbench.operators import Choice, KernelSpec, Range
from workbench_kernels.families import elementwise, scalars
from workbench_kernels.families import projections as family

spec = KernelSpec(
    name="gated_delta/qkvzba_split",
    doc="Splits tokens x heads x [q, k, v, z] and [b, a] of a gated delta layer's projections into [all q, "
    "all k, all v], z, b and a; bf16 or fp16.",
    source=family.SOURCE,
    entry="qkvzba_split",
    parameters={
        "batch": Range(1, 1 << 20, default=16, doc="tokens"),
        "heads": Range(1, 256, default=4, doc="heads of q and k"),
        "groups": Range(1, 64, default=2, doc="heads of v per head of q and k"),
        "keys": Range(8, 1024, step=8, default=128, doc="columns of a head of q and k"),
        "values": Range(8, 1024, step=8, default=128, doc="columns of a head of v and z"),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
    },
    shapes=[{"batch": 5, "heads": 2, "groups": 3, "keys": 24, "values": 40}, {"batch": 16, "dtype": "fp16"}],
    inputs=family.inputs,
    outputs=family.outputs,
    reference=family.reference,
    shape_of=family.shape_of,
    define=lambda shape, arch: {"ELEMENT": scalars.C_TYPES[shape["dtype"]]},
    launch=lambda shape, arch: elementwise.launch(shape["batch"] * family.columns(shape)),
    arguments=lambda shape, tensors: {
        **{"qkvz": tensors["mixed_qkvz"], "ba": tensors["mixed_ba"], "qkv": tensors["mixed_qkv"]},
        **{name: tensors[name] for name in ("z", "b", "a")},
        **{name: shape[name] for name in ("batch", "heads", "groups", "keys", "values")},
    },
    bytes=lambda shape: 4 * shape["batch"] * (family.columns(shape) + 2 * shape["heads"] * shape["groups"]),
    tensors={
        "mixed_qkvz": "dtype[batch, heads*(2*keys+2*groups*values)]",
        "mixed_ba": "dtype[batch, 2*heads*groups]",
        "mixed_qkv": "dtype[batch, heads*(2*keys+groups*values)]",
        "z": "dtype[batch, heads*groups, values]",
        "b a": "dtype[batch, heads*groups]",
    },
    notes={
        "a": "b of each head of v",
        "b": "a of each head of v",
    },
)
