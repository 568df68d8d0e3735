"""C = A B of bf16 matrices with a scale for each row of A and column of B."""

import torch

from workbench_kernels.families.gemm_rows import inputs_by, int8_rows, scaled


def whole_numbers(dims: tuple[int, ...], generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """int8 values stored as bf16."""
    codes, scale = int8_rows(dims, generator)
    return codes.bfloat16(), scale


spec = scaled(
    "gemm/bf16_scaled",
    "A B scaled by rows of A and columns of B: gemm/int8 for A and B of bf16, for example integers that "
    "were not converted to int8; sums in float, exact up to 2^24.",
    "bf16",
    inputs=inputs_by(whole_numbers),
    most_k=131056,
    size=2,
    tensors={
        "a": "bf16[..., m, k] | bf16[..., k, m]",
        "b": "bf16[..., n, k] | bf16[..., k, n]",
        "scale_a": "fp32[..., m]",
        "scale_b": "fp32[..., n]",
        "bias": "bf16[n] | bf16[batch, 1, n]",
        "gate residual": "bf16[..., m, n]",
        "c": "bf16[..., m, n]",
    },
)
