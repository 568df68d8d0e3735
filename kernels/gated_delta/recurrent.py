"""The gated delta rule, one token at a time, for decode and short prefills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.operators import Index, KernelSpec
from workbench_kernels.families import delta_rule as family
from workbench_kernels.references.delta_rule import delta_rule


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    shape, beta = family.shape_of(arguments), arguments["beta"]
    heads = tuple(arguments["v"].shape[:3])
    keys, values = shape["keys"], shape["values"]
    state = (shape["sequences"], heads[2], keys, values)
    layouts = {
        **{"g": heads, "gk": (*heads, keys), "gv": (*heads, values), "initial_state": state},
        "beta": (*heads, values) if beta is not None and beta.dim() == 4 else heads,
    }
    family.fit(arguments, {name: (dims, torch.float32) for name, dims in layouts.items()})
    return shape


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Inputs as in a layer: decays below one, strengths between zero and one, keys of length one."""
    tensors, tokens = family.inputs(shape, generator), shape["tokens"]
    heads = tuple(tensors["v"].shape[:3])

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(*heads, *dims, generator=generator)

    tensors["g"] = torch.nn.functional.logsigmoid(normal() + 3)
    tensors["beta"] = torch.sigmoid(normal(*((shape["values"],) if tokens % 4 == 3 else ())))
    if tokens % 3 == 0:
        tensors["gk"] = torch.nn.functional.logsigmoid(normal(shape["keys"]) + 4)
        tensors["gv"] = torch.nn.functional.logsigmoid(normal(shape["values"]) + 4)
    if tokens % 5:
        dims = (shape["sequences"], heads[2], shape["keys"], shape["values"])
        tensors["initial_state"] = torch.randn(*dims, generator=generator) / 4
    return tensors


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    of_values = shape["heads"] * shape["groups"]
    return {
        "o": (tensors["v"].shape, tensors["v"].dtype),
        "last_state": ((shape["sequences"], of_values, shape["keys"], shape["values"]), torch.float32),
    }


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    beta = tensors["beta"]
    return {
        **family.arguments(shape, tensors),
        **{
            name: None if tensors[name] is None else tensors[name].contiguous()
            for name in ("g", "gk", "gv", "beta")
        },
        "beta_of_columns": int(beta is not None and beta.dim() == 4),
        "initial": tensors["initial_state"],
        "last": tensors["last_state"],
    }


spec = KernelSpec(
    name="gated_delta/recurrent",
    doc="h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q, one token at a time; takes and "
    "returns states.",
    source=family.source("given_gates"),
    entry="delta_rule",
    parameters=family.PARAMETERS,
    shapes=[
        {"batch": 2, "sequences": 2, "tokens": 7, "heads": 2, "groups": 2, "keys": 64, "values": 32},
        {"tokens": 12, "heads": 1, "groups": 1, "sequences": 3, "keys": 128, "values": 48, "dtype": "fp32"},
        {"batch": 3, "sequences": 3, "tokens": 1, "heads": 2, "keys": 128, "values": 16},
    ],
    inputs=inputs,
    outputs=outputs,
    reference=delta_rule,
    shape_of=shape_of,
    check=family.check,
    arguments=arguments,
    define=family.define,
    launch=family.launch,
    flops=family.flops,
    bytes=family.bytes_moved,
    tensors={
        "q k": "dtype[batch, tokens, heads, keys]",
        "v": "dtype[batch, tokens, heads*groups, values]",
        "g": "fp32[batch, tokens, heads*groups]",
        "gk": "fp32[batch, tokens, heads*groups, keys]",
        "gv": "fp32[batch, tokens, heads*groups, values]",
        "beta": "fp32[batch, tokens, heads*groups] | fp32[batch, tokens, heads*groups, values]",
        "initial_state": "fp32[sequences, heads*groups, keys, values]",
        "cu_seqlens": "int32[sequences+1]",
        "o": "dtype[batch, tokens, heads*groups, values]",
        "last_state": "fp32[sequences, heads*groups, keys, values]",
    },
    indexes={
        "cu_seqlens": Index("tokens+1"),
    },
    notes={
        "beta": "fraction of the error that is corrected; if None, it is 1",
        "g": "logarithms of the state's decays; if None, there is no decay",
    },
)
