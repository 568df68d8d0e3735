"""The share of a launch's operands that is not zero: zeros switch no bits and cost no power."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SAMPLED = 1 << 16
"""Number of elements of a tensor to look at; at most about twice as many."""


def live_share(values: Iterable[Any]) -> float:
    """Fraction of the elements of tensors that are not zero, weighted by size; 1 without tensors.

    Args:
        values: arguments of a launch; anything but tensors is ignored.
    """
    live = total = 0.0
    for value in values:
        if hasattr(value, "untyped_storage") and value.numel():
            live += _live(value) * value.numel() * value.element_size()
            total += value.numel() * value.element_size()
    return live / total if total else 1.0


def _live(tensor: torch.Tensor) -> float:
    import torch

    some = tensor.detach()
    while some.numel() > 2 * SAMPLED:
        axis = max(range(some.dim()), key=lambda i: some.shape[i])
        # An odd step reaches even and odd places.
        step = max(3, some.numel() // SAMPLED // 2 * 2 + 1) if some.dim() == 1 else 3
        some = some[(slice(None),) * axis + (slice(None, None, step),)]
    elements = some.contiguous().reshape(-1).view(torch.uint8).reshape(some.numel(), -1)
    return float(elements.any(1).float().mean())
