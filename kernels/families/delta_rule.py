"""Common parts of the gated delta rule of `delta_rule.cuh`: shapes, inputs, sources, launches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Parameter, Range
from workbench.targets import WAVE
from workbench_kernels.families import elementwise, scalars
from workbench_kernels.families.attention import check_starts

COLUMNS = 16
"""Columns of a state that a wave holds."""

PARAMETERS: dict[str, Parameter] = {
    "batch": Range(1, 65535, default=1, doc="batches"),
    "tokens": Range(1, 1 << 20, default=64, doc="tokens of a batch"),
    "heads": Range(1, 1024, default=4, doc="heads of q and k"),
    "groups": Range(1, 64, default=2, doc="heads of v per head of q and k"),
    "keys": Choice((64, 128, 256), default=128, doc="rows of a state"),
    "values": Range(16, 512, 16, default=128, doc="columns of a state"),
    "sequences": Range(1, 65535, default=1, doc="sequences: one per batch, or packed into one batch"),
    "dtype": Choice(tuple(scalars.FLOATS), doc="element type in memory"),
}


def source(gates: str) -> str:
    """A kernel that runs the rule with gates such as `"given_gates"`."""
    return f"""#include "families/delta_rule.cuh"
using namespace kittens;
using operation = families::delta_rule<DELTA_T, DELTA_K, families::{gates}<DELTA_T>>;
__global__ __launch_bounds__(operation::threads) void delta_rule(const operation::arguments g) {{
    operation::run(g);
}}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {"DELTA_T": scalars.QUALIFIED[shape["dtype"]], "DELTA_K": shape["keys"]}


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """A wave for 16 columns of each state."""
    grid = (shape["values"] // COLUMNS, shape["heads"] * shape["groups"], shape["sequences"])
    return Launch(grid=grid, block=WAVE)


def shape_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Shape of q, k, v and cu_seqlens.

    Raises:
        ShapeError: the tensors do not fit together.
    """
    q, v, cu_seqlens = arguments["q"], arguments["v"], arguments["cu_seqlens"]
    names = {dtype: name for name, dtype in scalars.FLOATS.items()}
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
        raise ShapeError(f"delta rule: B is {batch} with cu_seqlens; expected 1, packed sequences")
    fit(arguments, {"k": (tuple(q.shape), q.dtype), "v": ((batch, tokens, of_values, values), q.dtype)})
    return {
        **{"batch": batch, "tokens": tokens, "heads": heads, "groups": of_values // heads},
        **{"keys": keys, "values": values, "sequences": sequences, "dtype": names[q.dtype]},
    }


def fit(tensors: Mapping[str, Any], layouts: Mapping[str, tuple[tuple[int, ...], torch.dtype]]) -> None:
    """Refuses tensors of other shapes and dtypes; None is accepted."""
    for name, (size, dtype) in layouts.items():
        tensor = tensors[name]
        if tensor is not None:
            elementwise.like("delta rule", name, tensor, size, dtype)


def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """q, k of length one, v, and the starts of packed sequences, which may be empty."""
    batch, tokens, heads = shape["batch"], shape["tokens"], shape["heads"]
    dtype = scalars.FLOATS[shape["dtype"]]

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(batch, tokens, *dims, generator=generator)

    tensors: dict[str, Any] = {
        "q": normal(heads, shape["keys"]).to(dtype),
        "k": torch.nn.functional.normalize(normal(heads, shape["keys"]), dim=-1).to(dtype),
        "v": normal(heads * shape["groups"], shape["values"]).to(dtype),
        "use_qk_l2norm": tokens % 2 == 0,
    }
    if shape["sequences"] != batch:
        inner = torch.randint(0, tokens + 1, (shape["sequences"] - 1,), generator=generator).sort()[0]
        tensors["cu_seqlens"] = torch.tensor([0, *inner.tolist(), tokens], dtype=torch.int32)
    return tensors


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses several batches of packed sequences."""
    if shape["sequences"] != shape["batch"] and shape["batch"] != 1:
        raise ShapeError(
            f"delta rule: {shape['sequences']} sequences in {shape['batch']} batches; expected 1"
        )


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the kernel that do not depend on the gates."""
    return {
        **{name: tensors[name].contiguous() for name in ("q", "k", "v")},
        **{"o": tensors["o"], "starts": tensors["cu_seqlens"]},
        "scale": shape["keys"] ** -0.5 if tensors["scale"] is None else tensors["scale"],
        "normalize": int(tensors["use_qk_l2norm"]),
    }


def state(shape: Mapping[str, Any]) -> int:
    """Elements of a sequence's states."""
    return int(shape["heads"] * shape["groups"] * shape["keys"] * shape["values"])


def flops(shape: Mapping[str, Any]) -> int:
    """A decay, two sums over the state, and an outer product for each token."""
    return int(7 * shape["batch"] * shape["tokens"] * state(shape))


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """States read and written, and the vectors of each token once."""
    vectors = shape["heads"] * (2 * shape["keys"] + 2 * shape["groups"] * shape["values"])
    return int(
        8 * shape["sequences"] * state(shape)
        + scalars.FLOATS[shape["dtype"]].itemsize * shape["batch"] * shape["tokens"] * vectors
    )
