"""Feed-forward layers of bf16: the products of both of their launches, and a spec of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import Choice, KernelSpec, Launch, Range, Step
from workbench_kernels.families import gemm as family
from workbench_kernels.references.gemm import ACTIVATIONS

Shape = Mapping[str, Any]


def side(rows: int) -> int:
    """Rows of C that a work-group computes."""
    return 64 if rows <= 64 else 128


def layer(
    name: str, doc: str, reference: Callable[..., torch.Tensor], gated: bool, activations: tuple[str, ...]
) -> KernelSpec:
    """act(X W1ᵀ) W2 in two launches, or with a gate, which has the second half of W1's rows.

    Args:
        reference: takes x (M, K), w1 (N or 2 N, K), w2 (N, K) and activation.
    """
    halves = 2 if gated else 1

    def shape_of(**given: Any) -> dict[str, Any]:
        x, w1, w2 = given["x"], given["w1"], given["w2"]
        m, k = x.shape if x.dim() == 2 else (0, 0)
        n = w2.shape[0] if w2.dim() == 2 else 0
        if x.dim() != 2 or tuple(w1.shape) != (halves * n, k) or tuple(w2.shape) != (n, k):
            raise ShapeError(
                f"{name}: x is {tuple(x.shape)}, w1 is {tuple(w1.shape)}, w2 is {tuple(w2.shape)}; expected "
                f"(M, K), ({'2 N' if gated else 'N'}, K) and (N, K)"
            )
        for what, tensor in (("w1", w1), ("w2", w2)):
            if tensor.dtype != x.dtype:
                raise ShapeError(f"{name}: x is {x.dtype}, {what} is {tensor.dtype}; expected the same")
        if given["activation"] not in activations:
            raise ShapeError(
                f"{name}: activation is {given['activation']!r}; expected one of {', '.join(activations)}"
            )
        return {"m": m, "n": n, "k": k, "dtype": family.dtype_of(x), "activation": given["activation"]}

    def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
        dtype = family.DTYPES[shape["dtype"]]
        m, n, k = shape["m"], shape["n"], shape["k"]

        def normal(rows: int, size: float) -> torch.Tensor:
            return (size * torch.randn(rows, k, generator=generator)).to(dtype)

        x, w1, w2 = normal(m, 1.0), normal(halves * n, k**-0.5), normal(n, n**-0.5)
        return {"x": x, "w1": w1, "w2": w2, "activation": shape["activation"]}

    def first(shape: Shape, arch: str) -> Launch:
        high = side(shape["m"])
        return family.launch(high, 256, high // halves)({**shape, "batch": 1}, arch)

    def second(shape: Shape, arch: str) -> Launch:
        return family.launch(side(shape["m"]), 256)({**shape, "n": shape["k"], "batch": 1}, arch)

    def operation(shape: Shape, layout: str, epilogue: str) -> dict[str, object]:
        element = family.C_TYPES[shape["dtype"]]
        return {
            "GEMM": f"double_buffer<{element}, {element}, layout::{layout}, {side(shape['m'])}, {epilogue}>"
        }

    def finish(shape: Shape) -> str:
        function = f"base_ops::{shape['activation']}"
        if gated:
            return f"gated<{function}>"
        return "epilogue<>" if shape["activation"] == "none" else f"epilogue<activate<{function}>>"

    return KernelSpec(
        name=name,
        doc=doc,
        source=family.SOURCE,
        parameters={
            "m": Range(1, 1 << 20, default=256, doc="rows of X: tokens"),
            "n": Range(8, 1 << 20, step=8, default=512, doc="hidden columns"),
            "k": Range(8, 1 << 20, step=8, default=256, doc="columns of X and of the result"),
            "dtype": Choice(tuple(family.DTYPES), doc="element type"),
            "activation": Choice(activations, doc="function of the hidden columns, or of their gate"),
        },
        shapes=[{"m": 130, "n": 264, "k": 136}, {"m": 33, "n": 72, "k": 200, "dtype": "fp16"}],
        inputs=inputs,
        outputs=lambda shape, tensors: {"out": ((shape["m"], shape["k"]), tensors["x"].dtype)},
        workspace=lambda shape, tensors: {"hidden": ((shape["m"], shape["n"]), tensors["x"].dtype)},
        reference=reference,
        shape_of=shape_of,
        steps=(
            Step(
                "hidden",
                "gemm",
                first,
                arguments=lambda shape, t: {"a": t["x"], "b": t["w1"], "c": t["hidden"]},
                define=lambda shape, arch: operation(shape, "nt", finish(shape)),
            ),
            Step(
                "out",
                "gemm",
                second,
                arguments=lambda shape, t: {"a": t["hidden"], "b": t["w2"], "c": t["out"]},
                define=lambda shape, arch: operation(shape, "nn", "epilogue<>"),
            ),
        ),
        # Hidden columns are rounded in between, by which sums differ from those of wide ones.
        tolerances={"float16": (1e-2, 5e-3), "bfloat16": (1.6e-2, 4e-2)},
        flops=lambda shape: 2 * (1 + halves) * shape["m"] * shape["n"] * shape["k"],
        bytes=lambda shape: 2 * shape["k"] * (2 * shape["m"] + (1 + halves) * shape["n"]),
    )


GATES = ("silu", *(name for name in ACTIVATIONS if name not in ("none", "silu")))
