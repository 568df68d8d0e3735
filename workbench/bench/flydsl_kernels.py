"""FlyDSL's kernels from its repository's package `kernels`, which its wheel lacks; each function returns a
call.

FlyDSL's own runtime launches them; it finds the emulated device in processes that `exec` starts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

_DTYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_ELEMENTS = {torch.float32: "Float32", torch.float16: "Float16", torch.bfloat16: "BFloat16"}
"""FlyDSL's names, in functions' arguments and of its types."""


def rmsnorm(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Each row divided by its root mean square, times a weight for each column."""
    from kernels.norm.rmsnorm_kernel import build_rmsnorm_module

    x, weight = inputs["x"], inputs["weight"]
    out, columns = torch.empty_like(x), x.shape[-1]
    launch = build_rmsnorm_module(
        columns, _DTYPES[x.dtype], eps=inputs["eps"], weight_dtype_str=_DTYPES[weight.dtype]
    )

    def call() -> torch.Tensor:
        launch(x, weight, out, x.numel() // columns, stream=torch.cuda.current_stream())
        return out

    return call


def layernorm(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Each row less its mean, over its standard deviation, times a weight plus a bias for each column."""
    import flydsl.compiler as flyc
    from flydsl import expr
    from kernels.norm.layernorm_kernel import build_layernorm_module

    x = inputs["x"]
    out, columns = torch.empty_like(x), x.shape[-1]
    tensors = [x, inputs["weight"], inputs["bias"], out]
    element = getattr(expr, _ELEMENTS[x.dtype])
    rows, stream = x.numel() // columns, torch.cuda.current_stream()
    launch = flyc.compile(
        build_layernorm_module(columns, _DTYPES[x.dtype], eps=inputs["eps"]),
        *(flyc.from_c_void_p(element, tensor.data_ptr()) for tensor in tensors),
        *(rows, stream),
    )

    def call() -> torch.Tensor:
        launch(*(tensor.data_ptr() for tensor in tensors), rows, torch.cuda.current_stream())
        return out

    return call


def softmax(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Of each row."""
    from kernels.norm.softmax_kernel import build_softmax_module

    x = inputs["x"]
    out, columns = torch.empty_like(x), x.shape[-1]
    rows = x.numel() // columns
    launch = build_softmax_module(rows, columns, _DTYPES[x.dtype])

    def call() -> torch.Tensor:
        launch(x, out, rows, stream=torch.cuda.current_stream())
        return out

    return call


def gemm(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """A (m, k) times B (n, k) transposed, by FlyDSL's GEMM for gfx950 with its own settings."""
    from kernels.gemm.gemm_a16w16_gfx950 import gemm_a16w16

    a, b = inputs["a"], inputs["b"]
    out = torch.empty(a.shape[0], b.shape[0], dtype=a.dtype, device=a.device)
    return lambda: gemm_a16w16(a, b.t(), out, layout="nt")


def attention(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Attention of (batch, tokens, heads, dim) by the kernel that FlyDSL chooses."""
    from kernels.attention.flash_attn_interface import flydsl_flash_attn_func

    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    causal = bool(inputs["causal"])
    return lambda: flydsl_flash_attn_func(q, k, v, causal=causal)
