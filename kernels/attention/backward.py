"""Gradients of attention, bit-identical from run to run."""

from __future__ import annotations

from workbench.operators import FlashRule, KernelSpec, Tolerance, Variant
from workbench_kernels.families import attention_backward as family
from workbench_kernels.families import attention_forward as forward
from workbench_kernels.references.attention import attention_backward

spec = KernelSpec(
    name="attention/backward",
    doc="Gradients of q, k, v and sinks of attention/forward, bit-identical from run to run; sums in float.",
    source=family.SPLIT_SOURCE,
    steps=family.SPLIT,
    variants={
        "split": Variant(),
        "atomics": Variant(
            family.fits_whole,
            source=family.ATOMICS_SOURCE,
            steps=family.BY_ATOMICS,
            workspace=family.workspace_by_atomics,
            check=family.check_whole,
            nondeterministic="dq is summed by atomics, in no fixed order",
        ),
        "pinned": Variant(
            family.fits_pinned,
            source=family.PINNED_SOURCE,
            steps=family.BY_PINNED,
            workspace=family.workspace_by_atomics,
            check=family.check_pinned,
            nondeterministic="dq is summed by atomics, in no fixed order",
        ),
    },
    workspace=family.workspace,
    parameters=forward.PARAMETERS,
    shapes=[
        {"batch": 1, "queries": 200, "keys": 200, "heads": 4, "heads_kv": 2, "causal": 1},
        {"batch": 2, "queries": 70, "keys": 133, "heads": 2, "heads_kv": 2, "dim": 64, "dim_v": 64},
        {"queries": 40, "keys": 90, "heads": 2, "heads_kv": 1, "dim": 80, "dim_v": 80},
        {"queries": 90, "keys": 40, "heads": 1, "heads_kv": 1, "dim": 192, "dim_v": 128, "causal": 1},
    ],
    inputs=family.inputs,
    hard_inputs={"logits far below zero": family.far_below_zero},
    strided=("q", "k", "v", "out", "dout"),
    outputs=family.outputs,
    reference=attention_backward,
    shape_of=family.shape_of,
    define=forward.define,
    check=forward.check,
    # P and dS are rounded to the operands' type, and sums of many of them may cancel.
    tolerances={
        "dsinks": family.summed_for_sinks,
        "dk": family.summed,
        "dv": family.summed,
        "bfloat16": Tolerance(2e-2, 1e-1),
        "float16": Tolerance(1e-2, 1e-2),
    },
    flash_rule={
        "dsinks": FlashRule("a sum over all queries of O's rounding errors, in no fixed order"),
        **dict.fromkeys(
            ("dq", "dk"),
            FlashRule(
                "a row is the sum of a few others, each multiplied by one rounded dS", 3.0, by_row=True
            ),
        ),
    },
    # Five products in the definition; the kernels compute seven, with atomics five.
    flops=lambda shape: 5 * forward.flops(shape) // 2,
    bytes=lambda shape: 2 * forward.bytes_moved(shape),
    tensors={
        "q": "dtype[batch, queries, heads, dim]",
        "k": "dtype[batch, keys, heads_kv, dim]",
        "v": "dtype[batch, keys, heads_kv, dim_v]",
        "out dout": "dtype[batch, queries, heads, dim_v]",
        "lse dlse": "fp32[batch, heads, queries]",
        "sinks": "fp32/bf16/fp16[heads]",
        "dq": "dtype[batch, queries, heads, dim]",
        "dk": "dtype[batch, keys, heads_kv, dim]",
        "dv": "dtype[batch, keys, heads_kv, dim_v]",
        "dsinks": "fp32[heads] | fp32[0]",
    },
)
