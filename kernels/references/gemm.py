"""Matrix multiplication in PyTorch, in the precision of its tensors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch

from workbench import dtypes

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}
"""Element-wise functions, by name."""


def finish(
    sums: torch.Tensor,
    alpha: float,
    bias: torch.Tensor | None,
    activation: str,
    gate: torch.Tensor | None,
    residual: torch.Tensor | None,
    beta: float,
) -> torch.Tensor:
    """activation(alpha sums + bias) * gate + beta residual, without the operands that are None."""
    out = alpha * sums
    if bias is not None:
        out = out + bias
    out = ACTIVATIONS[activation](out)
    if gate is not None:
        out = out * gate
    return out if residual is None else out + beta * residual


def gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    layout: str = "nt",
    alpha: float = 1.0,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> torch.Tensor:
    """activation(alpha A B + bias) * gate + beta residual, of a matrix or of each matrix of a batch.

    a is M x K ("n") or K x M ("t"), b is K x N ("n") or N x K ("t"), by the letters of `layout`. Bias has N
    elements; gate and residual are M x N.
    """
    left = a.mT if layout[0] == "t" else a
    right = b.mT if layout[1] == "t" else b
    return finish(left @ right, alpha, bias, activation, gate, residual, beta)


def gated_gemm(a: torch.Tensor, b: torch.Tensor, activation: str = "silu") -> torch.Tensor:
    """(A B0ᵀ) * activation(A B1ᵀ), where B0 and B1 are the first and the second half of b's rows."""
    left, right = b.chunk(2, -2)
    return (a @ left.mT) * ACTIVATIONS[activation](a @ right.mT)


def accumulated_gemm(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """The product added to C: c + A Bᵀ."""
    return c + a.to(c.dtype) @ b.to(c.dtype).mT


def scaled_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
    layout: str = "nt",
) -> torch.Tensor:
    """A B with a scale for each row of A and column of B; layouts and epilogue as in `gemm`.

    PyTorch cannot multiply fp8 matrices on a CPU, so they are first converted to the dtype of the scales.
    """
    wide = scale_a.dtype
    left = a.mT if layout[0] == "t" else a
    right = b.mT if layout[1] == "t" else b
    sums = (left.to(wide) @ right.to(wide)) * scale_a[..., :, None] * scale_b[..., None, :]
    return finish(sums, 1.0, bias, activation, gate, residual, beta)


def grouped_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    layout: str = "nt",
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
    alpha: float = 1.0,
    bias: torch.Tensor | None = None,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
) -> torch.Tensor:
    """Rows offsets[g] to offsets[g + 1] of a times matrix g of b; epilogue as in `gemm`.

    Bias has N elements, or (groups, 1, N). For fp8 and int8, scale_a has a scale for each row of a, and
    scale_b (groups, N) one for each column of each matrix of b.
    """
    wide = a.dtype if scale_a is None else scale_a.dtype
    left, right = a.to(wide), (b.mT if layout[1] == "t" else b).to(wide)
    runs = offsets.tolist()
    groups = [slice(runs[g], runs[g + 1]) for g in range(len(b))]
    sums = torch.cat([left[rows] @ right[g] for g, rows in enumerate(groups)])
    if scale_a is not None and scale_b is not None:
        factors = torch.cat([scale_b[g].expand(len(sums[rows]), -1) for g, rows in enumerate(groups)])
        sums = sums * scale_a[:, None] * factors
    if bias is not None and bias.dim() == 3:
        bias = torch.cat([bias[g].expand(len(sums[rows]), -1) for g, rows in enumerate(groups)])
    return finish(sums, alpha, bias, activation, gate, residual, beta)


def grouped_variable_k(
    a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor, alpha: float = 1.0
) -> torch.Tensor:
    """alpha A_gᵀ B_g, where A_g and B_g are rows offsets[g] to offsets[g + 1] of a and b."""
    groups = [slice(first, end) for first, end in pairwise(offsets.tolist())]
    return torch.stack([alpha * (a[rows].mT @ b[rows]) for rows in groups])


MICROSCALED = {known.format: known for known in dtypes.MICROSCALED}
"""Formats with block scales."""


def numbers_of(stored: torch.Tensor, format: str) -> torch.Tensor:
    """Elements of a microscaled format in float64, from fp8 tensors, or from bytes, lowest bits first."""
    element = MICROSCALED[format]
    bits, exponent, mantissa = element.bits, element.exponent, element.mantissa
    if bits == 8:
        return stored.double()
    if bits == 4:
        codes = torch.stack([stored & 15, stored >> 4], -1)
    else:
        first, second, third = stored.unflatten(-1, (-1, 3)).int().unbind(-1)
        word = first | second << 8 | third << 16
        codes = torch.stack([word >> shift & 63 for shift in (0, 6, 12, 18)], -1)
    codes = codes.flatten(-2).int()
    power = codes >> mantissa & (1 << exponent) - 1
    fraction = (codes & (1 << mantissa) - 1).double()
    # Numbers with the smallest exponent have no leading one.
    size = torch.where(power == 0, 2 * fraction, fraction + (1 << mantissa))
    size = size * torch.exp2(power.double() - (1 << exponent - 1) + 1 - mantissa)
    return torch.where(codes >> bits - 1 == 1, -size, size)


