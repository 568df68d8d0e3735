"""Cases of quantization."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty
from torch.nn import functional

import workbench.operators  # noqa: F401  (with it the kernel library is a package)
from workbench_kernels.references import quantization as reference


def per_token(draw: Draw) -> Case:
    x = 3 * draw.normal(5, 200)
    out, scales = reference.quantize(x, "int8", 0)
    return Case(
        {"x": x, "out": empty(5, 200, dtype=torch.int8), "scales": empty(5, 1, dtype=torch.float32)},
        {"out": out, "scales": scales},
        exact=frozenset({"out", "scales"}),
    )


def whole(draw: Draw, rows: int, cols: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """x, w, and the norm of x with w."""
    x, w = draw.normal(rows, cols), draw.normal(cols)
    return x, w, functional.rms_norm(x.double(), (cols,), w.double(), 1e-5)


def fp8(draw: Draw) -> Case:
    """Bytes of fp8 are ordered: if the norm lies between two numbers, either is accepted."""
    x, w, normed = whole(draw, 5, 384)
    format = str(draw.fp8).removeprefix("torch.float8_")
    numbers, scales = reference.quantize(normed, format, 128)
    out = torch.full((5, 384), 0x7F, dtype=torch.uint8)
    return Case(
        {"x": x, "w": w, "out": out, "scales": empty(5, 3, dtype=torch.float32), "eps": 1e-5},
        {"out": numbers.view(torch.uint8).double(), "scales": scales.double()},
        rtol=1e-5,
        atol=1.0,
    )


def mxfp4(draw: Draw) -> Case:
    x, w, normed = whole(draw, 3, 96)
    out, scales = reference.quantize_mx(normed, "e2m1", "even")
    return Case(
        {
            **{"x": x, "w": w, "eps": 1e-5, "out": empty(3, 48, dtype=torch.uint8)},
            "scales": empty(3, 3, dtype=torch.uint8),
        },
        {"out": out, "scales": scales},
        exact=frozenset({"out", "scales"}),
    )


CASES: dict[str, Make] = {
    "quant_tk.per_token_quant_fwd": per_token,
    "fused_fp8_quant_tk.fused_rmsnorm_fp8_quant_fwd": fp8,
    "fused_mxfp4_quant_tk.fused_rmsnorm_mxfp4_quant_fwd": mxfp4,
}
