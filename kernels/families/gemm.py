"""Common parts of the family of `gemm.cuh`: element types, epilogues, launches, checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Launch, Range
from workbench.targets import TILE_TARGETS, for_generations, wave_size
from workbench_kernels.families import scalars
from workbench_kernels.references.gemm import ACTIVATIONS

SCALED = {"fp8": scalars.FP8, "int8": (torch.int8,)}
"""Types of elements that have scales for rows; fp8 of either target."""

SOURCE = """#include "families/gemm.cuh"
using namespace kittens;
using namespace kittens::families::gemm;
using operation = GEMM;
__global__ __launch_bounds__(operation::threads, operation::waves_per_simd) void
gemm(const operation::arguments g) {
    operation::run(g);
}
"""
"""A kernel that runs an operator of the family, such as `double_buffer<bf16, bf16, layout::nt, 128>`."""

BYTES = for_generations({"gfx1250": 128, "gfx950": 128, "gfx942": 64, "gfx1201": 64, "gfx1100": 64})
"""Bytes of a row of A and B per step along K."""

WAVES = 4
"""Waves of a work-group, except of those with tiles of 256 x 256."""

SIZES = {
    "batch": Range(1, 65535, default=1, doc="matrices of each operand"),
    "m": Range(1, 1 << 20, default=512, doc="rows of A and C"),
    "n": Range(1, 1 << 20, default=512, doc="columns of C"),
    "k": Range(1, 1 << 20, default=512, doc="columns of A, along which products are summed"),
}
FINISH = {
    "alpha": Choice((0, 1), doc="whether the product is multiplied by alpha"),
    "bias": Choice((0, 1), doc="whether a bias is added to each column"),
    "activation": Choice(tuple(ACTIVATIONS), doc="function applied to each element"),
    "gate": Choice((0, 1), doc="whether the result is multiplied by a gate"),
    "residual": Choice((0, 1), doc="whether a residual is added"),
}


def epilogue(shape: Mapping[str, Any], element: str, *first: str) -> str:
    """The C++ type of a shape's epilogue; `first` are stages that precede the others."""
    stages = list(first)
    if shape.get("alpha"):
        stages.append("scale_all")
    if shape["bias"]:
        stages.append(f"add_bias<{element}>")
    if shape["activation"] != "none":
        stages.append(f"activate<base_ops::{shape['activation']}>")
    if shape["gate"]:
        stages.append(f"multiply_gate<{element}>")
    if shape["residual"]:
        stages.append(f"add_residual<{element}>")
    return f"epilogue<{', '.join(stages)}>"


ORDER = {"window": (0, 1, 2, 4, 8, 16, 32), "chunk": (0, 1, 16, 32, 64, 128)}
"""Tunables: rows of tiles in a window, and consecutive tiles of an XCD; 0 keeps the choice of `chiplet_tile`.
"""


def order(shape: Mapping[str, Any]) -> tuple[str, ...]:
    """The C++ type of the order of tiles if it is tuned: the last template argument of a schedule."""
    window, chunk = shape.get("window", 0), shape.get("chunk", 0)
    return (f"ordered_batches<{window}, {chunk}>",) if window or chunk else ()


