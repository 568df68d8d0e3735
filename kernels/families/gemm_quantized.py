"""Specs of products with scales, by `gemm_block_scaled.cuh`: formats, scales, and a spec from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from workbench import dtypes
from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Range, Tunables, Variant
from workbench.targets import default_product
from workbench_kernels.families import gemm as family
from workbench_kernels.families import scalars
from workbench_kernels.families.gemm_scaled_loop import ScaledLoop
from workbench_kernels.families.gemm_schedules import Product
from workbench_kernels.references.gemm import quantized_gemm

TILE = 128
"""Rows and columns of C per work-group."""

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Format:
    """An element format in memory.

    Attributes:
        type: C++ type of the elements.
        dtypes: dtypes of the tensors.
        draw: random elements, (dims, generator) with the tensor's dims.
    """

    type: dtypes.DataType
    dtypes: tuple[torch.dtype, ...]
    draw: Callable[[Dims, torch.Generator], torch.Tensor]


def _integers(dims: Dims, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-128, 128, dims, generator=generator)


FORMATS = {
    "bf16": Format(dtypes.BF16, (torch.bfloat16,), lambda d, g: torch.randn(d, generator=g).bfloat16()),
    "int8": Format(dtypes.INT8, (torch.int8,), lambda d, g: _integers(d, g).to(torch.int8)),
    "fp8": Format(
        dtypes.E4M3FN,
        scalars.FP8,
        lambda d, g: (60 * torch.randn(d, generator=g)).clamp(-240, 240).to(scalars.FP8[0]),
    ),
    "fp4": Format(
        dtypes.E2M1,
        (torch.uint8,),
        lambda d, g: torch.randint(0, 256, d, generator=g, dtype=torch.uint8),
    ),
}
"""Element types: bf16, including small integers; int8; fp8 in the target's format; e2m1, two per byte."""


@dataclass(frozen=True)
class Scale:
    """Scales of an operand of `rows` rows and k columns.

    Attributes:
        policy: the kernel's type for it.
        dims: dims of the tensor after the batch, from rows and k; None if there is no tensor.
        says: what each scale applies to, in words.
        dtype: dtype of the tensor.
        stage: stage of the epilogue that applies them, if the loop does not.
    """

    policy: str
    dims: Callable[[int, int], Dims] | None = None
    says: str = ""
    dtype: torch.dtype = torch.float32
    stage: str | None = None


