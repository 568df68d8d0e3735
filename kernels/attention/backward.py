"""Gradients of attention, bit-equal from run to run."""

from __future__ import annotations

from workbench.spec import Choice, FlashRule, KernelSpec, Tolerance, Variant
from workbench_kernels.families import attention_backward as family
from workbench_kernels.families import attention_forward as forward
from workbench_kernels.references.attention import attention_backward

spec = KernelSpec(
    name="attention/backward",
    doc="Gradients of attention/forward for q, k, v and sinks, bit-equal from run to run; sums in float.",
    source=family.SOURCE,
    steps=family.SPLIT,
    variants={
        "split": Variant(),
        "atomics": Variant(
            steps=family.BY_ATOMICS,
            workspace=family.workspace_by_atomics,
            nondeterministic="dq is summed by atomics, in any order",
        ),
        "pinned": Variant(
            family.fits_pinned,
            source=family.PINNED,
            steps=family.BY_PINNED,
            workspace=family.workspace_by_atomics,
            check=family.check_pinned,
            nondeterministic="dq is summed by atomics, in any order",
        ),
    },
    workspace=family.workspace,
    parameters={
        **forward.PARAMETERS,
        "dim": Choice((64, 128), default=128, doc="head dimension"),
        "dim_v": Choice((64, 128), default=128, doc="equal to dim"),
    },
    shapes=[
        {"batch": 1, "queries": 200, "keys": 200, "heads": 4, "heads_kv": 2, "causal": 1},
        {"batch": 2, "queries": 70, "keys": 133, "heads": 2, "heads_kv": 2, "dim": 64, "dim_v": 64},
    ],
    inputs=family.inputs,
    hard_inputs={"logits far below zero": family.far_below_zero},
    outputs=family.outputs,
    reference=attention_backward,
    shape_of=family.shape_of,
    define=forward.define,
    check=family.check,
    # P and dS are rounded to the operands' type, and sums of many of them may cancel; the gradient of a sink
    # is a sum over queries of dO · O, of which O has been rounded.
    tolerances={
        "dsinks": Tolerance(2e-2, 1e-1),
        "dk": family.summed,
        "dv": family.summed,
        "bfloat16": Tolerance(2e-2, 1e-1),
        "float16": Tolerance(1e-2, 1e-2),
    },
    flash_rule={
        "dsinks": FlashRule("a sum over all queries of what rounding O leaves, in one order or another")
    },
    # Five products of the definition; the kernels take seven, with atomics five.
    flops=lambda shape: 5 * forward.flops(shape) // 2,
    bytes=lambda shape: 2 * forward.bytes_moved(shape),
)
