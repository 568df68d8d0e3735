"""Peak bytes of tensors that a training step holds."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workbench.origin import Figure, Origin
from workbench.training.run import Run


class LiveBytes(TorchDispatchMode):
    """Counts bytes of all tensors that PyTorch's operators take and make, as long as they exist.

    Memory that an operator uses internally, such as a kernel's workspace, is not included.

    Attributes:
        now, peak: current and largest number of bytes.
    """

    def __init__(self, held: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._known: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self._count(held)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = func(*args, **(kwargs or {}))
        self._count(tree_leaves((args, outputs)))
        return outputs

    def _count(self, values: Iterable[Any]) -> None:
        for value in values:
            if isinstance(value, torch.Tensor) and value.layout is torch.strided:
                storage = value.untyped_storage()
                key, size = storage._cdata, storage.nbytes()
                if key not in self._known:
                    self._known[key] = weakref.ref(storage, partial(self._gone, key, size))
                    self.now += size
                    self.peak = max(self.peak, self.now)

    def _gone(self, key: int, size: int, _: object) -> None:
        self._known.pop(key, None)
        self.now -= size


def peak_memory(training: Run) -> Figure:
    """The peak of a step's forward and backward pass, with weights, masters and moments.

    On a GPU PyTorch's allocator measured it, over the steps so far; without one it is counted from the
    tensors of one more pass, which changes no weight.
    """
    if training.device == "cuda":
        return Figure(
            torch.cuda.max_memory_allocated() / 2**20, "MiB", Origin.MEASURED, "PyTorch's allocator"
        )
    moments = [t for state in training.optimizer.state.values() for t in state.values()]
    with LiveBytes(t for t in (*training.weights, *moments) if isinstance(t, torch.Tensor)) as live:
        training.loss(*training.text.at(0, training.options.seed)).backward()
    training.model.zero_grad()
    return Figure(live.peak / 2**20, "MiB", Origin.COUNTED, "tensors of one forward and backward pass")
