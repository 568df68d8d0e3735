"""The best expert of each token by the sigmoid of a projection: a product, then each row's maximum."""

from __future__ import annotations

import torch

from workbench.operators import Choice, KernelSpec, Launch, Range, Step
from workbench.targets import WAVE
from workbench_kernels.families import gemm
from workbench_kernels.families import routing_sigmoid as family
from workbench_kernels.families.routing_topk import SOURCE

spec = KernelSpec(
    name="moe_misc/routing_sigmoid_top1",
    doc="A token's expert and its weight: the largest sigmoid of each row of x w and its column, the first "
    "column if floats are equal. x is tokens x K, w is K x experts, both of bf16; sums in float. Experts "
    "shared by all tokens may follow, with a weight of 1.",
    source=SOURCE,
    parameters={
        "m": Range(1, 1 << 20, default=256, doc="tokens"),
        "n": Range(8, 1024, step=8, default=64, doc="experts"),
        "k": Range(8, 1 << 18, step=8, default=512, doc="columns of x, along which products are summed"),
        "shared": Choice((0, 1), doc="experts shared by all tokens"),
    },
    shapes=[{"m": 100, "n": 72, "k": 136}, {"m": 33, "n": 16, "k": 64, "shared": 1}],
    inputs=family.inputs,
    hard_inputs={
        "logits whose sigmoid rounds to one": lambda shape, generator: family.inputs(shape, generator, 4)
    },
    outputs=lambda shape, tensors: {
        "indices": ((shape["m"], 1 + shape["shared"]), torch.int32),
        "values": ((shape["m"], 1 + shape["shared"]), torch.bfloat16),
    },
    workspace=lambda shape, tensors: {"scores": ((shape["m"], shape["n"]), torch.float32)},
    reference=family.reference,
    shape_of=family.shape_of,
    check=family.check,
    steps=[
        Step(
            "product",
            "gemm",
            lambda shape, arch: gemm.launch(64, 256)(family.product(shape), arch),
            lambda shape, tensors: {"a": tensors["x"], "b": tensors["w"], "c": tensors["scores"]},
            lambda shape, arch: {"GEMM": "double_buffer<bf16, float, layout::nn, 64>"},
            source=gemm.SOURCE,
        ),
        Step(
            "best",
            "best",
            lambda shape, arch: Launch(-(-shape["m"] // 4), 4 * WAVE),
            lambda shape, tensors: {
                **{"x": tensors["scores"], "values": tensors["values"], "indices": tensors["indices"]},
                **{"bits": None, "shared": shape["shared"]},
            },
            lambda shape, arch: {
                **{
                    "TOP_T": "float",
                    "TOP_VALUE": "bf16",
                    "TOP_PER": -(-shape["n"] // WAVE),
                    "TOP_K": 1,
                    "TOP_SCORE": "sigmoids",
                }
            },
        ),
    ],
    flops=lambda shape: 2 * shape["m"] * shape["n"] * shape["k"],
    bytes=lambda shape: 2 * shape["k"] * (shape["m"] + shape["n"]) + 6 * shape["m"] * (1 + shape["shared"]),
    tensors={
        "x": "bf16[m, k]",
        "w": "bf16[k, n]",
        "indices": "int32[m, shared+1]",
        "values": "bf16[m, shared+1]",
    },
    notes={
        "w": "a column for each expert",
        "indices": "each token's expert",
        "values": "its weight",
    },
)
