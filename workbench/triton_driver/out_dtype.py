"""Matrix products with `out_dtype` under `cuda_means_cpu`: PyTorch has them only for GPUs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from workbench.dtypes import is_float

_PRODUCTS = ("mm", "bmm", "addmm", "baddbmm")


def _product(name: str) -> Callable[..., torch.Tensor]:
    """`torch.<name>(..., out_dtype=)` as on a GPU: multiplies in the inputs' types, and adds and rounds in
    `out_dtype`."""

    def multiplied(*operands: Any, **scales: Any) -> torch.Tensor:
        *tensors, out_dtype = operands
        dtype = tensors[-1].dtype
        if tensors[-2].dtype != dtype:
            raise RuntimeError(
                f"{name}: the matrices are {tensors[-2].dtype} and {dtype}; give them the same dtype"
            )
        if out_dtype != dtype and not (is_float(tensors[-1], 16) and out_dtype == torch.float32):
            raise RuntimeError(
                f"{name}: out_dtype {out_dtype} of {dtype} matrices; give their own dtype, or torch.float32 "
                "where they are torch.float16 or torch.bfloat16"
            )
        function: Callable[..., torch.Tensor] = getattr(torch, name)
        return function(*(tensor.to(out_dtype) for tensor in tensors), **scales)

    return multiplied


@contextlib.contextmanager
def products_with_out_dtype() -> Iterator[None]:
    """In a `with` block, `mm`, `bmm`, `addmm` and `baddbmm` take `out_dtype` on the CPU too.

    PyTorch has the argument since 2.8; before, and if it computes one itself, nothing changes.
    """
    library = torch.library.Library("aten", "IMPL")
    try:
        for name in _PRODUCTS:
            wide = hasattr(getattr(torch.ops.aten, name), "dtype")
            if wide and not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}.dtype", "CPU"):
                library.impl(f"{name}.dtype", _product(name), "CPU")
        yield
    finally:
        library._destroy()
