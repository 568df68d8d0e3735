"""A layer's decode step of the gated delta rule: gates from its projections, states of a pool, in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Index, KernelSpec, Range
from workbench_kernels.families import delta_rule as family
from workbench_kernels.references.delta_rule import sigmoid_gated_delta_rule


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    shape, states = family.shape_of(arguments), arguments["states"]
    heads, dtype = tuple(arguments["v"].shape[:3]), arguments["v"].dtype
    layouts = {
        **{"a": (heads, dtype), "b": (heads, dtype), "indices": ((shape["sequences"],), torch.int32)},
        **dict.fromkeys(("a_log", "dt_bias"), (heads[2:], torch.float32)),
    }
    family.fit(arguments, layouts)
    if states.dim() != 4:
        raise ShapeError(f"delta rule: states is {tuple(states.shape)}; expected (states, H_v, K, V)")
    pool = (states.shape[0], heads[2], shape["keys"], shape["values"])
    family.fit(arguments, {"states": (pool, torch.float32)})
    return {**shape, "states": states.shape[0]}


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Inputs as in a layer; random states of the pool, and none for the last of three or more sequences."""
    tensors = family.inputs(shape, generator)
    heads, dtype = tuple(tensors["v"].shape[:3]), tensors["v"].dtype
    for name in ("a", "b"):
        tensors[name] = torch.randn(*heads, generator=generator).to(dtype)
    tensors["a_log"] = (15 * torch.rand(heads[2], generator=generator) + 1).log() / 4
    tensors["dt_bias"] = torch.randn(heads[2], generator=generator)
    tensors["states"] = torch.randn(
        shape["states"], heads[2], shape["keys"], shape["values"], generator=generator
    )
    indices = torch.randperm(shape["states"], generator=generator)[: shape["sequences"]].to(torch.int32)
    indices[2:][-1:] = -1
    return {**tensors, "indices": indices}


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses a pool with fewer states than sequences: two would write the same one."""
    family.check(shape, arch)
    if shape["states"] < shape["sequences"]:
        raise ShapeError(
            f"delta rule: {shape['states']} states for {shape['sequences']} sequences; expected at least "
            "one for each"
        )


GATES = ("a_log", "a", "dt_bias", "b", "softplus_beta", "softplus_threshold", "states", "indices")

spec = KernelSpec(
    name="gated_delta/sigmoid_gated_recurrent",
    doc="g = -exp(a_log) softplus(a + dt_bias), beta = sigmoid(b), then the gated delta rule one token at a "
    "time; the states are selected from a pool by index and updated in place.",
    source=family.source("sigmoid_gates"),
    entry="delta_rule",
    parameters={**family.PARAMETERS, "states": Range(1, 1 << 16, default=8, doc="states in the pool")},
    shapes=[
        {"batch": 3, "sequences": 3, "tokens": 3, "heads": 1, "keys": 64, "values": 32, "states": 5},
        {"tokens": 10, "heads": 1, "groups": 1, "sequences": 2, "values": 16, "states": 2, "dtype": "fp32"},
    ],
    inputs=inputs,
    outputs=lambda shape, tensors: {"o": (tensors["v"].shape, tensors["v"].dtype)},
    mutates=("states",),
    reference=sigmoid_gated_delta_rule,
    shape_of=shape_of,
    check=check,
    arguments=lambda shape, tensors: {
        **family.arguments(shape, tensors),
        **{name: tensors[name] for name in GATES},
    },
    define=family.define,
    launch=family.launch,
    flops=family.flops,
    bytes=family.bytes_moved,
    tensors={
        "q k": "dtype[batch, tokens, heads, keys]",
        "v": "dtype[batch, tokens, heads*groups, values]",
        "a_log dt_bias": "fp32[heads*groups]",
        "a b": "dtype[batch, tokens, heads*groups]",
        "states": "fp32[states, heads*groups, keys, values]",
        "indices": "int32[sequences]",
        "cu_seqlens": "int32[sequences+1]",
        "o": "dtype[batch, tokens, heads*groups, values]",
    },
    indexes={
        "indices": Index("states", below=0),
        "cu_seqlens": Index("tokens+1"),
    },
    notes={
        "a": "input of the decays",
        "b": "input of beta",
        "indices": "index of each sequence's state; a sequence with a negative index starts from zeros, and "
        "its last state is not stored",
    },
)