def microscaled_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    format: str = "e2m1",
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
    layout: str = "nt",
) -> torch.Tensor:
    """A B with a power of two for each 32 columns of A and rows of B; in float64.

    Layouts and epilogue are as in `gemm`; a layout may also be "tt".

    Formats are those of the OCP microscaling specification: e4m3 and e5m2 (fp8 tensors), e2m3 and e3m2 (four
    in three bytes of uint8 tensors), e2m1 (two per byte). A scale s in a uint8 tensor is 2^(s - 127); scales
    are M x K / 32 and N x K / 32 in every layout.
    """
    left, right = (
        (numbers.mT if stored != along_k else numbers)
        * torch.exp2(scales.double() - 127).repeat_interleave(32, -1)
        for numbers, scales, stored, along_k in zip(
            (numbers_of(a, format), numbers_of(b, format)), (scale_a, scale_b), layout, "nt", strict=True
        )
    )
    return finish(left @ right.mT, 1.0, bias, activation, gate, residual, beta)


def dequantized(
    stored: torch.Tensor, scale: torch.Tensor | None, wide: torch.dtype, turned: bool = False
) -> torch.Tensor:
    """Rows of elements times their block scales.

    Bytes hold two e2m1 elements. Scales are as in `factors`, or None.
    """
    numbers = numbers_of(stored, "e2m1").to(wide) if stored.dtype == torch.uint8 else stored.to(wide)
    rows, k = numbers.shape[-2:]
    return numbers if scale is None else numbers * factors(scale, rows, k, turned).to(wide)


def factors(scale: torch.Tensor, rows: int, k: int, turned: bool = False) -> torch.Tensor:
    """The scale of each element of `rows` rows and k columns, in the scales' precision.

    Scales are, for rows and columns (R, K): powers of two, uint8 (R, K / 32); or floats (R, K / 128);
    `turned`, floats (R / 128, K / 128), (K / 128, R) or (K / 32, R). Sizes are rounded up.
    """
    if scale.dtype == torch.uint8:
        return torch.exp2(scale.double() - 127).repeat_interleave(32, -1)[..., :k]
    if not turned:
        spread = scale.repeat_interleave(128, -1)
    elif by_columns(scale, rows, k):
        spread = scale.mT.repeat_interleave(128 if scale.shape[-2] == -(-k // 128) else 32, -1)
    else:
        spread = scale.repeat_interleave(128, -1).repeat_interleave(128, -2)
    return spread[..., :rows, :k]


def by_columns(scale: torch.Tensor, rows: int, k: int) -> bool:
    """True if scales are stored by columns, (K / 128, R) or (K / 32, R)."""
    return scale.shape[-1] == rows and scale.shape[-2] in (-(-k // 128), -(-k // 32))


def quantized_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None = None,
    scale_b: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> torch.Tensor:
    """A Bᵀ with scales as in `dequantized`, or of A one per row; epilogue as in `gemm`."""
    floats = [x.dtype for x in (a, scale_a, scale_b) if x is not None and x.dtype.itemsize > 1]
    wide = floats[0] if floats else torch.float64
    of_rows = scale_a if scale_a is not None and scale_a.dim() < a.dim() else None
    of_blocks = scale_a if of_rows is None else None
    sums = dequantized(a, of_blocks, wide) @ dequantized(b, scale_b, wide, turned=True).mT
    if of_rows is not None:
        sums = sums * of_rows[..., None].to(wide)
    return finish(sums, 1.0, bias, activation, gate, residual, beta)


def block_scaled_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
    layout: str = "nt",
) -> torch.Tensor:
    """A B with scales as in `dequantized`; layouts and epilogue as in `gemm`.

    Scales do not depend on the layout, which may also be "tt".
    """
    left, right = a if layout[0] == "n" else a.mT, b if layout[1] == "t" else b.mT
    return quantized_gemm(left, right, scale_a, scale_b, bias, activation, gate, residual, beta)


def quantized_mul_add(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    c_a: torch.Tensor,
    c_b: torch.Tensor,
) -> torch.Tensor:
    """c_a * (A Bᵀ) + c_b, with A and B as in `quantized_gemm`; c_a and c_b are M x N, 1 x N or 1 x 1."""
    return c_a * quantized_gemm(a, b, scale_a, scale_b) + c_b


def two_gemms(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    a16: torch.Tensor,
    b16: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A Bᵀ as in `quantized_gemm`, and A16 B16ᵀ."""
    return quantized_gemm(a, b, scale_a, scale_b), a16 @ b16.mT
