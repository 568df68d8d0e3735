"""Queries and keys concatenated from two parts each: cat((q1, q2), -1), cat((k1, k2), -1)."""

from __future__ import annotations

from workbench.operators import Choice, KernelSpec, Range
from workbench_kernels.families import elementwise, scalars
from workbench_kernels.families import qk_concat as family

spec = KernelSpec(
    name="feed_forward/qk_concat",
    doc="cat((q1, q2), -1) and cat((k1, k2), -1) in one launch, for example the parts of heads with and "
    "without rotary embedding; bf16 or fp16.",
    source=family.SOURCE,
    entry="qk_concat",
    parameters={
        "q_rows": Range(1, 1 << 24, default=64, doc="tokens times heads of queries"),
        "k_rows": Range(1, 1 << 24, default=16, doc="tokens times heads of keys"),
        "left": Range(8, 1024, step=8, default=128, doc="columns of q1 and k1"),
        "right": Range(8, 1024, step=8, default=64, doc="columns of q2 and k2"),
        "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
    },
    shapes=[{"q_rows": 64, "k_rows": 16, "left": 64, "right": 128}],
    inputs=family.inputs,
    outputs=lambda shape, tensors: {
        of: ((*tensors[f"{of}1"].shape[:-1], shape["left"] + shape["right"]), tensors["q1"].dtype)
        for of in "qk"
    },
    reference=family.reference,
    shape_of=family.shape_of,
    define=lambda shape, arch: {"ELEMENT": scalars.C_TYPES[shape["dtype"]]},
    launch=lambda shape, arch: elementwise.launch(family.elements(shape)),
    arguments=lambda shape, tensors: {
        **tensors,
        **{name: shape[name] for name in ("q_rows", "k_rows", "left", "right")},
    },
    bytes=lambda shape: 4 * family.elements(shape),
    tensors={
        "q1": "dtype[q_rows, left]",
        "q2": "dtype[q_rows, right]",
        "k1": "dtype[k_rows, left]",
        "k2": "dtype[k_rows, right]",
        "q": "dtype[q_rows, left+right]",
        "k": "dtype[k_rows, left+right]",
    },
    notes={
        "q": "q1 and q2, concatenated",
        "k": "k1 and k2, concatenated",
    },
)
