"""References, run in higher precision for the truth and in the kernel's own for PyTorch's error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.operators.tensors import name_results

if TYPE_CHECKING:
    import torch

_WIDE_ELEMENTS = 1 << 27
"""Up to this many input elements the reference computes in float64, above in float32, to bound memory."""


def widened(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with floating-point tensors in float64, or in float32 where they are large."""
    import torch

    total = sum(v.numel() for v in inputs.values() if isinstance(v, torch.Tensor))
    wide = torch.float64 if total <= _WIDE_ELEMENTS else torch.float32
    return {
        k: v.to(wide) if isinstance(v, torch.Tensor) and v.dtype.is_floating_point else v
        for k, v in inputs.items()
    }


def same_precision(
    reference: Callable[..., Any], inputs: Mapping[str, Any], names: Sequence[str], name: str
) -> tuple[dict[str, torch.Tensor], str]:
    """PyTorch's own result in the inputs' precision, or None and the reason why there is none.

    8-bit floats become bfloat16, which holds each of their values exactly: PyTorch does not compute in them.
    """
    import torch

    arguments = {
        k: v.to(torch.bfloat16)
        if isinstance(v, torch.Tensor) and v.dtype.is_floating_point and v.dtype.itemsize == 1
        else v
        for k, v in inputs.items()
    }
    try:
        return name_results(reference(**arguments), names, name), ""
    except (RuntimeError, NotImplementedError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        return {}, f"PyTorch does not compute this in the same precision ({first})"
