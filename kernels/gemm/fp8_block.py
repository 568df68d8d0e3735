"""C = A Bᵀ of fp8 matrices with a scale for each 128 columns of a row of A and of 128 rows of B."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.spec import KernelSpec, Published, Range
from workbench_kernels.families import gemm as family
from workbench_kernels.references.gemm import block_scaled_gemm

BLOCK = 128


def shape_of(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor,
    scale_b: torch.Tensor,
    bias: torch.Tensor | None = None,
    activation: str = "none",
    gate: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    beta: float = 1.0,
) -> dict[str, Any]:
    """Shape of a call."""
    sizes = family.sizes_of(a, b)
    blocks = -(-sizes["k"] // BLOCK)
    wanted = (*a.shape[:-2], sizes["m"], blocks), (*b.shape[:-2], -(-sizes["n"] // BLOCK), blocks)
    if (tuple(scale_a.shape), tuple(scale_b.shape)) != wanted:
        raise ShapeError(
            f"GEMM: scale_a is {tuple(scale_a.shape)}, scale_b is {tuple(scale_b.shape)}; expected "
            f"{wanted[0]} and {wanted[1]}, one for each {BLOCK} columns of a row of a, and of {BLOCK} rows "
            "of b"
        )
    return {**sizes, **family.finish_of(a, sizes, torch.bfloat16, bias, activation, gate, residual)}


def inputs(shape: Mapping[str, Any], generator: torch.Generator, size: float = 1.0) -> dict[str, Any]:
    """Blocks of differing size, each scaled so that it fills the range of fp8, as quantization does."""
    made: dict[str, Any] = {}
    for name, rows, high in (("a", shape["m"], 1), ("b", shape["n"], BLOCK)):
        groups, blocks = -(-rows // high), -(-shape["k"] // BLOCK)
        wide = torch.randn(*family.batch_of(shape), groups, high, blocks, BLOCK, generator=generator)
        wide *= size * (torch.rand(*wide.shape[:-3], 1, blocks, 1, generator=generator) + 0.5)
        # Of both formats of fp8 the largest number is 240 or more.
        scale = wide.abs().amax((-3, -1), keepdim=True) / 240
        numbers = (wide / scale).flatten(-2).flatten(-3, -2)[..., :rows, : shape["k"]]
        made[name] = numbers.contiguous().to(torch.float8_e4m3fn)
        made[f"scale_{name}"] = scale.squeeze(-1).squeeze(-2)
    return made | family.finish_inputs(shape, generator, torch.bfloat16)


def check(shape: Mapping[str, Any], arch: str) -> None:
    family.within_offsets(shape, 1)


spec = KernelSpec(
    name="gemm/fp8_block",
    doc="A Bᵀ of fp8 (e4m3; OCP on gfx950, fnuz on gfx942) with a float scale for each 128 columns of a row "
    "of A and for each 128 x 128 of B; activation(... + bias) * gate + beta residual of bf16; sums in float.",
    source=family.SOURCE,
    entry="gemm",
    parameters={
        **family.SIZES,
        "k": Range(16, 1 << 20, step=16, default=512, doc="columns of A; a row is whole 16 bytes"),
        **{name: p for name, p in family.FINISH.items() if name != "alpha"},
    },
    shapes=[{"m": 512, "n": 512, "k": 512}, {"m": 130, "n": 301, "k": 336, "batch": 2}],
    inputs=inputs,
    outputs=family.outputs_bf16,
    reference=block_scaled_gemm,
    shape_of=shape_of,
    define=lambda shape, arch: {
        "GEMM": f"block_scaled<blocks_of_128, bf16, {family.epilogue(shape, 'bf16')}>"
    },
    launch=family.launch_steps_of(BLOCK),
    check=check,
    flops=family.flops,
    bytes=lambda shape: (
        family.bytes_moved(shape, 1)
        + 4 * shape["batch"] * -(-shape["k"] // BLOCK) * (shape["m"] + -(-shape["n"] // BLOCK))
    ),
    hard_inputs={"large magnitudes": lambda shape, generator: inputs(shape, generator, 1e15)},
    published=[
        Published(
            {"m": m, "n": n, "k": 3072},
            us,
            "us",
            "MI350X or MI355X",
            "AITER (CK)",
            "ROCm/aiter e4048607, aiter/configs/a8w8_blockscale_tuned_gemm.csv",
        )
        for m, n, us in ((2001, 3072, 41.479), (2201, 8192, 99.940))
    ],
)
