"""Feed-forward layers: the products of their two launches, and a spec of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range, Step
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward, scalars
from workbench_kernels.references.gemm import ACTIVATIONS

Shape = Mapping[str, Any]


def side(rows: int) -> int:
    """Rows of C that a work-group computes."""
    return 64 if rows <= 64 else 128


@dataclass(frozen=True)
class Layer:
    """act(X W1ᵀ) W2, optionally with a gate, which is the second half of W1's rows: sizes and products.

    Attributes:
        name: of the operator.
        gated: whether there is a gate.
        activations: supported functions.
    """

    name: str
    gated: bool
    activations: tuple[str, ...]

    @property
    def halves(self) -> int:
        """Rows of W1 for each hidden column."""
        return 2 if self.gated else 1

    def shape_of(self, **arguments: Any) -> dict[str, Any]:
        """Shape of a call."""
        x, w1, w2 = arguments["x"], arguments["w1"], arguments["w2"]
        m, k = x.shape if x.dim() == 2 else (0, 0)
        n = w2.shape[0] if w2.dim() == 2 else 0
        if x.dim() != 2 or tuple(w1.shape) != (self.halves * n, k) or tuple(w2.shape) != (n, k):
            raise ShapeError(
                f"{self.name}: x is {tuple(x.shape)}, w1 is {tuple(w1.shape)}, w2 is {tuple(w2.shape)}; "
                f"expected (M, K), ({'2 N' if self.gated else 'N'}, K) and (N, K)"
            )
        for name, tensor in (("w1", w1), ("w2", w2)):
            if tensor.dtype != x.dtype:
                raise ShapeError(f"{self.name}: x is {x.dtype}, {name} is {tensor.dtype}; expected the same")
        if arguments["activation"] not in self.activations:
            raise ShapeError(
                f"{self.name}: activation is {arguments['activation']!r}; expected one of "
                f"{', '.join(self.activations)}"
            )
        return {"m": m, "n": n, "k": k, "dtype": family.dtype_of(x), "activation": arguments["activation"]}

    def inputs(self, shape: Shape, generator: torch.Generator) -> dict[str, Any]:
        """Normally distributed matrices, with weights such that both products are of the order of one."""
        dtype = scalars.HALVES[shape["dtype"]]
        m, n, k = shape["m"], shape["n"], shape["k"]

        def normal(rows: int, size: float) -> torch.Tensor:
            return (size * torch.randn(rows, k, generator=generator)).to(dtype)

        x, w1, w2 = normal(m, 1.0), normal(self.halves * n, k**-0.5), normal(n, n**-0.5)
        return {"x": x, "w1": w1, "w2": w2, "activation": shape["activation"]}

    def finish(self, shape: Shape) -> str:
        """The C++ type of the first product's epilogue."""
        function = f"base_ops::{shape['activation']}"
        if self.gated:
            return f"gated<{function}>"
        return "epilogue<>" if shape["activation"] == "none" else f"epilogue<activate<{function}>>"

    def steps(self) -> tuple[Step, Step]:
        """The launches: hidden columns, then the result."""

        def first(shape: Shape, arch: str) -> Launch:
            high = side(shape["m"])
            return family.launch(high, 256, high // self.halves)({**shape, "batch": 1}, arch)

        def second(shape: Shape, arch: str) -> Launch:
            return family.launch(side(shape["m"]), 256)({**shape, "n": shape["k"], "batch": 1}, arch)

        return (
            Step(
                "hidden",
                "gemm",
                first,
                arguments=lambda shape, t: {"a": t["x"], "b": t["w1"], "c": t["hidden"]},
                define=lambda shape, arch: operation(shape, "nt", self.finish(shape)),
            ),
            Step(
                "out",
                "gemm",
                second,
                arguments=lambda shape, t: {"a": t["hidden"], "b": t["w2"], "c": t["out"]},
                define=lambda shape, arch: operation(shape, "nn", "epilogue<>"),
            ),
        )


def operation(shape: Shape, layout: str, epilogue: str) -> dict[str, object]:
    """The C++ type of the plain loop."""
    element = scalars.C_TYPES[shape["dtype"]]
    return {"GEMM": f"double_buffer<{element}, {element}, layout::{layout}, {side(shape['m'])}, {epilogue}>"}


def layer(
    name: str, doc: str, reference: Callable[..., torch.Tensor], gated: bool, activations: tuple[str, ...]
) -> KernelSpec:
    """An operator of such a layer, in two launches.

    Args:
        reference: takes x (M, K), w1 (N or 2 N, K), w2 (N, K) and activation.
    """
    feed_forward = Layer(name, gated, activations)
    return KernelSpec(
        name=name,
        doc=doc,
        source=family.SOURCE,
        parameters={
            "m": Range(1, 1 << 20, default=256, doc="rows of X: tokens"),
            "n": Range(8, 1 << 20, step=8, default=512, doc="hidden columns"),
            "k": Range(8, 1 << 20, step=8, default=256, doc="columns of X and of the result"),
            "dtype": Choice(tuple(scalars.HALVES), doc="element type"),
            "activation": Choice(activations, doc="activation of the hidden columns, or of their gate"),
        },
        shapes=[{"m": 130, "n": 264, "k": 136}, {"m": 33, "n": 72, "k": 200, "dtype": "fp16"}],
        inputs=feed_forward.inputs,
        outputs=lambda shape, tensors: {"out": ((shape["m"], shape["k"]), tensors["x"].dtype)},
        workspace=lambda shape, tensors: {"hidden": ((shape["m"], shape["n"]), tensors["x"].dtype)},
        reference=reference,
        backward=gemm_backward.LAYER,
        shape_of=feed_forward.shape_of,
        steps=feed_forward.steps(),
        tensors={"x": "dtype[m, k]", "w1": f"dtype[{'2*n' if gated else 'n'}, k]", "w2": "dtype[n, k]"}
        | {"out": "dtype[m, k]"},
        notes={"w1": "the gate's rows, then the others'"} if gated else {},
        # Hidden columns are rounded, so sums differ from those of float32 columns.
        tolerances={"float16": (1e-2, 5e-3), "bfloat16": (1.6e-2, 4e-2)},
        flops=lambda shape: 2 * (1 + feed_forward.halves) * shape["m"] * shape["n"] * shape["k"],
        bytes=lambda shape: 2 * shape["k"] * (2 * shape["m"] + (1 + feed_forward.halves) * shape["n"]),
    )


GATES = ("silu", *(name for name in ACTIVATIONS if name not in ("none", "silu")))
