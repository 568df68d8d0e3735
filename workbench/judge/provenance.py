"""Where the content of memory comes from that a submission's host code wrote.

What host code hands to a kernel may be laid out or converted by it, and constants may be its own. The work
itself may not: a block that host code computed from the inputs counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from workbench import dtypes

Bytes = npt.NDArray[np.uint8]

_DTYPES = tuple(
    kind.dtype
    for kind in (
        *(dtypes.FP32, dtypes.BF16, dtypes.FP16, dtypes.FP64),
        *(dtypes.INT64, dtypes.INT32, dtypes.INT16, dtypes.INT8, dtypes.UINT8),
        *(dtypes.E4M3FNUZ, dtypes.E4M3FN, dtypes.E5M2FNUZ, dtypes.E5M2),
    )
)
"""Types to which host code may convert."""

_WIDE = 4
"""Bytes of an element from which on equal elements are no chance."""

_MOST_SLICES = 1 << 26
"""Bytes of a tensor in which a slice is looked for."""


class Provenance(StrEnum):
    """Where a block's content comes from."""

    CONSTANT = "constant"
    """It is the same for other inputs."""
    COPY = "copy"
    """It is an input in another layout or type."""
    LAUNCH = "launch"
    """It is what a launch wrote, in another layout or type."""
    HOST = "host"
    """Host code computed it, or left it there."""


def is_fill(content: Bytes) -> bool:
    """True if all of it repeats at most 8 bytes."""
    if len(content) <= 8:
        return not content.any()
    return any(
        len(content) % period == 0 and bool((content[period:] == content[:-period]).all())
        for period in (1, 2, 4, 8)
    )


def is_copy(content: Bytes, sources: Iterable[torch.Tensor], *, whole: bool = False) -> bool:
    """True if all elements are those of one source, converted or in another order, or zeros.

    Args:
        sources: tensors of any type and strides.
        whole: True if it must have all elements of the source, as often.
    """
    for source in sources:
        if not whole and _is_slice(content, source):
            return True
        for dtype in (source.dtype, *(d for d in _DTYPES if d is not source.dtype)):
            if len(content) % dtype.itemsize == 0 and _matches(content, source, dtype, whole):
                return True
    return False


def _is_slice(content: Bytes, source: torch.Tensor) -> bool:
    if not source.is_contiguous() or source.nbytes > _MOST_SLICES or len(content) > source.nbytes:
        return False
    return content.tobytes() in _bits(source).tobytes()


def _matches(content: Bytes, source: torch.Tensor, dtype: torch.dtype, whole: bool) -> bool:
    size = dtype.itemsize
    words = content.view(f"u{size}")
    if whole and len(words) != source.numel():
        return False
    converted = _bits(source.to(dtype)).view(f"u{size}")
    values, counts = _counted(words)
    source_values, source_counts = _counted(converted)
    if not len(values):
        return True
    if size >= _WIDE and source.element_size() >= _WIDE and not whole:
        return bool(np.isin(values, source_values, assume_unique=True).all())
    # Of narrow types every value occurs: they must occur as often, or the same multiple of it.
    if len(values) != len(source_values) or not (values == source_values).all():
        return False
    if whole:
        return bool((counts == source_counts).all())
    return bool((counts * source_counts[0] == source_counts * counts[0]).all())


def _counted(words: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The values but zero, with the number of each."""
    values, counts = np.unique(words[words != 0], return_counts=True)
    return values, counts


def _bits(tensor: torch.Tensor) -> Bytes:
    flat = tensor.detach().contiguous().flatten()
    return flat.view(torch.uint8).numpy() if flat.numel() else np.empty(0, np.uint8)


def holds_result(
    content: Bytes, results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor] = ()
) -> bool:
    """True if a block has the elements of one of the expected results, to within rounding.

    They may be in any order, unless the result has those of an input, as a sorted one has. A block that has
    those of an input while the result has not is no result, however near: each element of a long normalized
    row is within a few percent of its input.
    """
    for result in results:
        if result.numel() < 2 or not result.is_floating_point() or result.unique().numel() == 1:
            continue
        same_size = [tensor for tensor in inputs if tensor.numel() == result.numel()]
        is_rearranged = is_copy(_bits(result), same_size, whole=True)
        if not is_rearranged and is_copy(content, same_size, whole=True):
            continue
        expected = result.detach().double().flatten()
        for dtype in _DTYPES:
            if not dtype.is_floating_point or len(content) != result.numel() * dtype.itemsize:
                continue
            values = torch.from_numpy(content.copy()).view(dtype).double()
            if not torch.isfinite(values).all():
                continue
            if _error(values, expected) < _ROUNDING:
                return True
            any_order = max(torch.finfo(dtype).eps / 2, _ARITHMETIC)
            if not is_rearranged and _error(values.sort().values, expected.sort().values) < any_order:
                return True
    return False


def _error(values: torch.Tensor, expected: torch.Tensor) -> float:
    return float((values - expected).norm() / expected.norm().clamp_min(1e-30))


_ROUNDING = 0.05
"""Relative error, by norms, of results element by element: no chance makes it as small."""

_ARITHMETIC = 1e-4
"""The same of sorted results of a wide type. That of a narrow one is half its epsilon: sorted samples of one
distribution differ by more up to some 10,000 elements."""


__all__ = ["Bytes", "Provenance", "holds_result", "is_copy", "is_fill"]