def blocks(size: int, block: int) -> int:
    """Number of blocks that cover a size."""
    return -(-size // block)


SCALES = {
    "none": Scale("unscaled"),
    "row": Scale("unscaled", lambda r, k: (r,), "each row", stage="scale_rows_of_a"),
    "powers": Scale("powers", lambda r, k: (r, blocks(k, 32)), "each 32 columns of a row", torch.uint8),
    "rows": Scale("floats_of_rows<128>", lambda r, k: (r, blocks(k, 128)), "each 128 columns of a row"),
    "squares": Scale(
        "floats_of_squares<128>",
        lambda r, k: (blocks(r, 128), blocks(k, 128)),
        "each 128 columns of 128 rows",
    ),
    "columns": Scale(
        "floats_of_columns<128>", lambda r, k: (blocks(k, 128), r), "each 128 columns of a row, transposed"
    ),
    "columns_32": Scale(
        "floats_of_columns<32>", lambda r, k: (blocks(k, 32), r), "each 32 columns of a row, transposed"
    ),
}
"""Kinds of scales by name."""


def policies(shape: Mapping[str, Any]) -> str:
    """Template arguments: element types and scales of the operands."""
    elements = (FORMATS[shape[name]].type.cpp for name in "ab")
    return ", ".join([*elements, *(SCALES[shape[f"scale_{name}"]].policy for name in "ab")])


def bits(shape: Mapping[str, Any]) -> tuple[int, int]:
    """Bits per element of A and of B."""
    return FORMATS[shape["a"]].type.bits, FORMATS[shape["b"]].type.bits


def operands(shape: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the tensors that the loop reads."""
    kinds = {f"scale_{name}": SCALES[shape[f"scale_{name}"]] for name in "ab"}
    return ("a", "b", *(name for name, kind in kinds.items() if kind.policy != "unscaled"))


def products(shape: Mapping[str, Any]) -> str:
    """The C++ type of the scaled products."""
    return f"scaled_products<{policies(shape)}>"


def few_rows(loop: ScaledLoop, shapes: Sequence[Mapping[str, Any]]) -> Variant:
    """Variant for up to 64 rows of A, which loads operands straight into registers.

    Args:
        loop: the plain loop of the same product.
    """

    def check_few_rows(shape: Mapping[str, Any], arch: str) -> None:
        loop.check(shape, arch)
        family.check_few_rows(shape, arch)
        if shape.get("scale_b") == "columns_32":
            raise ShapeError(
                "GEMM: scale_b has floats for 32 columns; the kernel for few rows supports powers of two, "
                "and floats for 128 columns"
            )

    def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
        rows, cols = family.few_rows(shape)
        finish = loop.epilogue(shape)
        return {"GEMM": f"few_rows_scaled<{loop.policies(shape)}, bf16, {rows}, {cols}, {finish}>"}

    def fits(shape: Mapping[str, Any], arch: str) -> bool:
        return (
            shape["m"] <= 64
            and family.is_nt(shape)
            and shape.get("scale_b") != "columns_32"
            and loop.suits_few_rows(shape)
        )

    return Variant(
        fits,
        define=define,
        launch=family.launch_few_rows,
        tunables=Tunables(cols=(0, 16, 32)),
        shapes=shapes,
        check=check_few_rows,
    )


def ping_pong(
    check: Callable[[Mapping[str, Any], str], None], shapes: Sequence[Mapping[str, Any]]
) -> Variant:
    """Variant for many tiles of 256 x 256, by 8 waves: operands of one format, floats for blocks of 128 x 128
    of B.

    Args:
        check: raises an error for shapes that the operator does not support.
    """

    def is_scaled(shape: Mapping[str, Any]) -> bool:
        return bool(shape["a"] == shape["b"] and shape["scale_b"] == "squares" and shape["k"] % 128 == 0)

    def check_blocks(shape: Mapping[str, Any], arch: str) -> None:
        check(shape, arch)
        if not is_scaled(shape):
            raise ShapeError(
                f"GEMM: a is {shape['a']}, b is {shape['b']}, scale_b is for {shape['scale_b']}, k is "
                f"{shape['k']}; this implementation supports operands of one format, scales for 128 x 128 "
                "of B and whole blocks of 128 columns"
            )

    def fits(shape: Mapping[str, Any], arch: str) -> bool:
        # It takes 0.7 to 0.8 times as long as the plain loop, unless the last round leaves more units idle.
        units = int(default_product(arch).compute_units)
        tiles = family.tiles(shape, 256) * shape["batch"]
        return (
            is_scaled(shape) and product.takes(shape, arch) and 4 * tiles >= 3 * units * blocks(tiles, units)
        )

    product = Product(
        element=lambda shape: FORMATS[shape["a"]].type.cpp,
        result=lambda shape: "bf16",
        epilogue=epilogue,
        size=lambda shape: FORMATS[shape["a"]].type.bits // 8,
        check=check_blocks,
        sums="block_sums",
    ).ping_pong(shapes)
    return Variant(fits, **product.fields)


def epilogue(shape: Mapping[str, Any], *stages: str) -> str:
    """The C++ type of the epilogue, which applies scales of rows first."""
    first = SCALES[shape["scale_a"]].stage
    return family.epilogue(shape, "bf16", *([first] if first else []), *stages)


def columns_of_step(shape: Mapping[str, Any], arch: str) -> int:
    """Columns per step of the loop, the same on all targets."""
    return 32 if shape["scale_b"] == "columns_32" else 64 if 16 in bits(shape) else 128


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for each tile of C."""
    grid = (family.tiles(shape, TILE), shape["batch"])
    return Launch(
        grid=grid, block=256, dynamic_shared=2 * TILE * columns_of_step(shape, arch) * sum(bits(shape)) // 8
    )


def format_of(name: str, tensor: torch.Tensor, formats: Sequence[str]) -> str:
    """The format of a tensor, among `formats`."""
    for format in formats:
        if tensor.dtype in FORMATS[format].dtypes:
            return format
    expected = " or ".join(str(FORMATS[each].dtypes[0]) for each in formats)
    raise ShapeError(f"GEMM: {name} is {tensor.dtype}; expected {expected}")


def scale_of(name: str, scale: torch.Tensor | None, kinds: Sequence[str], batch: Dims, sizes: Dims) -> str:
    """The kind of a scale tensor, for an operand of `sizes` rows and columns."""
    for kind in kinds:
        dims = SCALES[kind].dims
        if scale is None or dims is None:
            if scale is None and dims is None:
                return kind
        elif tuple(scale.shape) == (*batch, *dims(*sizes)) and scale.dtype == SCALES[kind].dtype:
            return kind
    scales = [SCALES[each] for each in kinds]
    expected = [
        f"{(*batch, *s.dims(*sizes))} {s.dtype}, one for {s.says}" for s in scales if s.dims is not None
    ]
    came = "None" if scale is None else f"{tuple(scale.shape)} {scale.dtype}"
    raise ShapeError(f"GEMM: scale_{name} is {came}; expected {' or '.join(expected) or 'None'}")


def shape_of(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Shape of a call; formats, scales and layouts must be among those of `parameters`."""
    layout = {"layout": arguments["layout"]} if "layout" in parameters else {}
    if layout and layout["layout"] not in parameters["layout"].values:
        expected = ", ".join(parameters["layout"].values)
        raise ShapeError(f"GEMM: layout is {layout['layout']!r}; expected one of {expected}")
    turned = family.across_k(layout.get("layout", "nt"))
    # As rows along K, whatever the layout.
    a, b = (arguments[n].mT if n in turned and arguments[n].dim() > 1 else arguments[n] for n in "ab")
    formats = {n: format_of(n, arguments[n], parameters[n].values) for n in "ab"}
    if a.dim() not in (2, 3) or b.dim() not in (2, a.dim()):
        raise ShapeError(
            f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected (M, K) and (N, K), or batches"
        )
    columns = {n: x.shape[-1] * (2 if formats[n] == "fp4" else 1) for n, x in (("a", a), ("b", b))}
    if columns["a"] != columns["b"]:
        raise ShapeError(
            f"GEMM: a has {columns['a']} columns of {formats['a']}, b {columns['b']} of {formats['b']}; "
            "expected the same"
        )
    batch = a.shape[0] if a.dim() == 3 else 1
    if b.dim() == 3 and b.shape[0] != batch:
        raise ShapeError(f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}; expected one batch, or one b")
    sizes = {"batch": batch, "m": a.shape[-2], "n": b.shape[-2], "k": columns["a"]}
    scales = {
        f"scale_{n}": scale_of(
            n,
            arguments.get(f"scale_{n}"),
            parameters[f"scale_{n}"].values,
            tuple(x.shape[:-2]),
            (x.shape[-2], columns["a"]),
        )
        for n, x in (("a", a), ("b", b))
    }
    return {**sizes, **formats, **scales, **layout, **family.finish_of(arguments, sizes, torch.bfloat16)}


def draw_scale(kind: str, dims: Dims, generator: torch.Generator, size: float = 1.0) -> torch.Tensor:
    """Scales of different sizes, for elements of up to 240."""
    if SCALES[kind].dtype == torch.uint8:
        return torch.randint(121, 128, dims, generator=generator, dtype=torch.uint8)
    return size * (torch.rand(dims, generator=generator) + 0.5) / 64


def inputs(shape: Mapping[str, Any], generator: torch.Generator, size: float = 1.0) -> dict[str, Any]:
    """Elements of every size in their formats, and scales."""
    tensors: dict[str, Any] = {}
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        format, batch, k = FORMATS[shape[name]], family.batch_of(shape), shape["k"]
        width = k // 2 if format.type.bits == 4 else k
        elements = format.draw((*batch, rows, width), generator)
        is_turned = name in family.across_k(shape.get("layout", "nt"))
        tensors[name] = elements.mT.contiguous() if is_turned else elements
        kind = shape[f"scale_{name}"]
        dims = SCALES[kind].dims
        if dims is not None:
            tensors[f"scale_{name}"] = draw_scale(kind, (*batch, *dims(rows, k)), generator, size)
    if "layout" in shape:
        tensors["layout"] = shape["layout"]
    return tensors | family.finish_inputs(shape, generator, torch.bfloat16)


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Checks that scales suit the formats, rows are multiples of 16 bytes, and offsets reach all elements."""
    for name in "ab":
        kind = shape[f"scale_{name}"]
        if (shape[name] == "fp4") != (kind == "powers"):
            raise ShapeError(
                f"GEMM: {name} is {shape[name]}, its scales are {kind!r}; only fp4 has powers of two"
            )
        bits = FORMATS[shape[name]].type.bits
        multiple = 128 if shape[f"scale_{name}"] == "powers" and bits < 16 else 128 // bits
        if shape["k"] % multiple:
            raise ShapeError(
                f"GEMM: k is {shape['k']}; expected a multiple of {multiple} for {shape[name]}; "
                "pad with zeros"
            )
    if not family.is_nt(shape):
        if shape["a"] != shape["b"] or shape["a"] == "bf16":
            raise ShapeError(
                f"GEMM: layout is {shape['layout']!r}, a is {shape['a']}, b is {shape['b']}; expected layout "
                "'nt', or both of fp8 or both of int8"
            )
        family.whole_rows_across_k(shape, 16)
    family.within_offsets(shape, 2)


def bytes_moved(shape: Mapping[str, Any]) -> int:
    """Bytes of the operands, their scales and the epilogue's operands, read once, and of C, written once."""
    total = family.bytes_moved(shape, 0)
    for name, rows in (("a", shape["m"]), ("b", shape["n"])):
        kind = SCALES[shape[f"scale_{name}"]]
        count = rows * shape["k"] * FORMATS[shape[name]].type.bits // 8
        if kind.dims is not None:
            elements = 1
            for dim in kind.dims(rows, shape["k"]):
                elements *= dim
            count += elements * kind.dtype.itemsize
        total += shape["batch"] * count
    return total


NO_FINISH = {
    "bias": Choice((0,), doc="none"),
    "activation": Choice(("none",), doc="none"),
    "gate": Choice((0,), doc="none"),
    "residual": Choice((0,), doc="none"),
}


def quantized(
    name: str,
    doc: str,
    *,
    a: Sequence[str],
    b: Sequence[str],
    scale_a: Sequence[str] = ("none",),
    scale_b: Sequence[str] = ("none",),
    reference: Callable[..., Any] = quantized_gemm,
    k: Range,
    finish: Mapping[str, Choice] = NO_FINISH,
    shapes: Sequence[Mapping[str, Any]],
    few: int = 2,
    many: Sequence[Mapping[str, Any]] = (),
    layouts: Sequence[str] = (),
    **more: Any,
) -> KernelSpec:
    """An operator A Bᵀ, or A B by layouts, of formats `a` and `b` with these kinds of scales; the first of
    each is the default.

    Args:
        few: number of shapes for which the kernel for few rows gets its own; 0 leaves it out.
        many: shapes of the 8-wave ping-pong, for which both operands have scales of 128 columns; an empty
            list leaves it out.
        layouts: layouts of A and B; `reference` has an argument for them. None: A and B are M x K and N x K.
        more: further fields of the spec.
    """
    parameters = {
        **family.SIZES,
        "k": k,
        "a": Choice(tuple(a), doc="format of A"),
        "b": Choice(tuple(b), doc="format of B"),
        "scale_a": Choice(tuple(scale_a), doc="what each scale of A applies to"),
        "scale_b": Choice(tuple(scale_b), doc="what each scale of B applies to"),
        **({"layout": Choice(tuple(layouts), doc=family.OF_LAYOUT)} if layouts else {}),
        **finish,
    }
    loop = ScaledLoop(policies, epilogue, bits, columns_of_step, operands, check)
    fields: dict[str, Any] = {
        "source": family.SOURCE,
        "entry": "gemm",
        "parameters": parameters,
        "shapes": shapes,
        "inputs": inputs,
        "outputs": family.outputs_bf16,
        "reference": reference,
        "shape_of": lambda **tensors: shape_of(parameters, tensors),
        "define": lambda shape, arch: {"GEMM": f"block_scaled<{products(shape)}, bf16, {epilogue(shape)}>"},
        "launch": launch,
        "check": check,
        "flops": family.flops,
        "bytes": bytes_moved,
        **(loop.fields() if few else {}),
        "variants": {
            "few_rows": few_rows(
                loop,
                [{**shape, "m": m} for shape, m in zip(shapes, (16, 5, 40), strict=False)][:few],
            ),
            **({"ping_pong": ping_pong(check, many)} if many else {}),
            "split_k": loop.split_k([{**shapes[0], "k": 2048}]),
            "double_buffer": Variant(),
        }
        if few
        else {},
    }
    return KernelSpec(name=name, doc=doc, **{**fields, **more})


def blockwise(name: str, doc: str, shapes: Sequence[Mapping[str, Any]]) -> KernelSpec:
    """One product of fp8, int8 or bf16 with float scales of blocks, or of fp4 with powers of two."""
    operator = quantized(
        name,
        doc,
        a=("fp8", "int8", "bf16", "fp4"),
        b=("fp8", "int8", "bf16", "fp4"),
        scale_a=("rows", "powers"),
        scale_b=("squares", "columns", "powers"),
        k=Range(16, 1 << 20, step=16, default=512, doc="columns of A; a row is a multiple of 16 bytes"),
        few=0,
        shapes=[dict(shape) for shape in shapes],
    )
    parameters = {name: p for name, p in operator.parameters.items() if name != "batch"}
    return dataclasses.replace(operator, parameters={**parameters, "batch": Choice((1,), doc="one matrix")})


FP4 = {"a": "fp4", "b": "fp4", "scale_a": "powers", "scale_b": "powers"}
"""A shape's choices for fp4 with powers of two."""