def tiles(shape: Mapping[str, Any], side: int, wide: int | None = None) -> int:
    """Number of tiles of one matrix of C, `side` high and `wide` (default: `side`) wide."""
    return int(-(-shape["m"] // side) * -(-shape["n"] // (wide or side)))


def launch(
    side: int, threads: int, wide: int | None = None, more: int = 0
) -> Callable[[Mapping[str, Any], str], Launch]:
    """A work-group for each tile of C; shared memory holds two steps of `side` rows of A and of B, and `more`
    bytes."""

    def launch_of_shape(shape: Mapping[str, Any], arch: str) -> Launch:
        grid = (tiles(shape, side, wide), shape["batch"])
        return Launch(grid=grid, block=threads, dynamic_shared=2 * 2 * side * BYTES[arch] + more)

    return launch_of_shape


def span(shape: Mapping[str, Any], parts: int, step: int = 128) -> int:
    """Columns of each of `parts` parts of K, a multiple of `step`."""
    return int(-(-shape["k"] // (step * parts)) * step)


def outputs_bf16(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """C as a bf16 tensor."""
    return {"c": ((*tensors["a"].shape[:-2], shape["m"], shape["n"]), torch.bfloat16)}


def few_rows(shape: Mapping[str, Any]) -> tuple[int, int]:
    """Rows that the kernel for few rows is compiled for, and columns per work-group."""
    rows = next(size for size in (16, 32, 64) if shape["m"] <= size)
    return rows, shape.get("cols") or (16 if rows == 16 else 32)


def launch_few_rows(shape: Mapping[str, Any], arch: str) -> Launch:
    """A work-group for a few columns; its waves add their float sums in shared memory."""
    rows, cols = few_rows(shape)
    return Launch(
        grid=(-(-shape["n"] // cols), shape["batch"]),
        block=WAVES * wave_size(arch),
        dynamic_shared=4 * WAVES * rows * cols,
    )


def dtype_of(tensor: torch.Tensor) -> str:
    """Name of the dtype of A."""
    names = {dtype: name for name, dtype in scalars.HALVES.items()}
    if tensor.dtype not in names:
        raise ShapeError(f"GEMM: a is {tensor.dtype}; expected torch.bfloat16 or torch.float16")
    return names[tensor.dtype]


LAYOUTS = ("nt", "nn", "tn")
"""Layouts of A and B, M x K (n) or K x M (t) and K x N (n) or N x K (t), of products without block scales."""
ALL_LAYOUTS = (*LAYOUTS, "tt")
OF_LAYOUT = "layouts of A and B: M x K (n) or K x M (t), and K x N (n) or N x K (t)"


def sizes_of(
    a: torch.Tensor, b: torch.Tensor, layout: str = "nt", layouts: Sequence[str] = LAYOUTS
) -> dict[str, int]:
    """M, N, K and the batch of a call; b may be one matrix for a batch of a."""
    rows, cols = {"n": ("M", "K"), "t": ("K", "M")}, {"n": ("K", "N"), "t": ("N", "K")}
    if layout not in layouts:
        raise ShapeError(f"GEMM: layout is {layout!r}; expected one of {', '.join(layouts)}")
    sizes: dict[str, int] = {}
    expected = f"a ({', '.join(rows[layout[0]])}) and b ({', '.join(cols[layout[1]])})"
    got = f"GEMM: a is {tuple(a.shape)}, b is {tuple(b.shape)}"
    if a.dtype != b.dtype:
        raise ShapeError(f"GEMM: a is {a.dtype}, b is {b.dtype}; expected the same")
    if a.dim() not in (2, 3) or b.dim() not in (2, a.dim()):
        raise ShapeError(f"{got}; expected {expected} for layout {layout!r}, or batches of them")
    for tensor, names in ((a, rows[layout[0]]), (b, cols[layout[1]])):
        for name, size in zip(names, tensor.shape[-2:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise ShapeError(f"{got}; expected {expected} for layout {layout!r}, with the same {name}")
    batch = a.shape[0] if a.dim() == 3 else 1
    if b.dim() == 3 and b.shape[0] != batch:
        raise ShapeError(f"{got}; expected as many matrices in b as in a, or one")
    return {"batch": batch, "m": sizes["M"], "n": sizes["N"], "k": sizes["K"]}


def finish_of(arguments: Mapping[str, Any], sizes: Mapping[str, int], dtype: torch.dtype) -> dict[str, Any]:
    """Shape parameters of the epilogue; its tensors must fit C, and a bias may have a row for each matrix of
    b."""
    activation = arguments.get("activation", "none")
    if activation not in ACTIVATIONS:
        raise ShapeError(f"GEMM: activation is {activation!r}; expected one of {', '.join(ACTIVATIONS)}")
    batch = tuple(arguments["a"].shape[:-2])
    matrix, rows = (*batch, sizes["m"], sizes["n"]), (*tuple(arguments["b"].shape[:-2]), 1, sizes["n"])
    for name, expected in (
        ("bias", ((sizes["n"],), *([rows] if len(rows) == 3 else []))),
        ("gate", (matrix,)),
        ("residual", (matrix,)),
    ):
        tensor = arguments.get(name)
        if tensor is not None and (tuple(tensor.shape) not in expected or tensor.dtype != dtype):
            raise ShapeError(
                f"GEMM: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected "
                f"{' or '.join(map(str, expected))} {dtype}"
            )
    present = {name: int(arguments.get(name) is not None) for name in ("bias", "gate", "residual")}
    return {**present, "activation": activation}


def finish_inputs(shape: Mapping[str, Any], generator: torch.Generator, dtype: torch.dtype) -> dict[str, Any]:
    """Inputs of the epilogue."""
    tensors: dict[str, Any] = {"activation": shape["activation"]}
    matrix = (*batch_of(shape), shape["m"], shape["n"])
    if shape.get("alpha"):
        tensors["alpha"] = 0.5
    if shape["bias"]:
        many = shape.get("groups", shape["batch"])
        rows = (many, 1) if many > 1 else ()
        tensors["bias"] = torch.randn(*rows, shape["n"], generator=generator).to(dtype)
    if shape["gate"]:
        tensors["gate"] = torch.randn(matrix, generator=generator).to(dtype)
    if shape["residual"]:
        tensors |= {"residual": torch.randn(matrix, generator=generator).to(dtype), "beta": -2.0}
    return tensors


def batch_of(shape: Mapping[str, Any]) -> tuple[int, ...]:
    """Leading dimensions of A and C."""
    return (shape["batch"],) if shape["batch"] > 1 else ()


def flops(shape: Mapping[str, Any]) -> int:
    """2 M N K of each matrix."""
    return int(2 * shape["batch"] * shape["m"] * shape["n"] * shape["k"])


def bytes_moved(shape: Mapping[str, Any], size: float) -> int:
    """A, B and the epilogue's operands read once, C written once; A and B have `size` bytes per element."""
    m, n, k = (shape[name] for name in "mnk")
    matrices = 1 + shape["gate"] + shape["residual"]
    return int(shape["batch"] * (size * (m * k + n * k) + 2 * matrices * m * n) + 2 * n * shape["bias"])


def whole_words(shape: Mapping[str, Any], multiples: Mapping[str, int]) -> None:
    """Refuses sizes whose rows are not multiples of 16 bytes: each must be a multiple of its value in
    `multiples`."""
    for name, multiple in multiples.items():
        if shape[name] % multiple:
            layout = f" in layout {shape['layout']!r}" if "layout" in shape else ""
            raise ShapeError(
                f"GEMM: {name} is {shape[name]}; expected a multiple of {multiple}{layout}, so that rows "
                f"are multiples of 16 bytes; pad with zeros to {-(-shape[name] // multiple) * multiple}"
            )


def whole_rows_across_k(shape: Mapping[str, Any], multiple: int) -> None:
    """Refuses operands across K whose rows are not multiples of 16 bytes, `multiple` elements."""
    sides = {"a": "m", "b": "n"}
    whole_words(shape, {sides[name]: multiple for name in across_k(shape["layout"])})


def within_offsets(shape: Mapping[str, Any], size: float) -> None:
    """Refuses matrices beyond the reach of 32-bit offsets."""
    m, n, k = (shape[name] for name in "mnk")
    for name, count in (("a", m * k), ("b", n * k), ("c", m * n)):
        if count * size >= 1 << 32:
            raise ShapeError(f"GEMM: {name} has {count * size:,} bytes; expected less than 4 GiB")


def least_fast(shape: Mapping[str, Any], size: float) -> dict[str, int]:
    """Smallest sizes that the schedules with tiles of 256 x 256 support: rows of A and B, with elements of
    `size` bytes, must be as long as those of their tiles."""
    along, across = int(BYTES["gfx950"] // size), 128
    return {
        "nt": {"k": along},
        "nn": {"k": along, "n": across},
        "tn": {"m": across, "n": across},
        "tt": {"m": across, "k": along},
    }[shape.get("layout", "nt")]


def is_fast(shape: Mapping[str, Any], size: float) -> bool:
    """True if `check_fast` accepts a shape."""
    try:
        check_fast(shape, size)
    except ShapeError:
        return False
    return True


def check_fast(shape: Mapping[str, Any], size: float) -> None:
    """Refuses sizes that these schedules do not support."""
    whole_words(shape, {"n": 8})
    for name, least in least_fast(shape, size).items():
        if shape[name] < least:
            layout = f" in layout {shape['layout']!r}" if not is_nt(shape) else ""
            raise ShapeError(
                f"GEMM: {name} is {shape[name]}; this implementation supports {least} or more{layout}"
            )
    if not is_nt(shape):
        # Rows across K are counted from the last, in whole pairs of steps.
        within_offsets({**shape, "k": shape["k"] + 2 * BYTES["gfx950"] // size}, size)


def across_k(layout: str) -> str:
    """Which of "a" and "b" have rows across K: K x M, K x N."""
    return "".join(
        name for name, stored, along_k in zip("ab", layout, "nt", strict=True) if stored != along_k
    )


def is_nt(shape: Mapping[str, Any]) -> bool:
    """True if the rows of A and of B run along K."""
    return bool(shape.get("layout", "nt") == "nt")


def check_nt(shape: Mapping[str, Any]) -> None:
    """Refuses layouts in which A or B does not run along K."""
    if not is_nt(shape):
        raise ShapeError(f"GEMM: layout is {shape['layout']!r}; this implementation supports 'nt'")


def most_few_rows(arch: str) -> int:
    """Most rows of the kernel for few rows, of which a wave holds two chunks; waves of 32 lanes hold less."""
    return 64 if arch in TILE_TARGETS else 16


def check_few_rows(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses sizes that the kernel for few rows does not support."""
    check_nt(shape)
    if shape["m"] > most_few_rows(arch):
        raise ShapeError(
            f"GEMM: m is {shape['m']}; this implementation supports 1 to {most_few_rows(arch)} on {arch}"
        )


def check_large_tiles(arch: str) -> None:
    """Refuses targets whose waves cannot hold a tile of 256 x 256 sums."""
    if arch not in TILE_TARGETS:
        raise ShapeError(
            f"GEMM: {arch}; this implementation, whose waves hold 256 x 256 sums, supports "
            f"{', '.join(TILE_TARGETS)}"
        )
