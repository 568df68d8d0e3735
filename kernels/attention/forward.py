"""Attention: softmax(scale q kᵀ) v and the logarithms of the softmax's denominators."""

from __future__ import annotations

from workbench.operators import KernelSpec, Published
from workbench.targets import LIBRARY_TARGETS
from workbench_kernels.families import attention_forward as family
from workbench_kernels.references.attention import attention

BENCHMARK = "HipKittens repository, analysis/attn/fwd/benchmark/mi355x_*_fwd.json"

PLOT = "HipKittens repository, analysis/attn/fwd/plot.py and plot_d64.py, which contain the figures"

RATES = {
    # dim, heads, heads_kv, causal: TFLOP/s of HipKittens, AITER, CK, Triton and PyTorch's SDPA.
    (128, 16, 16, 0): (1282.9, 1259.3, 893.9, 973.6, 821.8),
    (128, 16, 16, 1): (1146.4, 1173.2, 843.5, 653.1, 630.4),
    (128, 64, 8, 0): (1297.8, 1281.3, 895.9, 993.5, 841.1),
    (128, 64, 8, 1): (1215.5, 1204.7, 865.6, 593.6, 705.2),
    (64, 16, 16, 0): (954.4, 746.9, 762.5, 853.6, 686.7),
    (64, 16, 16, 1): (873.7, 492.6, 755.8, 609.8, 609.3),
    (64, 64, 8, 0): (960.9, 801.9, 805.4, 865.1, 686.7),
    (64, 64, 8, 1): (890.3, 530.7, 783.5, 655.8, 609.3),
}
"""Published for 16 sequences of 8192 on an MI355X; causal rates count half of the pairs."""


def published() -> list[Published]:
    figures = []
    for (dim, heads, heads_kv, causal), rates in RATES.items():
        shape = {"batch": 16, "queries": 8192, "keys": 8192, "heads": heads, "heads_kv": heads_kv}
        shape |= {"dim": dim, "dim_v": dim, "causal": causal}
        names = ("HipKittens", "AITER", "CK", "Triton", "PyTorch SDPA")
        for who, rate in zip(names, rates, strict=True):
            source = BENCHMARK if who in ("HipKittens", "AITER") else PLOT
            figures.append(Published(shape, rate, "TFLOP/s", "MI355X", who, source))
    return figures


spec = KernelSpec(
    name="attention/forward",
    doc="Attention: MHA, GQA or MQA, causal or not, sliding window, soft cap and sinks; sums in float.",
    source=family.SOURCE,
    entry="attention_forward",
    parameters=family.PARAMETERS,
    shapes=[
        {"batch": 1, "queries": 256, "keys": 256, "heads": 4, "heads_kv": 2, "causal": 1},
        {"batch": 2, "queries": 300, "keys": 333, "heads": 2, "heads_kv": 2},
        {
            "batch": 1,
            "queries": 200,
            "keys": 130,
            "heads": 4,
            "heads_kv": 1,
            "causal": 1,
            "dim": 64,
            "dim_v": 64,
        },
    ],
    inputs=family.inputs,
    outputs=family.outputs,
    reference=attention,
    backward="attention/backward",
    shape_of=family.shape_of,
    strided=("q", "k", "v"),
    define=family.define,
    launch=family.launch,
    arguments=family.arguments,
    check=family.check,
    flops=family.flops,
    bytes=family.bytes_moved,
    variants=family.VARIANTS,
    hard_inputs={"each query sees one key: logits of 1e6": family.large(1e3)},
    published=published(),
    tensors={
        "q": "dtype[batch, queries, heads, dim]",
        "k": "dtype[batch, keys, heads_kv, dim]",
        "v": "dtype[batch, keys, heads_kv, dim_v]",
        "sinks": "fp32/bf16/fp16[heads]",
        "out": "dtype[batch, queries, heads, dim_v]",
        "lse": "fp32[batch, heads, queries]",
    },
    targets=LIBRARY_TARGETS,
)
