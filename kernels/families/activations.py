"""Specs of activations, gated activations and their gradients, by the functions of `rowwise.cuh`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from workbench.operators import KernelSpec, Published
from workbench_kernels.families import rowwise

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "relu": torch.relu,
    "tanh": torch.tanh,
}
"""References of the functions of `kittens::families::activation`, by name."""

SLOPES = ("silu", "gelu", "gelu_tanh")
"""Activations with an operator for the gradient."""

OPERATIONS = {"relu": 1, "silu": 6, "tanh": 16, "gelu": 18, "gelu_tanh": 9}
"""Approximate number of floating-point operations per element."""
PER_LANE = 8
"""Largest number of elements of a row per lane: few, so that more waves share slow functions."""


def _gradient(
    function: Callable[[torch.Tensor], torch.Tensor], dout: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    """Gradient of the input of `function`, in float32 at least."""
    wide = torch.promote_types(x.dtype, torch.float32)
    with torch.enable_grad():
        leaf = x.detach().to(wide).requires_grad_()
        (grad,) = torch.autograd.grad(function(leaf), leaf, dout.to(wide))
    return grad.to(x.dtype)


def forward(name: str, *, gated: bool, published: Sequence[Published] = ()) -> KernelSpec:
    """`activations/<name>` of rows, or `activations/<name>_and_mul` of two halves of each row."""
    operator, halves, function = _named(name, gated)

    def reference(x: torch.Tensor) -> torch.Tensor:
        return function(x)

    reference.__doc__ = f"{name}(gate) * up, where a row of x is gate, then up." if gated else f"{name}(x)."
    return KernelSpec(
        name=f"activations/{operator}",
        doc=reference.__doc__,
        reference=reference,
        inputs=lambda shape, generator: {"x": rowwise.random(shape, generator, wide=halves, scale=2)},
        outputs=lambda shape, inputs: {
            "out": ((*inputs["x"].shape[:-1], inputs["x"].shape[-1] // halves), inputs["x"].dtype)
        },
        shape_of=lambda x: rowwise.shape_of(operator, x, halves=halves),
        arguments=lambda shape, tensors: rowwise.flat(tensors, "x", "dout", "out"),
        bytes=lambda shape: (halves + 1) * rowwise.size_of(shape) * shape["rows"] * shape["cols"],
        published=published,
        backward=f"activations/{operator}_backward" if name in SLOPES else None,
        tensors={"x": f"dtype[..., {'2*cols' if gated else 'cols'}]", "out": "dtype[..., cols]"},
        notes={"x": "rows of a gate, then the values it multiplies" if gated else "rows"},
        **_common(name, operator, gated),
    )


def backward(name: str, *, gated: bool) -> KernelSpec:
    """`activations/<name>_backward` or `activations/<name>_and_mul_backward`."""
    operator, halves, function = _named(name, gated)
    operator += "_backward"

    def reference(dout: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return _gradient(function, dout, x)

    reference.__doc__ = f"Gradient of x from the gradient of {name}{'(gate) * up' if gated else '(x)'}."

    def shape_of(dout: torch.Tensor, x: torch.Tensor) -> dict[str, Any]:
        shape = rowwise.shape_of(operator, x, halves=halves)
        rowwise.shape_of(operator, x[..., : shape["cols"]], dout=dout)
        return shape

    return KernelSpec(
        name=f"activations/{operator}",
        doc=reference.__doc__,
        reference=reference,
        inputs=lambda shape, generator: {
            "dout": rowwise.random(shape, generator),
            "x": rowwise.random(shape, generator, wide=halves, scale=2),
        },
        outputs=lambda shape, inputs: {"dx": (inputs["x"].shape, inputs["x"].dtype)},
        shape_of=shape_of,
        arguments=lambda shape, tensors: {
            **rowwise.flat(tensors, "x", "dout"),
            "out": rowwise.flat(tensors, "dx")["dx"],
        },
        bytes=lambda shape: (2 * halves + 1) * rowwise.size_of(shape) * shape["rows"] * shape["cols"],
        tensors={"dout": "dtype[..., cols]", "x dx": f"dtype[..., {'2*cols' if gated else 'cols'}]"},
        **_common(name, operator, gated),
    )


def _named(name: str, gated: bool) -> tuple[str, int, Callable[[torch.Tensor], torch.Tensor]]:
    """Name of the operator, number of parts of a row, and the reference function."""
    function = FUNCTIONS[name]
    if not gated:
        return name, 1, function

    def of_halves(x: torch.Tensor) -> torch.Tensor:
        gate, up = x.chunk(2, -1)
        return function(gate) * up

    return f"{name}_and_mul", 2, of_halves


def _common(name: str, operator: str, gated: bool) -> dict[str, Any]:
    """Fields that forward and backward share."""
    template = "gated" if gated else "activate"
    return {
        "source": rowwise.source(
            operator, f"{template}<ROW_T, ROW_COLS, kittens::families::activation::{name}, {PER_LANE}>"
        ),
        "entry": operator,
        "parameters": rowwise.parameters(1 << 20, 4096),
        "shapes": [{"rows": 33, "cols": 1000, "dtype": "bf16"}, {"rows": 3, "cols": 4097, "dtype": "fp32"}],
        "define": rowwise.define,
        "launch": rowwise.launch(PER_LANE),
        "tunables": rowwise.TUNABLES,
        "flops": lambda shape: (OPERATIONS[name] + gated) * shape["rows"] * shape["cols"],
    }
