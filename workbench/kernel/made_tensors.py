"""Tensors that PyTorch makes while a compiled module's function runs, such as its result, as device memory.

C++ creates them through the same dispatcher as Python, so a dispatch mode sees each of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from workbench.launches import DWORD
from workbench.runtime import Device

OF_PYTORCH = ("aten", "prim", "prims", "higher_order")
"""Namespaces of PyTorch's own operators, which launch no kernels here."""
_PLAIN = {torch.Tensor, torch.nn.Parameter}
_ON_CPU = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


class MadeTensors(TorchDispatchMode):
    """In this mode, kernels on `device` reach every storage that PyTorch allocates, as long as it exists.

    Args:
        device: an emulated device.
        memory_of: (address, bytes) of the CPU memory of tensors among values.
        granularity: the tensor allocator's sizes are multiples of this many bytes, see `Function.launch`.
    """

    def __init__(
        self, device: Device, memory_of: Callable[[Any], Sequence[tuple[int, int]]], granularity: int = DWORD
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._device = device
        self._memory_of = memory_of
        self._granularity = granularity
        self._reached: list[tuple[StorageWeakRef, contextlib.ExitStack]] = []

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = self._result(function, types, args, kwargs or {})
        # malloc may return memory of storages that have been freed.
        self._leave(lambda storage: storage.expired())
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, torch.Tensor) and (memory := self._memory_of(tensor)):
                stack = contextlib.ExitStack()
                stack.enter_context(self._device.lent(memory, granularity=self._granularity))
                self._reached.append((StorageWeakRef(tensor.untyped_storage()), stack))
        return result

    def _result(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Result of a function; kernels of operators that extensions registered run under this mode."""
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        # Other modes, and tensors of PyTorch's tracing, come first; they call the operator again.
        is_plain = _PLAIN.issuperset(types) and torch._C._len_torch_dispatch_stack() == 0
        if function.namespace in OF_PYTORCH:
            return function(*args, **kwargs)
        if not is_plain or not has_kernel(function.name(), "CPU"):
            return function._op(*args, **kwargs)
        super().__enter__()  # type: ignore[no-untyped-call]
        try:
            return function.redispatch(_ON_CPU, *args, **kwargs)
        finally:
            super().__exit__(None, None, None)  # type: ignore[no-untyped-call]

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)  # type: ignore[no-untyped-call]
        self._leave(lambda storage: True)

    def _leave(self, which: Callable[[StorageWeakRef], bool]) -> None:
        remaining = []
        for storage, stack in self._reached:
            if which(storage):
                stack.close()
            else:
                remaining.append((storage, stack))
        self._reached = remaining


def is_watched() -> bool:
    """True if this thread is inside a `MadeTensors`."""
    return any(isinstance(mode, MadeTensors) for mode in _get_current_dispatch_mode_stack())


__all__ = ["OF_PYTORCH", "MadeTensors", "is_watched"]
