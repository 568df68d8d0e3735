"""Specs of quantization of rows: sources, blocks of scales, and formats."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, FlashRule, KernelSpec, Launch, Tolerance
from workbench.targets import TARGETS, target
from workbench_kernels.families import rowwise
from workbench_kernels.references.quantization import FORMATS, FP8

OWN_FP8 = ", ".join(
    f"{each.fp8.e4m3.name}, {each.fp8.e5m2.name} ({each.name})" for each in TARGETS if each.fp8 is not None
)
BYTES = ("int8", *FP8)
MICROSCALED = ("e2m1", "e2m3", "e3m2", *FP8)
"""Formats with float scales, and with powers of two."""
ACTIVATIONS = ("silu", "gelu", "gelu_tanh", "relu")
"""Activations of the gate, for inputs with a gate."""


@dataclass(frozen=True)
class Scales:
    """Kinds of scales that an operator supports.

    Attributes:
        formats: formats of the result.
        blocks: columns that share a scale, the default first; 0 for a whole row.
        power: whether scales are powers of two, bytes s for 2^(s - 127), rather than floats.
        roundings: rounding modes of the powers of two, the default first.
    """

    formats: tuple[str, ...]
    blocks: tuple[int, ...]
    power: bool = False
    roundings: tuple[str, ...] = ()


ROWS = Scales(BYTES, (0,))
BLOCKS = Scales(BYTES, (128, 64, 32))
POWERS = Scales(MICROSCALED, (32,), power=True, roundings=("even", "down", "up"))

NEAR_THE_MIDDLE = Tolerance(0, 0, share=2e-3)
"""Tolerance for computed sources: a value halfway between two numbers may be rounded either way."""


def width(cols: int, format: str) -> int:
    """Elements in memory of a row of `cols` values."""
    return cols * FORMATS[format].bits // 8


def stored(format: str) -> torch.dtype:
    return FORMATS[format].dtype


def check(scales: Scales) -> Callable[[Mapping[str, Any], str], None]:
    """Refuses fp8 encodings that the target lacks, and blocks that do not fit rows."""

    def check_shape(shape: Mapping[str, Any], arch: str) -> None:
        format, cols = shape["format"], shape["cols"]
        if not target(arch).has(FORMATS[format]):
            names = [name for name in FP8 if target(arch).has(FORMATS[name])]
            raise ShapeError(f"quantization: {arch} has no {format}; its fp8 is {', '.join(names) or 'none'}")
        if shape["block"] > cols:
            raise ShapeError(
                f"quantization: blocks of {shape['block']} in rows of {cols} columns; expected "
                "blocks no wider than rows"
            )
        if scales.power and cols % 32:
            raise ShapeError(f"quantization: {cols} columns; expected a multiple of 32, for whole blocks")

    return check_shape


def shape_of(
    name: str, x: torch.Tensor, format: str, scales: Scales, block: int = 0, rounding: str = "", **more: Any
) -> dict[str, Any]:
    """Shape of a call; `more` as in `rowwise.shape_of`, or further parameters."""
    if format not in scales.formats:
        raise ShapeError(f"{name}: format is {format!r}; expected one of {', '.join(scales.formats)}")
    if block not in scales.blocks and not scales.power:
        raise ShapeError(f"{name}: block is {block}; expected one of {', '.join(map(str, scales.blocks))}")
    if scales.power and rounding not in scales.roundings:
        raise ShapeError(f"{name}: rounding is {rounding!r}; expected one of {', '.join(scales.roundings)}")
    shape = rowwise.shape_of(name, x, **more)
    extra = {"rounding": rounding} if scales.power else {}
    return {**shape, "format": format, "block": block or scales.blocks[0], **extra}


def parameters(scales: Scales, **more: Choice) -> dict[str, Any]:
    """Shape parameters of the family's operators."""
    rounding = (
        {"rounding": Choice(scales.roundings, doc="rounding of the powers of two")} if scales.power else {}
    )
    return {
        **rowwise.parameters(rowwise.HELD, 4096),
        "format": Choice(
            scales.formats, doc=f"format of the result; fp8 in the target's encoding: {OWN_FP8}"
        ),
        "block": Choice(
            scales.blocks, doc="columns that share a scale" + (", 0: a row" if 0 in scales.blocks else "")
        ),
        **rounding,
        **more,
    }


