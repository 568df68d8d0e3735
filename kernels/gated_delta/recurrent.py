"""The gated delta rule token after token, as decode and short prefills run it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Range
from workbench_kernels.attention.forward import check_starts
from workbench_kernels.families.rowwise import C_TYPES, DTYPES
from workbench_kernels.references.delta_rule import delta_rule

COLUMNS = 16
"""Of a state, that a wave holds."""


def shape_of(**given: Any) -> dict[str, Any]:
    """Shape of a call."""
    q, v, cu_seqlens = given["q"], given["v"], given["cu_seqlens"]
    names = {dtype: name for name, dtype in DTYPES.items()}
    if q.dim() != 4 or v.dim() != 4 or q.dtype not in names:
        raise ShapeError(
            f"delta rule: q is {tuple(q.shape)} {q.dtype}, v {tuple(v.shape)}; expected (B, T, H, K) and "
            f"(B, T, H_v, V) of {', '.join(map(str, names))}"
        )
    if cu_seqlens is not None:
        check_starts("cu_seqlens", cu_seqlens)
    batch, tokens, heads, keys = q.shape
    of_values, values = v.shape[2:]
    sequences = batch if cu_seqlens is None else cu_seqlens.numel() - 1
    if of_values % heads:
        raise ShapeError(f"delta rule: {of_values} heads of v for {heads} of q; expected a multiple")
    if cu_seqlens is not None and batch != 1:
        raise ShapeError(
            f"delta rule: B is {batch} with cu_seqlens; expected 1, sequences behind one another"
        )
    wanted = {
        "k": (q.shape, q.dtype),
        "v": ((batch, tokens, of_values, values), q.dtype),
        "g": ((batch, tokens, of_values), torch.float32),
        "gk": ((batch, tokens, of_values, keys), torch.float32),
        "gv": ((batch, tokens, of_values, values), torch.float32),
        "beta": ((batch, tokens, of_values), torch.float32),
        "initial_state": ((sequences, of_values, keys, values), torch.float32),
    }
    for name, (size, dtype) in wanted.items():
        tensor = given[name]
        if tensor is not None and (tuple(tensor.shape) != tuple(size) or tensor.dtype != dtype):
            raise ShapeError(
                f"delta rule: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected {tuple(size)} {dtype}"
            )
    return {
        **{"batch": batch, "tokens": tokens, "heads": heads, "groups": of_values // heads},
        **{"keys": keys, "values": values, "sequences": sequences, "dtype": names[q.dtype]},
    }


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Decays below one, strengths between zero and one, keys of length one, as layers have them."""
    batch, tokens, heads = shape["batch"], shape["tokens"], shape["heads"]
    of_values, packed = heads * shape["groups"], shape["sequences"] != batch
    dtype = DTYPES[shape["dtype"]]

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(batch, tokens, *dims, generator=generator)

    made: dict[str, Any] = {
        "q": normal(heads, shape["keys"]).to(dtype),
        "k": torch.nn.functional.normalize(normal(heads, shape["keys"]), dim=-1).to(dtype),
        "v": normal(of_values, shape["values"]).to(dtype),
        "g": torch.nn.functional.logsigmoid(normal(of_values) + 3),
        "beta": torch.sigmoid(normal(of_values)),
        "use_qk_l2norm": tokens % 2 == 0,
    }
    if tokens % 3 == 0:
        made["gk"] = torch.nn.functional.logsigmoid(normal(of_values, shape["keys"]) + 4)
        made["gv"] = torch.nn.functional.logsigmoid(normal(of_values, shape["values"]) + 4)
    if packed:
        inner = torch.randint(0, tokens + 1, (shape["sequences"] - 1,), generator=generator).sort()[0]
        made["cu_seqlens"] = torch.tensor([0, *inner.tolist(), tokens], dtype=torch.int32)
    if tokens % 5:
        state = torch.randn(
            shape["sequences"], of_values, shape["keys"], shape["values"], generator=generator
        )
        made["initial_state"] = state / 4
    return made


def outputs(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    of_values = shape["heads"] * shape["groups"]
    return {
        "o": (tensors["v"].shape, tensors["v"].dtype),
        "last_state": ((shape["sequences"], of_values, shape["keys"], shape["values"]), torch.float32),
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses what waves of 16 columns can't do, and several batches of packed sequences."""
    if shape["sequences"] != shape["batch"] and shape["batch"] != 1:
        raise ShapeError(
            f"delta rule: {shape['sequences']} sequences in {shape['batch']} batches; expected 1"
        )


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    given = ("g", "gk", "gv", "beta")
    return {
        **{name: tensors[name].contiguous() for name in ("q", "k", "v")},
        **{name: None if tensors[name] is None else tensors[name].contiguous() for name in given},
        "initial": tensors["initial_state"],
        "last": tensors["last_state"],
        "starts": tensors["cu_seqlens"],
        "o": tensors["o"],
        "scale": shape["keys"] ** -0.5 if tensors["scale"] is None else tensors["scale"],
        "normalize": int(tensors["use_qk_l2norm"]),
    }


def _state(shape: Mapping[str, Any]) -> int:
    return shape["heads"] * shape["groups"] * shape["keys"] * shape["values"]


spec = KernelSpec(
    name="gated_delta/recurrent",
    doc="h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q, token after token; states in and out.",
    source="""#include "families/delta_rule.cuh"
using namespace kittens;
using operation = families::delta_rule<DELTA_T, DELTA_K>;
__global__ __launch_bounds__(operation::threads) void delta_rule(const operation::arguments g) {
    operation::run(g);
}
""",
    entry="delta_rule",
    parameters={
        "batch": Range(1, 65535, default=1, doc="batches"),
        "tokens": Range(1, 1 << 20, default=64, doc="tokens of a batch"),
        "heads": Range(1, 1024, default=4, doc="heads of q and k"),
        "groups": Range(1, 64, default=2, doc="heads of v for each of q and k"),
        "keys": Choice((64, 128, 256), default=128, doc="rows of a state"),
        "values": Range(16, 512, 16, default=128, doc="columns of a state"),
        "sequences": Range(1, 65535, default=1, doc="sequences: as many as batches, or packed into one"),
        "dtype": Choice(tuple(DTYPES), doc="element type in memory"),
    },
    shapes=[
        {"batch": 2, "sequences": 2, "tokens": 7, "heads": 2, "groups": 2, "keys": 64, "values": 32},
        {"tokens": 12, "heads": 1, "groups": 1, "sequences": 3, "keys": 128, "values": 48, "dtype": "fp32"},
        {"batch": 3, "sequences": 3, "tokens": 1, "heads": 2, "keys": 128, "values": 16},
    ],
    inputs=inputs,
    outputs=outputs,
    reference=delta_rule,
    shape_of=shape_of,
    check=check,
    arguments=arguments,
    define=lambda shape, arch: {"DELTA_T": C_TYPES[shape["dtype"]], "DELTA_K": shape["keys"]},
    launch=lambda shape, arch: Launch(
        grid=(shape["values"] // COLUMNS, shape["heads"] * shape["groups"], shape["sequences"]), block=64
    ),
    flops=lambda shape: 7 * shape["batch"] * shape["tokens"] * _state(shape),
    bytes=lambda shape: (
        8 * shape["sequences"] * _state(shape)
        + DTYPES[shape["dtype"]].itemsize
        * shape["batch"]
        * shape["tokens"]
        * shape["heads"]
        * (2 * shape["keys"] + 2 * shape["groups"] * shape["values"])
    ),
)
