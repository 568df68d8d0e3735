"""Common parts of the family of `rotary.cuh`: shapes, launches, sources, inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from workbench.errors import ArgumentError, ShapeError
from workbench.operators import Choice, Launch, Parameter, Range, Strided, Tunables, lanes_of_row
from workbench.targets import WAVE, wave_size
from workbench_kernels.families import scalars
from workbench_kernels.families.attention import warn_if_turned
from workbench_kernels.families.rowwise import size_of

PARAMETERS: dict[str, Parameter] = {
    "batch": Range(1, 65535, default=1, doc="batches"),
    "heads": Range(
        1, 4096, default=16, doc="heads of a token; of a fused QKV, the heads of queries, keys and values"
    ),
    "tokens": Range(1, 1 << 24, default=1024, doc="tokens of a batch"),
    "dim": Range(2, 512, default=128, doc="elements of a head"),
    "turned": Range(
        2, 512, 2, default=128, doc="elements of a head that are rotated, counted from its start"
    ),
    "interleaved": Choice((0, 1), doc="whether pairs are adjacent (GPT-J), or half a head apart (NeoX)"),
    "dtype": Choice(tuple(scalars.FLOATS), doc="element type in memory"),
    "table": Choice(tuple(scalars.FLOATS), doc="element type of cosines and sines"),
}

MOST_APART = 1 << 27
"""Limit of the distance between tokens, in elements: the tokens of a wave stay within 32-bit offsets."""

WAVES = 4
"""Waves of a work-group; they take turns at the heads."""

LARGEST_TABLE = (1 << 32) - 256
"""Bytes within 32-bit offsets, minus those reserved for accesses out of bounds."""

TUNABLES = Tunables(groups=(1024, 256, 512, 2048, 4096))
"""Number of work-groups below which the heads of a token are divided among work-groups."""


def source(name: str, operation: str) -> str:
    """A kernel that runs an operation of the family, such as `"rope<rotary>"`."""
    return f"""#include "families/rotary.cuh"
using namespace kittens;
using rotary = families::rotary<ROTARY_T, ROTARY_TABLE, ROTARY_DIM, ROTARY_TURNED, ROTARY_INTERLEAVED>;
using operation = families::{operation};
__global__ __launch_bounds__(operation::threads) void {name}(const operation::arguments g) {{
    operation::run(g);
}}
"""


def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
    return {
        "ROTARY_T": scalars.QUALIFIED[shape["dtype"]],
        "ROTARY_TABLE": scalars.QUALIFIED[shape["table"]],
        "ROTARY_DIM": shape["dim"],
        "ROTARY_TURNED": shape["turned"],
        "ROTARY_INTERLEAVED": "true" if shape["interleaved"] else "false",
    }


def launch(shape: Mapping[str, Any], arch: str) -> Launch:
    """Each wave has some tokens and every n-th head; with few tokens more waves share the heads."""
    wave = wave_size(arch)
    return Launch(
        grid=(token_groups(shape, wave), shape["batch"], groups_of_heads(shape)), block=wave * WAVES
    )


def token_groups(shape: Mapping[str, Any], wave: int) -> int:
    """Work-groups for the tokens of a batch, with waves of `wave` lanes."""
    together = shape["turned"] if shape["interleaved"] else shape["turned"] // 2
    return int(-(-shape["tokens"] // (wave // lanes_of_row(together, size_of(shape), wave=wave))))


def groups_of_heads(shape: Mapping[str, Any]) -> int:
    """Work-groups among which the heads of a token are divided, the same on every target."""
    most = shape.get("groups", TUNABLES.values["groups"][0])
    many = most // (token_groups(shape, WAVE) * shape["batch"])
    return int(min(-(-shape["heads"] // WAVES), max(1, many)))


def head_stride(shape: Mapping[str, Any]) -> int:
    """Distance between the heads of a wave."""
    return WAVES * groups_of_heads(shape)


def shape_of(
    name: str,
    x: torch.Tensor,
    cos: torch.Tensor,
    sin: torch.Tensor,
    positions: torch.Tensor | None,
    interleaved: bool,
    *,
    called: str = "x",
) -> dict[str, Any]:
    """Shape of a call on heads x, batch x heads x tokens x dim; `called` is the name of the argument.

    Raises:
        ShapeError: the dimensions or the dtype of a tensor are wrong.
    """
    names = {dtype: name for name, dtype in scalars.FLOATS.items()}
    if x.dim() != 4 or x.dtype not in names or x.numel() == 0:
        raise ShapeError(
            f"{name}: {called} is {tuple(x.shape)} {x.dtype}; expected four non-empty dimensions of "
            f"{', '.join(map(str, names))}"
        )
    batch, heads, tokens, dim = x.shape
    warn_if_turned(name, "[batch, heads, tokens, dim]", heads, tokens, least=512)
    if tokens > 1 and x.stride(2) >= MOST_APART:
        raise ShapeError(
            f"{name}: {called} {tuple(x.shape)} has strides {tuple(x.stride())}; expected tokens less than "
            f"{MOST_APART} elements apart, as .contiguous() makes them"
        )
    for which, table in (("cos", cos), ("sin", sin)):
        if (
            table.dim() != 2
            or table.shape != cos.shape
            or table.dtype not in names
            or table.dtype != cos.dtype
        ):
            raise ShapeError(
                f"{name}: {which} is {tuple(table.shape)} {table.dtype}; expected positions x (rotated "
                f"elements / 2), the same for cos and sin, of {', '.join(map(str, names))}"
            )
    if (taken := cos.numel() * cos.element_size()) >= LARGEST_TABLE:
        raise ShapeError(
            f"{name}: cos is {tuple(cos.shape)} {cos.dtype}, {taken} bytes; expected less than "
            f"{LARGEST_TABLE}: use fewer positions, or 16-bit elements"
        )
    if 2 * cos.shape[1] > dim:
        raise ShapeError(f"{name}: cos rotates {2 * cos.shape[1]} elements; a head has {dim}")
    if positions is None:
        if cos.shape[0] < tokens:
            raise ShapeError(f"{name}: cos has {cos.shape[0]} positions for {tokens} tokens")
    elif positions.dtype != torch.int64 or tuple(positions.shape) not in ((tokens,), (batch, tokens)):
        raise ShapeError(
            f"{name}: positions is {tuple(positions.shape)} {positions.dtype}; expected ({tokens},) or "
            f"({batch}, {tokens}) torch.int64"
        )
    return {
        **{"batch": batch, "heads": heads, "tokens": tokens, "dim": dim, "turned": 2 * cos.shape[1]},
        **{"interleaved": int(interleaved), "dtype": names[x.dtype], "table": names[cos.dtype]},
    }


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses to rotate more elements than a head has."""
    if shape["turned"] > shape["dim"]:
        raise ShapeError(f"rotary: {shape['turned']} elements are rotated; a head has {shape['dim']}")


