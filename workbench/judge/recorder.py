"""Records what a submission asks of the device: its launches, and what its host code wrote in between.

It is in the submission's own process, which may do to it as it likes: the judge repeats the launches of the
record, so that a false one only describes another program.
"""

from __future__ import annotations

import array
import ctypes
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import EmulatedDevice, node
from workbench.judge.exchange import TensorPlace, encoded, storage_bytes
from workbench.live_tensors import is_address

POINTERS = 1 << 19
"""Bytes of a block up to which it may be a table of addresses."""

_OWN = (MemoryKind.CODE, MemoryKind.INTERNAL, MemoryKind.CONSOLE, MemoryKind.HOSTCALL, MemoryKind.HEAP)
"""Memory that is no tensor's."""

_FREE = frozenset(
    (
        "empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "view",
        "as_strided", "reshape", "_unsafe_view", "t", "transpose", "permute", "detach", "alias",
        "expand", "select", "slice", "unsqueeze", "squeeze", "split", "unbind", "lift_fresh",
        "set_", "resize_", "_reshape_alias", "split_with_sizes", "unflatten",
    )
)  # fmt: skip
"""Operators that compute nothing."""


class HostOperators(TorchDispatchMode):
    """Counts PyTorch's operators that compute something on the host."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.counts: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name().removeprefix("aten::").partition(".")[0]
        if name not in _FREE:
            self.counts[name] += 1
        return func(*args, **(kwargs or {}))


class Recorder:
    """Records the launches of this process while it is active.

    Args:
        folder: folder for files of events, of what host code wrote, and of code objects.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.RLock()
        self._codes: set[str] = set()
        self._is_active = False
        self._launch = EmulatedDevice.launch
        EmulatedDevice.launch = self._recorded()  # type: ignore[method-assign]

    def _recorded(self) -> Callable[..., Any]:
        launch, recorder = self._launch, self

        def recorded(
            device: EmulatedDevice,
            loaded: Any,
            kernel_name: str,
            geometry: Any,
            dynamic_shared: int,
            arguments: bytes,
            cooperative: bool = False,
        ) -> Any:
            if not recorder._is_active:
                return launch(device, loaded, kernel_name, geometry, dynamic_shared, arguments, cooperative)
            with recorder._lock:
                blocks = recorder._before(bytes(arguments))
                record = launch(device, loaded, kernel_name, geometry, dynamic_shared, arguments, cooperative)
                code = recorder._code(loaded.code_object.data)
                shape = [list(geometry.groups), list(geometry.block), dynamic_shared, bool(cooperative)]
                recorder._events.append(["launch", code, kernel_name, *shape, bytes(arguments).hex()])
                for base in blocks:
                    recorder._after(base)
            return record

        return recorded

    def begin(self, number: int, inputs: tuple[torch.Tensor, ...]) -> None:
        """Begins a call.

        Args:
            inputs: [bytes] uint8 storages of the inputs, whose content the judge knows.
        """
        self._events: list[list[Any]] = []
        self._sizes: dict[int, int] = {}
        self._digests: dict[int, bytes] = {}
        self._inputs = {storage.data_ptr(): index for index, storage in enumerate(inputs) if storage.numel()}
        self._input_digests = {s.data_ptr(): _digest(s.data_ptr(), s.numel()) for s in inputs if s.numel()}
        self._content = (self._folder / f"host-{number}").open("wb")
        self._file = self._folder / f"events-{number}.json"
        self._is_active = True

    def end(self, output: Any, operators: Counter[str]) -> None:
        """Ends the call, and writes its events and the places of the output's tensors."""
        with self._lock:
            self._is_active = False

            def place(tensor: torch.Tensor) -> TensorPlace:
                data = storage_bytes(tensor)
                base = data.data_ptr()
                if data.numel():
                    self._seen(base, data.numel())
                    return TensorPlace.of(tensor, base)
                return TensorPlace.of(tensor, 0)

            value = encoded(output, place)
            self._content.close()
            document = {"events": self._events, "output": value, "operators": dict(operators)}
            self._file.write_text(json.dumps(document))

    def _before(self, arguments: bytes) -> list[int]:
        """Notes the blocks that a launch can reach; returns their addresses."""
        reached: list[int] = []
        waiting = [arguments]
        while waiting:
            data = waiting.pop()
            for word in dict.fromkeys(array.array("Q", data[: len(data) // 8 * 8])):
                block = _block(word) if is_address(word) else None
                if block is None or block.base in reached:
                    continue
                reached.append(block.base)
                self._seen(block.base, block.size)
                if block.size <= POINTERS:
                    waiting.append(ctypes.string_at(block.base, block.size))
        return reached

    def _seen(self, base: int, size: int) -> None:
        """Notes what the host wrote to a block since the last launch."""
        digest = _digest(base, size)
        if self._digests.get(base) == digest and self._sizes.get(base) == size:
            return
        # While foreign code launches, the device lists what it reaches of a tensor as a host buffer.
        storage = node().memory.storage_at(base)
        is_tensor = storage is not None and storage.base == base
        if base not in self._sizes and self._input_digests.get(base) == digest:
            self._events.append(["input", base, size, self._inputs[base], is_tensor])
        else:
            place = self._content.tell()
            self._content.write(ctypes.string_at(base, size))
            self._events.append(["host", base, size, place, is_tensor])
        self._sizes[base], self._digests[base] = size, digest

    def _after(self, base: int) -> None:
        self._digests[base] = _digest(base, self._sizes[base])

    def _code(self, data: bytes) -> str:
        name = hashlib.sha256(data).hexdigest()
        if name not in self._codes:
            self._codes.add(name)
            (self._folder / f"{name}.co").write_bytes(data)
        return name


def _block(address: int) -> Allocation | None:
    memory = node().memory
    block = memory.find(address) or memory.storage_at(address)
    return block if block is not None and block.kind not in _OWN else None


def _digest(base: int, size: int) -> bytes:
    return hashlib.sha256((ctypes.c_ubyte * size).from_address(base)).digest()


__all__ = ["POINTERS", "HostOperators", "Recorder"]
