"""The best experts of each token, with their scores and a bit matrix."""

from __future__ import annotations

import torch

from workbench.operators import Choice, KernelSpec, Launch, Range
from workbench.targets import WAVE
from workbench_kernels.families import routing_topk as family
from workbench_kernels.references.routing import SCORES, top_k

spec = KernelSpec(
    name="moe_routing/topk",
    doc="The k largest elements of each row in descending order, the first of equal ones first; their "
    "scores (the elements, their softmax over the k selected, or the sigmoid of each) in the dtype of x, "
    "and their columns; and a bitmap of the selected columns, words of 32 columns by rows. Experts shared "
    "by all rows may follow, with a score of 1.",
    source=family.SOURCE,
    entry="best",
    launch=lambda shape, arch: Launch(-(-shape["rows"] // 4), 4 * WAVE),
    define=family.define,
    check=family.check,
    parameters={
        "rows": Range(1, 1 << 22, default=4096, doc="tokens"),
        "experts": Range(1, 1024, default=256, doc="columns"),
        "k": Range(1, 32, default=8, doc="columns that are selected"),
        "shared": Range(0, 8, default=0, doc="experts shared by all rows"),
        "score": Choice(
            tuple(SCORES),
            doc="scores: the elements, their softmax over the k selected, or the sigmoid of each",
        ),
        "dtype": Choice(tuple(family.TYPES), doc="element type of x"),
    },
    shapes=[
        {"rows": 333, "experts": 256, "k": 8, "score": "softmax"},
        {"rows": 50, "experts": 61, "k": 1, "score": "sigmoid", "shared": 1, "dtype": "fp32"},
    ],
    inputs=lambda shape, generator: {
        # In bf16 many elements are equal.
        "x": torch.randn(shape["rows"], shape["experts"], generator=generator).to(
            family.TYPES[shape["dtype"]]
        ),
        **{name: shape[name] for name in ("k", "score", "shared")},
    },
    outputs=lambda shape, tensors: {
        "values": ((shape["rows"], shape["k"] + shape["shared"]), tensors["x"].dtype),
        "indices": ((shape["rows"], shape["k"] + shape["shared"]), torch.int32),
        "bits": ((-(-shape["experts"] // 32), shape["rows"]), torch.int32),
    },
    reference=top_k,
    backward="moe_routing/topk_backward",
    shape_of=family.shape_of,
    arguments=lambda shape, tensors: {
        **{name: tensors[name] for name in ("x", "values", "indices", "bits")},
        "shared": shape["shared"],
    },
    bytes=lambda shape: (
        shape["rows"]
        * (family.TYPES[shape["dtype"]].itemsize * shape["experts"] + 6 * shape["k"] + shape["experts"] // 8)
    ),
    hard_inputs={
        "all equal": lambda shape, generator: {
            "x": torch.full((shape["rows"], shape["experts"]), -2.0, dtype=family.TYPES[shape["dtype"]]),
            **{name: shape[name] for name in ("k", "score", "shared")},
        }
    },
    tensors={
        "x": "dtype[rows, experts]",
        "values": "dtype[rows, k+shared]",
        "indices": "int32[rows, k+shared]",
        "bits": "int32[ceil(experts/32), rows]",
    },
    notes={
        "x": "logits of experts",
        "values": "scores of the selected experts, in descending order of logits, and 1 for shared experts",
        "indices": "the selected experts",
        "bits": "a bit for each expert and token, set where the expert is selected",
    },
)