def define(source: str, scales: Scales) -> Callable[[Mapping[str, Any], str], dict[str, object]]:
    """The macros for a source of `quantize.cuh`, such as `rms_norm`; it may contain `{activation}`."""

    def macros(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
        return {
            **rowwise.define(shape, arch),
            "QUANTIZE_SOURCE": source.format(**shape),
            "QUANTIZE_FORMAT": FORMATS[shape["format"]].cpp,
            "QUANTIZE_SCALE": "fp8e8m0" if scales.power else "float",
            "QUANTIZE_BLOCK": shape["block"],
            "QUANTIZE_ROUNDING": shape.get("rounding", "even"),
        }

    return macros


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    return rowwise.launch(32, 32 if shape["format"] in ("e2m3", "e3m2") else 8)(shape, arch)


def scale_dims(shape: Mapping[str, Any]) -> tuple[int, int]:
    return shape["rows"], -(-shape["cols"] // (shape["block"] or shape["cols"]))


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    operands = tensors if shape.get("residual") else {**tensors, "residual_out": None}
    return {
        **rowwise.flat(operands, "x", "residual", "residual_out", "unquantized", "out", "scales"),
        **{"weight": tensors.get("weight"), "eps": tensors.get("eps", 0.0)},
    }


def outputs(scales: Scales) -> Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]]:
    """Sizes and types of an operator's outputs for these scales, by name."""

    def sizes(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
        x = tensors["x"]
        dims = (*x.shape[:-1], width(shape["cols"], shape["format"]))
        kind = torch.uint8 if scales.power else torch.float32
        layouts = {
            "out": (dims, stored(shape["format"])),
            "scales": ((*x.shape[:-1], scale_dims(shape)[1]), kind),
        }
        if "residual" in shape:
            # A PyTorch operator always returns the same number of tensors.
            layouts["residual_out"] = (x.shape if shape["residual"] else (0,), x.dtype)
        return layouts

    return sizes


def _source(name: str) -> str:
    """C++ of an operator, whose macros `define` sets."""
    return f"""#include "families/quantize.cuh"
using namespace kittens;
using operation = families::quantize<ROW_T, ROW_COLS, families::source::QUANTIZE_SOURCE, QUANTIZE_FORMAT, \
QUANTIZE_SCALE, QUANTIZE_BLOCK, scale_rounding::QUANTIZE_ROUNDING>;
__global__ __launch_bounds__(operation::threads) void {name}(const operation::arguments g) {{
    operation::run(g);
}}
"""


def quantizer(
    name: str,
    *,
    scales: Scales,
    reference: Callable[..., Any],
    shape_of: Callable[..., dict[str, Any]],
    inputs: Callable[[Mapping[str, Any], torch.Generator], dict[str, Any]],
    shapes: Sequence[Mapping[str, Any]],
    source: str = "plain",
    halves: int = 1,
    exact: bool = True,
    more: Mapping[str, Choice] | None = None,
    hard_inputs: Mapping[str, Callable[..., dict[str, Any]]] | None = None,
) -> KernelSpec:
    """`quantization/<name>`: `out`, `scales`, and with a residual parameter also `residual_out`, which is
    empty without a residual.

    Args:
        source: source of `quantize.cuh`.
        halves: parts of a row of x; a result depends on one column of each part.
        exact: whether the source is x itself, so that results must equal the reference bit for bit.
        more: further parameters.
    """

    def moved(shape: Mapping[str, Any]) -> int:
        rows, of_row = scale_dims(shape)
        residual = 2 * shape.get("residual", 0)
        wide = rowwise.size_of(shape) * (halves + residual) * shape["cols"]
        return int(
            rows * (wide + width(shape["cols"], shape["format"]) + of_row * (1 if scales.power else 4))
        )

    shared = "each 32 columns" if scales.power else "blocks of columns" if scales.blocks[0] else "rows"
    bitwise = FlashRule("results are compared bit for bit with the format's definition")
    exactly = Tolerance(0, 0)
    return KernelSpec(
        name=f"quantization/{name}",
        doc=reference.__doc__ or "",
        source=_source(name),
        entry=name,
        parameters=parameters(scales, **(more or {})),
        shapes=shapes,
        inputs=inputs,
        hard_inputs=hard_inputs or {},
        outputs=outputs(scales),
        reference=reference,
        shape_of=shape_of,
        define=define(source, scales),
        check=check(scales),
        launch=launch,
        arguments=arguments,
        flops=lambda shape: 6 * shape["rows"] * shape["cols"],
        bytes=moved,
        tolerances={
            "out": exactly if exact else NEAR_THE_MIDDLE,
            **({"scales": exactly if exact else NEAR_THE_MIDDLE} if exact or scales.power else {}),
        },
        flash_rule={"out": bitwise, **({"scales": bitwise} if exact else {})},
        tensors=tensors(scales, halves, inspect.signature(reference).parameters),
        notes={
            **({"x": "rows of a gate, then the values it multiplies"} if halves > 1 else {}),
            "residual": "added to x before it is normalized; if None, nothing is added",
            "out": "elements of `format`"
            + (": fp4 two per byte, fp6 four per three bytes" if scales.power else ""),
            "scales": f"{'bytes s of powers 2^(s - 127)' if scales.power else 'factors'} of {shared}",
        },
    )


def tensors(scales: Scales, halves: int, names: Iterable[str]) -> dict[str, str]:
    """Layouts of an operator's tensors for these scales."""
    residual = "residual" in names
    layouts = {"x": f"dtype[..., {'2*cols' if halves > 1 else 'cols'}]"}
    layouts |= {"weight": "dtype[cols]"} if "weight" in names else {}
    layouts |= {"residual": "dtype[..., cols]"} if residual else {}
    if scales.power:
        layouts["out"] = "uint8[..., cols/2] | uint8[..., 3*cols/4] | format[..., cols]"
        layouts["scales"] = "uint8[..., cols/32]"
    else:
        layouts["out"] = "format[..., cols]"
        layouts["scales"] = "fp32[..., ceil(cols/block)]" if scales.blocks[0] else "fp32[..., 1]"
    return layouts | ({"residual_out": "dtype[..., cols] | dtype[0]"} if residual else {})


def edges(shape: Mapping[str, Any], generator: torch.Generator) -> torch.Tensor:
    """Rows with zeros, infinities, NaN, the largest and the smallest numbers of their type, and ties."""
    x = rowwise.random(shape, generator, scale=3)
    info = torch.finfo(x.dtype)
    for row, value in enumerate((0.0, info.max, info.tiny, float("inf"), float("nan"), -0.0)):
        if row < len(x):
            x[row, :: max(1, shape["cols"] // 3)] = value
    x[0] = 0
    if len(x) > 6:
        x[6] = (torch.arange(shape["cols"]) % 64 / 4 - 8).to(x.dtype)
    return x