def places(shape: Mapping[str, Any], tensors: Mapping[str, Any], direction: float = 1.0) -> dict[str, Any]:
    """The member `places`: tables, the tokens' rows in them, and the direction of rotation."""
    positions = tensors["positions"]
    return {
        "cos": tensors["cos"].contiguous(),
        "sin": tensors["sin"].contiguous(),
        "positions": None if positions is None else positions.contiguous(),
        "rows": tensors["cos"].shape[0],
        "batch_stride": 0 if positions is None or positions.dim() == 1 else positions.shape[1],
        "tokens": shape["tokens"],
        "apart": head_stride(shape),
        "direction": direction,
    }


def heads(shape: Mapping[str, Any], tensor: torch.Tensor) -> dict[str, Any]:
    """A member of type `heads`: batch x heads x tokens x dim, with any strides but the last.

    Raises:
        ArgumentError: the elements of a head are not contiguous.
    """
    if tensor.shape[3] > 1 and tensor.stride(3) != 1:
        raise ArgumentError(
            f"rotary: heads {tuple(tensor.shape)} have strides {tuple(tensor.stride())}; expected "
            "contiguous elements of a head, as .contiguous() makes them"
        )
    size = tensor.element_size()
    batch, head, token, _ = (size * stride for stride in tensor.stride())
    # With a single token, the stride may be anything.
    token = token if shape["tokens"] > 1 else size * shape["dim"]
    return {
        **{"first": Strided(tensor), "batch": batch, "head": head, "step": head_stride(shape) * head},
        **{"token": token, "count": tensor.shape[1]},
    }


def tables(shape: Mapping[str, Any], generator: torch.Generator) -> dict[str, Any]:
    """Cosines and sines, positions in random order if the number of tokens is odd, and the kind of pairs."""
    count = shape["tokens"] + 5
    angles = torch.arange(count)[:, None] * 10000.0 ** -torch.linspace(0, 1, shape["turned"] // 2)
    tensors = {
        name: of(angles).to(scalars.FLOATS[shape["table"]])
        for name, of in (("cos", torch.cos), ("sin", torch.sin))
    }
    if shape["tokens"] % 2:
        tensors["positions"] = torch.randint(0, count, (shape["tokens"],), generator=generator)
    return {**tensors, "interleaved": bool(shape["interleaved"])}


def moved(shape: Mapping[str, Any]) -> int:
    """Bytes of the heads, read and written, and of the tables."""
    elements = 2 * shape["batch"] * shape["heads"] * shape["tokens"] * shape["dim"]
    return int(
        size_of(shape) * elements
        + scalars.FLOATS[shape["table"]].itemsize * shape["tokens"] * shape["turned"]
    )


def turns(shape: Mapping[str, Any]) -> int:
    """Operations: four multiplications, an addition and a subtraction for each pair."""
    return int(3 * shape["batch"] * shape["heads"] * shape["tokens"] * shape["turned"])
