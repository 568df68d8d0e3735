"""Common parts of attention: dtypes, masks, strides, and checks of arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.targets import for_generations
from workbench_kernels.families import scalars

ROOM = for_generations(
    {"gfx1250": 327680, "gfx950": 160000, "gfx942": 65536, "gfx1201": 65536, "gfx1100": 65536}
)
"""Bytes of shared memory that a work-group may use."""

UNIT = 8
"""Unit of the distances between sequences, tokens and heads, in elements: 16 bytes."""

EVERYTHING = 1 << 29
"""A window larger than any number of keys: no window."""


def dtype_of(**tensors: torch.Tensor) -> str:
    """Name of the dtype that the tensors share."""
    names = {dtype: name for name, dtype in scalars.HALVES.items()}
    first = next(iter(tensors.values())).dtype
    for name, tensor in tensors.items():
        if tensor.dtype not in names or tensor.dtype != first:
            raise ShapeError(
                f"attention: {name} is {tensor.dtype}; expected torch.bfloat16 or torch.float16, the same "
                "for all tensors"
            )
    return names[first]


def check_settings(scale: float | None, window: int, softcap: float, heads: int, sinks: Any) -> None:
    """Refuses meaningless numbers, and sinks other than one for each head."""
    if scale is not None and not 0 < scale < float("inf"):
        raise ShapeError(f"attention: scale is {scale}; expected a positive number")
    if window < 0:
        raise ShapeError(
            f"attention: window is {window}; expected the number of keys that a query sees, or 0 for all"
        )
    if not 0 <= softcap < float("inf"):
        raise ShapeError(f"attention: softcap is {softcap}; expected a positive number, or 0 for none")
    if sinks is not None and (tuple(sinks.shape) != (heads,) or not sinks.dtype.is_floating_point):
        raise ShapeError(
            f"attention: sinks is {tuple(sinks.shape)} {sinks.dtype}; expected ({heads},) of float, one for "
            "each head"
        )


def check_distances(**tensors: torch.Tensor | None) -> None:
    """Refuses views whose rows are not aligned to 16 bytes, or further apart than 32-bit offsets reach."""
    for name, tensor in tensors.items():
        if tensor is None:
            continue
        before = zip(tensor.stride()[:-1], tensor.shape[:-1], strict=True)
        if any(step % UNIT for step, size in before if size > 1):
            raise ShapeError(
                f"attention: {name} has strides {tuple(tensor.stride())}; expected multiples of {UNIT} "
                "elements in all but the last dimension, as .contiguous() makes them"
            )
        tokens = max(tensor.dim() - 3, 0)
        if tensor.shape[tokens] > 1 and tensor.stride(tokens) == 0:
            raise ShapeError(
                f"attention: {name} {tuple(tensor.shape)} has strides {tuple(tensor.stride())}: all tokens "
                "are one, expanded; expected memory for each token, as .contiguous() makes it"
            )
        if tensor.dim() == 4 and tensor.shape[1] * tensor.stride(1) * tensor.element_size() >= 1 << 32:
            raise ShapeError(
                f"attention: {name} {tuple(tensor.shape)} has strides {tuple(tensor.stride())}; expected a "
                "sequence within 4 GiB, since offsets have 32 bits"
            )


warned: set[str] = set()
"""Operators that `warn_if_turned` has warned about: it warns once, whatever filters a notebook sets."""


def warn_if_turned(name: str, layout: str, heads: int, tokens: int, least: int = 128) -> None:
    """Warns of what is almost certainly the other layout: `least` heads or more, and far more than tokens."""
    if heads >= least and heads > 4 * tokens and name not in warned:
        warned.add(name)
        warnings.warn(
            f"{name}: {heads} heads of {tokens} tokens; expected {layout}; are tokens and heads swapped? "
            "workbench.ops takes either layout, by layout=",
            stacklevel=2,
        )


def check_starts(name: str, starts: torch.Tensor) -> None:
    """Refuses tensors that cannot be starts of sequences."""
    if starts.dtype != torch.int32 or starts.dim() != 1 or starts.numel() < 2:
        raise ShapeError(
            f"attention: {name} is {starts.dtype} {tuple(starts.shape)}; expected int32: where each "
            "sequence begins, and where the last ends"
        )


def used_pages(cache: str) -> Callable[[Mapping[str, Any]], torch.Tensor]:
    """A function from a call's tensors to a mask of `block_table`: the pages that hold keys of a sequence."""

    def mask_of_pages(tensors: Mapping[str, Any]) -> torch.Tensor:
        table, lengths, page = tensors["block_table"], tensors["seq_lens"], tensors[cache].shape[1]
        mask: torch.Tensor = torch.arange(table.shape[1], device=table.device) * page < lengths[:, None]
        return mask

    return mask_of_pages


def band(causal: bool, window: int) -> dict[str, int]:
    """Number of keys to the left and to the right of its own position that a query sees."""
    left = window - 1 if window else EVERYTHING
    return {"left": left, "right": 0 if causal else left}
