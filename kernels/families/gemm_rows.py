"""Specs of products with a scale for each row of A and column of B."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Range, Variant
from workbench.targets import LIBRARY_TARGETS, target
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward
from workbench_kernels.families.gemm_schedules import Product
from workbench_kernels.references.gemm import scaled_gemm

SHAPES = (
    {"m": 512, "n": 512, "k": 512},
    {"m": 200, "n": 312, "k": 272},
    {"m": 100, "n": 136, "k": 144, "batch": 2, "bias": 1, "activation": "relu"},
)
"""Shapes that every implementation supports."""


def shape_of(**arguments: Any) -> dict[str, Any]:
    """Shape of a call."""
    a, b, scale_a, scale_b = (arguments[name] for name in ("a", "b", "scale_a", "scale_b"))
    sizes = family.sizes_of(a, b, arguments["layout"])
    rows, cols = (*a.shape[:-2], sizes["m"]), (*b.shape[:-2], sizes["n"])
    if tuple(scale_a.shape) != rows or tuple(scale_b.shape) != cols:
        raise ShapeError(
            f"GEMM: scale_a is {tuple(scale_a.shape)}, scale_b is {tuple(scale_b.shape)}; expected "
            f"{rows} and {cols}, one for each row of a and of b"
        )
    return {**sizes, "layout": arguments["layout"], **family.finish_of(arguments, sizes, torch.bfloat16)}


def fp8_rows(
    dims: tuple[int, ...], generator: torch.Generator, size: float = 1.0
) -> tuple[torch.Tensor, ...]:
    """Rows of different magnitude as fp8, scaled to fill the range as quantization does; and their scales."""
    wide = size * torch.randn(*dims, generator=generator)
    wide *= torch.rand(*dims[:-1], 1, generator=generator) + 0.5
    # The largest number of either fp8 format is 240 or more.
    scale = wide.abs().amax(-1) / 240
    return (wide / scale[..., None]).to(torch.float8_e4m3fn), scale


def int8_rows(
    dims: tuple[int, ...], generator: torch.Generator, largest: bool = False
) -> tuple[torch.Tensor, ...]:
    """Random codes, or only the largest, and scales of different sizes."""
    codes = torch.randint(-128, 128, dims, generator=generator)
    codes = torch.where(codes < 0, -128, 127) if largest else codes
    return codes.to(torch.int8), (torch.rand(dims[:-1], generator=generator) + 0.5) / 128


def inputs_by(rows: Callable[..., tuple[torch.Tensor, ...]], *more: Any) -> Callable[..., dict[str, Any]]:
    """Inputs; `rows(dims, generator, *more)` generates an operand's elements, K last, and their scales."""

    def inputs(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
        tensors: dict[str, Any] = {"layout": shape["layout"]}
        for name, count in (("a", shape["m"]), ("b", shape["n"])):
            dims = (*family.batch_of(shape), count, shape["k"])
            tensors[name], tensors[f"scale_{name}"] = rows(dims, generator, *more)
        # An operand of K x M (K x N) is not stored along K.
        for name in family.across_k(shape["layout"]):
            tensors[name] = tensors[name].mT.contiguous()
        return tensors | family.finish_inputs(shape, generator, torch.bfloat16)

    return inputs


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses rows that are not multiples of 16 bytes, and sizes beyond 32-bit offsets."""
    family.whole_words(shape, {"nt": {}, "nn": {"n": 16}, "tn": {"m": 16, "n": 16}}[shape["layout"]])
    family.within_offsets(shape, 1)


def scaled(
    name: str,
    doc: str,
    element: str,
    *,
    inputs: Callable[..., dict[str, Any]],
    most_k: int = 1 << 20,
    size: int = 1,
    four_waves_on: Sequence[str] = (),
    **more: Any,
) -> KernelSpec:
    """An operator on elements of the C++ type `element`, of `size` bytes.

    Args:
        most_k: largest K for which sums cannot overflow.
        four_waves_on: targets on which 4 waves, not 8, compute many tiles.
        more: further fields of the spec.
    """
    product = Product(
        element=lambda shape: element,
        result=lambda shape: "bf16",
        epilogue=lambda shape: family.epilogue(shape, "bf16", "scale_rows"),
        size=lambda shape: size,
        check=check,
    )
    return KernelSpec(
        name=name,
        doc=doc,
        targets=tuple(
            name for name in LIBRARY_TARGETS if not element.startswith("fp8") or target(name).fp8 is not None
        ),
        **product.plain(),
        parameters={
            **family.SIZES,
            "n": Range(8, 1 << 20, step=8, default=512, doc="columns of C; a row is a multiple of 16 bytes"),
            "k": Range(
                128, most_k, step=16, default=512, doc="columns of A, along which products are summed"
            ),
            "layout": Choice(
                ("nt", "nn", "tn"),
                doc="layouts of A and B: M x K (n) or K x M (t), and K x N (n) or N x K (t)",
            ),
            **{name: p for name, p in family.FINISH.items() if name != "alpha"},
        },
        shapes=[
            *SHAPES,
            {"m": 100, "n": 144, "k": 272, "batch": 2, "layout": "nn", "bias": 1},
            {"m": 144, "n": 144, "k": 272, "layout": "tn", "gate": 1},
        ],
        inputs=inputs,
        outputs=family.outputs_bf16,
        reference=scaled_gemm,
        backward=gemm_backward.scaled(name),
        shape_of=shape_of,
        variants={
            "few_rows": product.few_rows([{"m": 16, "n": 4096, "k": 4096}, {"m": 5, "n": 136, "k": 528}]),
            "split_k": product.split_k([{"m": 256, "n": 256, "k": 8192}, {"m": 130, "n": 136, "k": 1040}]),
            "interleave": product.interleave(SHAPES, on=four_waves_on),
            "ping_pong": product.ping_pong(SHAPES),
            "double_buffer": Variant(),
        },
        bytes=lambda shape: family.bytes_moved(shape, size) + 4 * shape["batch"] * (shape["m"] + shape["n"]),
        **more,
    )
