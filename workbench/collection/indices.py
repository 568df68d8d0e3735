"""Offsets of packed sequences and of their chunks: functions of the collection that run on the host.

Lists give lists, as the port's do; tensors give tensors of their dtype on their device, as AITER's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from workbench.collection.record import Call, Function
from workbench.errors import ArgumentError

if TYPE_CHECKING:
    import torch


def lengths(starts: Sequence[int]) -> list[int]:
    """Tokens of each sequence, from the starts followed by the end of the last."""
    return [end - start for start, end in pairwise(starts)]


def sums(counts: Sequence[int]) -> list[int]:
    """Offsets of parts with these counts, and the end of the last."""
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    return starts


def chunks(starts: Sequence[int], size: int) -> list[int]:
    """Chunks of each sequence; the last may be shorter."""
    return [-(-length // size) for length in lengths(starts)]


def positions(starts: Sequence[int]) -> list[int]:
    """The place of each token in its sequence."""
    return [at for length in lengths(starts) for at in range(length)]


def sequences(starts: Sequence[int]) -> list[int]:
    """The sequence of each token, counted as the port does: sequences without tokens are left out."""
    filled = [length for length in lengths(starts) if length]
    return [n for n, length in enumerate(filled) for _ in range(length)]


def function(
    name: str, argument: str, of: Callable[..., list[int] | int], *, sized: bool = False
) -> Function:
    """A function of a list or a tensor of integers; with `sized`, it also takes a chunk's size."""

    def host(call: Call) -> Any:
        value = call[argument]
        numbers = value.tolist() if hasattr(value, "tolist") else [*value]
        _check(argument, numbers, argument == "cu_seqlens")
        size = [call["chunk_size"]] if sized else []
        if sized and size[0] < 1:
            raise ArgumentError(f"chunk_size is {size[0]}; expected at least 1 token")
        return _like(value, of(numbers, *size))

    return Function(
        name=name,
        arguments={argument: "ints or i32|i64 [N]", **({"chunk_size": "int"} if sized else {})},
        host=host,
        differs="Tensors are taken as well as lists, and give tensors.",
    )


def _check(name: str, numbers: Sequence[int], are_starts: bool) -> None:
    steps = lengths(numbers) if are_starts else numbers
    if (are_starts and not numbers) or any(step < 0 for step in steps):
        expected = "starts that don't decrease, one at least" if are_starts else "lengths of 0 or more"
        raise ArgumentError(f"{name} is {list(numbers)}; expected {expected}")


def _like(value: Any, result: list[int] | int) -> list[int] | int | torch.Tensor:
    if isinstance(result, int) or not hasattr(value, "new_tensor"):
        return result
    tensor: torch.Tensor = value.new_tensor(result)
    return tensor


FUNCTIONS = (
    function("prepare_lens", "cu_seqlens", lengths),
    function("prepare_cu_seqlens_from_lens", "lens", sums),
    function("prepare_position_ids", "cu_seqlens", positions),
    function("prepare_sequence_ids", "cu_seqlens", sequences),
    function(
        "prepare_chunk_offsets", "cu_seqlens", lambda starts, size: sums(chunks(starts, size)), sized=True
    ),
    function(
        "get_max_num_splits",
        "cu_seqlens",
        lambda starts, size: max(chunks(starts, size), default=0),
        sized=True,
    ),
)
