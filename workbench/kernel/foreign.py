"""Launches that code other than the workbench's requests from HIP, in a form that can be repeated.

Examples are those of FlyDSL's runtime, or of a library that ctypes loaded: their arguments are known only as
bytes.
"""

from __future__ import annotations

import array
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.codeobject.names import instance_name
from workbench.kernel import by_file
from workbench.kernel.devices import resolve_device
from workbench.kernel.kernel import Kernel, recording
from workbench.kernel.launch import LastLaunch, Launch
from workbench.kernel.module import Module
from workbench.kernel.packed import Packed
from workbench.launches import BufferLabel, ForeignLaunch, LaunchOptions, LaunchRecord
from workbench.live_tensors import granularity, live_tensors, tensor_text, tensors_at
from workbench.runtime import Device, device
from workbench.runtime.backend import merged


@dataclass(frozen=True)
class ForeignCall:
    """A launch by foreign code, and the tensors whose addresses are among its arguments.

    Attributes:
        tensors: by the number of the argument's 8 bytes; they live as long as this.
    """

    launch: ForeignLaunch
    tensors: dict[int, Any] = field(repr=False)

    @property
    def kernel(self) -> Kernel:
        """The kernel that ran."""
        kernel = kernel_of(self.launch.code, self.launch.kernel, self.device.arch)
        if kernel.module.own_file:
            by_file.note(kernel.module.own_file, kernel)
        return kernel

    @property
    def device(self) -> Device:
        """The device that ran the launch."""
        return device(self.launch.device)

    def run(self, options: LaunchOptions | None) -> LaunchRecord:
        """Launches again, on the memory of all live tensors.

        Raises:
            LaunchError, KernelFault: see `Kernel.launch`.
        """
        launch, rounded = self.launch, granularity()
        shape = Launch(launch.grid, launch.block, launch.dynamic_shared, launch.cooperative)
        held = [(tensor, tensor.untyped_storage()) for tensor in self.tensors.values()]
        used = merged([(storage.data_ptr(), storage.nbytes()) for _, storage in held])
        labels = {
            storage.data_ptr(): BufferLabel(
                tensor_text(tensor), 0 if tensor.storage_offset() else tensor.element_size()
            )
            for tensor, storage in held
        }
        packed = Packed(bytearray(launch.arguments), known_bytes=sum(size for _, size in used))
        # Those in the arguments first: the model of the caches places memory in this order.
        with (
            self.device.lent(used, labels, rounded),
            self.device.lent(merged([*used, *_storages()]), {}, rounded),
        ):
            return self.kernel.launch_packed(shape, packed, self.device, options)


def _storages() -> list[tuple[int, int]]:
    """(address, bytes) of the storage of every live CPU tensor that has memory, each once."""
    storages = (tensor.untyped_storage() for tensor in live_tensors())
    sizes = {storage.data_ptr(): storage.nbytes() for storage in storages}
    return [(address, size) for address, size in sizes.items() if size]


class _Recorder(list[tuple[Kernel, LastLaunch] | ForeignCall]):
    """Launches in the order in which they are made, by any code."""

    def append_foreign(self, launch: ForeignLaunch) -> None:
        words = array.array("Q", launch.arguments[: len(launch.arguments) // 8 * 8])
        by_address = tensors_at(words)
        tensors = {number: by_address[word] for number, word in enumerate(words) if word in by_address}
        self.append(ForeignCall(launch, tensors))


@contextlib.contextmanager
def recording_all() -> Iterator[list[tuple[Kernel, LastLaunch] | ForeignCall]]:
    """Launches that this thread makes in the block, as `recording`, and those of foreign code through HIP."""
    launches = _Recorder()
    with recording(launches), resolve_device(None).foreign_launches(launches.append_foreign):  # type: ignore[arg-type]
        yield launches


def kernel_of(code: bytes, symbol: str, arch: str) -> Kernel:
    """A kernel of a code object by its symbol's name, for a target such as "gfx950"."""
    module = _module(code, arch)
    info = module.code_object.kernels[symbol]
    return Kernel(module, info, instance_name(info.demangled))


@lru_cache(maxsize=8)
def _module(code: bytes, arch: str) -> Module:
    module = Module(code, name="program", arch=arch)
    # A language's kernel is in the file that its debug info names, as a cell's is.
    module.own_file = Path(module.debug.source).name if module.debug is not None else ""
    return module


__all__ = ["ForeignCall", "kernel_of", "recording_all"]
