"""Storages that compiled modules saw or made, for as long as they live: C++ may keep one for a later call."""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_leaves

from workbench.kernel.host_module import tensors


class Kept:
    """Storages of every tensor that it has seen, without keeping them alive."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[StorageWeakRef, list[tuple[int, int]]]] = {}

    def memory_of(self, tensor: Any) -> list[tuple[int, int]]:
        """(address, bytes) of a tensor's memory on this computer, to be known from now on."""
        memory = tensors(tensor)
        if memory:
            reference = StorageWeakRef(tensor.untyped_storage())
            self._known[reference.cdata] = reference, memory
        return memory

    def memory(self, values: Any) -> list[tuple[int, int]]:
        """That of all that are known and live; tensors among the call arguments are known from now on."""
        for value in tree_leaves(values):
            if isinstance(value, torch.Tensor):
                self.memory_of(value)
        # A freed storage's memory may have been reused.
        self._known = {key: entry for key, entry in self._known.items() if not entry[0].expired()}
        return [block for _, memory in self._known.values() for block in memory]


__all__ = ["Kept"]
