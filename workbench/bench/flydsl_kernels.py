"""FlyDSL's kernels from its repository's package `kernels`, which its wheel lacks; each function returns a
call.

FlyDSL's own runtime launches them; it finds the emulated device in processes that `exec` starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from kernels.norm.rmsnorm_kernel import build_rmsnorm_module

_DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
"""FlyDSL's names."""


def rmsnorm(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Each row divided by its root mean square, times a weight for each column."""
    x, weight = inputs["x"], inputs["weight"]
    out, columns = torch.empty_like(x), x.shape[-1]
    launch = build_rmsnorm_module(
        columns, _DTYPES[x.dtype], eps=inputs["eps"], weight_dtype_str=_DTYPES[weight.dtype]
    )

    def call() -> torch.Tensor:
        launch(x, weight, out, x.numel() // columns, stream=torch.cuda.current_stream())
        return out

    return call
